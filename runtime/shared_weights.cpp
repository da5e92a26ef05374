#include "runtime/shared_weights.hpp"

#include <mutex>
#include <string>
#include <unordered_map>

#include "backends/registry.hpp"

namespace weft::runtime {
namespace {

/// Weak pointers by key; expired ones are swept when the map has doubled.
template <typename T>
class WeakMap {
 public:
  std::shared_ptr<T> find(const Hash128& key) {
    std::lock_guard lock(mutex_);
    auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : found->second.lock();
  }
  std::shared_ptr<T> insert(const Hash128& key, std::shared_ptr<T> value) {
    std::lock_guard lock(mutex_);
    std::weak_ptr<T>& slot = entries_[key];
    if (std::shared_ptr<T> there = slot.lock()) return there;
    slot = value;
    if (entries_.size() >= sweep_at_) {
      std::erase_if(entries_, [](const auto& entry) { return entry.second.expired(); });
      sweep_at_ = 2 * entries_.size() + 64;
    }
    return value;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<Hash128, std::weak_ptr<T>> entries_;
  size_t sweep_at_ = 64;
};

struct PackedWithKernel {
  SharedKernel kernel;  // packed forms may point into their kernel
  std::unique_ptr<backends::PackedParameters> packed;
};

// Never destroyed: bound plans may outlive other statics.
auto& kernels() {
  static auto& map = *new WeakMap<const backends::Kernel>;
  return map;
}
auto& packed_forms() {
  static auto& map = *new WeakMap<const PackedWithKernel>;
  return map;
}
auto& tensors() {
  static auto& map = *new WeakMap<const ir::Tensor>;
  return map;
}

ir::Tensor owned_view(const std::shared_ptr<const ir::Tensor>& tensor) {
  return ir::Tensor::view(tensor->type(), tensor->data(), tensor);
}

}  // namespace

Hash128 kernel_key(const ir::Step& step, int threads, bool contract) {
  Hasher h;
  h.hash(step.program->hash())
      .text(step.program->text())
      .text(step.backend)
      .text(backends::backend(step.backend).version());
  h.u64(static_cast<uint64_t>(threads)).u64(contract).u64(step.operands.size());
  for (ir::OperandKind kind : step.operands) h.u64(static_cast<uint64_t>(kind));
  return h.finish();
}

SharedKernel find_kernel(const Hash128& key) { return kernels().find(key); }
SharedKernel share_kernel(const Hash128& key, SharedKernel kernel) { return kernels().insert(key, std::move(kernel)); }

SharedPacked share_packed(const Hash128& key, const SharedKernel& kernel,
                          const std::function<std::unique_ptr<backends::PackedParameters>()>& make) {
  auto entry = packed_forms().find(key);
  if (!entry) {
    std::unique_ptr<backends::PackedParameters> packed = make();
    if (!packed) return nullptr;
    entry = packed_forms().insert(
        key, std::make_shared<const PackedWithKernel>(PackedWithKernel{kernel, std::move(packed)}));
  }
  return {entry, entry->packed.get()};
}

ir::Tensor find_tensor(const Hash128& key) {
  auto tensor = tensors().find(key);
  return tensor ? owned_view(tensor) : ir::Tensor();
}
ir::Tensor share_tensor(const Hash128& key, ir::Tensor tensor) {
  return owned_view(tensors().insert(key, std::make_shared<const ir::Tensor>(std::move(tensor))));
}

}  // namespace weft::runtime
