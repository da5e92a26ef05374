#pragma once
// Structural hashes: what makes two graphs the same program.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.hpp"

namespace weft::ir {

/// The structure reachable from the outputs: op, attributes, dtype, shape by value, operands; leaves numbered by first
/// visit; structural constants by bits; parameters by type; the order of outputs. Names, node ids, construction order,
/// dead nodes and whether equal subexpressions are one node or several are not in it. Unused inputs are, by type.
struct StructuralKey {
  Hash128 hash;
  std::string canonical;  ///< the canonical form that the hash is of: compared in full on a hit
  bool operator==(const StructuralKey&) const = default;
};
StructuralKey structural_key(const Graph& graph);
/// Parameters of the graph in the order of first visit from the outputs (the numbering of the key), and inputs likewise
/// (then the unused inputs, sorted by the text of their types).
std::vector<NodeId> parameters_in_key_order(const Graph& graph);
std::vector<NodeId> inputs_in_key_order(const Graph& graph);

/// Replaces the hash of keys made from now on, so that tests can force collisions; an empty function restores it. Not
/// thread-safe.
using KeyHashFunction = std::function<Hash128(std::string_view canonical)>;
void set_key_hash_for_tests(KeyHashFunction function);

}  // namespace weft::ir
