#pragma once
// What must hold of a plan before anything is read or written through it.
#include "ir/plan.hpp"

namespace weft::runtime {

/// Throws Error(parse) naming the first violation: ids and indices in range, sizes of buffers, types and constants in
/// agreement, arena offsets aligned and inside the arena, nothing read before it is written, no step writing over its
/// own operands but in place, every output written. A plan that passes cannot make run() touch memory outside its
/// buffers.
void check_plan(const ir::Plan& plan);

/// Bytes of one part's scratch in the arena, and of all parts'.
int64_t scratch_stride(const ir::KernelResources& resources);
int64_t scratch_total(const ir::KernelResources& resources);

}  // namespace weft::runtime
