#pragma once
// The form that rules may rely on.
#include "ir/graph.hpp"

namespace weft::passes {

/// Operands of elementwise ops get the rank of the result (a reshape that puts ones in front; constants are reshaped in
/// place), so that movement rules need not know about rank-extending broadcasts.
ir::Graph canonicalise(const ir::Graph& graph);

}  // namespace weft::passes
