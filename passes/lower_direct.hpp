#pragma once
// Lowering without a search: one kernel an op, by the first target that takes it.
#include <span>

#include "ir/graph.hpp"
#include "ir/target.hpp"

namespace weft::passes {

/// Every node of an op but leaves and reshapes becomes a `kernel` node of the cheapest target that accepts it. Throws
/// Error(unsupported) with every target's reason where none does.
ir::Graph lower_direct(const ir::Graph& graph, std::span<const ir::Target* const> targets, int threads);

}  // namespace weft::passes
