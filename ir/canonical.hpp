#pragma once
// The one order of a graph's nodes that depends on its structure alone: what structural keys and programs are made
// from.
#include <string>
#include <vector>

#include "ir/graph.hpp"

namespace weft::ir {

/// Nodes reached from the outputs, numbered depth first from the first output, operands left to right, each after its
/// operands. Nodes that compute the same (op, attributes, operands) share a number; leaves that the caller gives do
/// not.
struct CanonicalOrder {
  std::vector<NodeId> nodes;       ///< the first node of each number
  std::vector<uint32_t> number;    ///< by node id; kUnreached where no output needs the node
  std::vector<std::string> lines;  ///< by number: `relu(%0)`, `input f32[2]`
  static constexpr uint32_t kUnreached = 0xffffffffu;
};
CanonicalOrder canonical_order(const Graph& graph);

}  // namespace weft::ir
