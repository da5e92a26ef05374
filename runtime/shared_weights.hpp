#pragma once
// What sessions of one process share: compiled kernels by what they compute, prologue results and packed weights by
// content. Everything is held weakly: it lives as long as some bound plan does.
#include <functional>
#include <memory>

#include "backends/backend.hpp"
#include "ir/plan.hpp"

namespace weft::runtime {

using SharedKernel = std::shared_ptr<const backends::Kernel>;
using SharedPacked = std::shared_ptr<const backends::PackedParameters>;

/// Identity of the kernel that a step asks for: program, backend with version, operand kinds, threads, permissions.
Hash128 kernel_key(const ir::Step& step, int threads, bool contract);
SharedKernel find_kernel(const Hash128& key);
/// Registers a kernel; gives back the one that is already there, if any.
SharedKernel share_kernel(const Hash128& key, SharedKernel kernel);

/// Packed parameters of `kernel` for operands of the content `key`; `make` is called where there are none. May be null.
SharedPacked share_packed(const Hash128& key, const SharedKernel& kernel,
                          const std::function<std::unique_ptr<backends::PackedParameters>()>& make);

/// A tensor computed from parameters, by the hash of how it is computed and from what; undefined where there is none.
ir::Tensor find_tensor(const Hash128& key);
/// Registers a tensor; gives back one that shares its storage with the store's bookkeeping and must be kept instead.
ir::Tensor share_tensor(const Hash128& key, ir::Tensor tensor);

}  // namespace weft::runtime
