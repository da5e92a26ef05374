#pragma once
// Structural hashes: what makes two graphs the same program.
#include <vector>

#include "ir/graph.hpp"

namespace weft::ir {

/// Hash of the structure reachable from the outputs: op, attributes, dtype, shape by value, operand hashes; leaves numbered
/// by first visit; structural constants by bits; parameters by type. Names, node ids and construction order are not in it.
struct StructuralKey {
  Hash128 hash;
  std::string canonical;  ///< the canonical form that the hash is of: compared in full on a hit
};
StructuralKey structural_key(const Graph& graph);
/// Parameters of the graph in the order of first visit from the outputs (the numbering of the key), and inputs likewise.
std::vector<NodeId> parameters_in_key_order(const Graph& graph);
std::vector<NodeId> inputs_in_key_order(const Graph& graph);

}  // namespace weft::ir
