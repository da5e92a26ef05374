#pragma once
// The form that rules may rely on.
#include "ir/graph.hpp"

namespace weft::passes {

/// Operands of elementwise ops get the rank of the result (a reshape that puts ones in front; constants are reshaped in
/// place), so that movement rules need not know about rank-extending broadcasts.
/// `new_ids`, where given, receives the new id of each node of the graph (invalid where it is dead).
ir::Graph canonicalise(const ir::Graph& graph, std::vector<ir::NodeId>* new_ids = nullptr);

}  // namespace weft::passes
