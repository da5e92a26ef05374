#pragma once
// From a lowered graph (leaves, `kernel` nodes and reshapes only) to an ordered plan.
#include <span>

#include "ir/plan.hpp"

namespace weft::passes {

/// Orders the kernels, gives every value a buffer (a reshape shares its operand's), separates the prologue (what
/// depends on parameters alone), asks each step's target for its resources. Arena offsets are not set yet.
ir::Plan schedule(const ir::Graph& lowered, std::span<const ir::Target* const> targets, int threads,
                  bool contract = false);

}  // namespace weft::passes
