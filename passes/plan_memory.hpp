#pragma once
// Lays the buffers of a plan in one arena.
#include "ir/plan.hpp"

namespace weft::passes {

/// Gives every arena buffer and every step's scratch an offset (64-byte aligned), lets outputs take over the buffer of
/// an operand that dies where the kernel allows it, sets arena_bytes and stats.arena_lower_bound. Offsets come from the
/// best of several greedy placements of the lifetimes (by size, by length, by start).
void plan_memory(ir::Plan& plan);

}  // namespace weft::passes
