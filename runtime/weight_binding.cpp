#include "runtime/weight_binding.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <system_error>

#include "ir/support/error.hpp"
#include "runtime/plan_check.hpp"
#include "runtime/threads.hpp"

namespace weft::runtime {
namespace {

constexpr size_t kLeastStored = 256 << 10;  // bytes; less is packed faster than a file is opened

class Binder {
 public:
  Binder(const Executable& executable, const std::vector<ir::Tensor>& parameters, int threads, const PackedStore& store)
      : executable_(executable),
        plan_(*executable.plan),
        parameters_(parameters),
        threads_(threads),
        store_(store),
        identity_(plan_.buffers.size()) {
    bound_.tensors.resize(plan_.buffers.size());
  }

  BoundWeights run() {
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const ir::Buffer& buffer = plan_.buffers[b];
      if (buffer.placement == ir::Placement::parameter) bound_.tensors[b] = parameters_[buffer.index];
      if (buffer.placement == ir::Placement::constant) bound_.tensors[b] = plan_.constants[buffer.index];
    }
    hash_contents();
    for (size_t s = 0; s < plan_.prologue.size(); ++s) run_prologue_step(plan_.prologue[s], *executable_.prologue[s]);
    pack();
    drop_unread();
    return std::move(bound_);
  }

 private:
  /// Contents of everything that the prologue or a packing kernel reads. Prologue results are known by how they come
  /// about.
  void hash_contents() {
    std::set<uint32_t> wanted;
    auto want = [&](ir::BufferId id) {
      if (bound_.tensors[id.value].defined()) wanted.insert(id.value);
    };
    for (const ir::Step& step : plan_.prologue)
      for (ir::BufferId id : step.inputs) want(id);
    for (const ir::Step& step : plan_.steps)
      for (size_t i = 0; i < step.inputs.size(); ++i)
        if (step.operands[i] == ir::OperandKind::parameter) want(step.inputs[i]);
    std::vector<uint32_t> list(wanted.begin(), wanted.end());
    for_each_index(threads_, list.size(),
                   [&](size_t i) { identity_[list[i]] = bound_.tensors[list[i]].content_hash(); });
  }

  Hash128 step_identity(const ir::Step& step, int threads) const {
    Hasher h;
    h.hash(kernel_key(step, threads, plan_.contract));
    for (size_t i = 0; i < step.inputs.size(); ++i) h.hash(identity_[step.inputs[i].value]);
    return h.finish();
  }

  void run_prologue_step(const ir::Step& step, const backends::Kernel& kernel) {
    const ir::Graph& g = step.program->graph();
    Hash128 identity = step_identity(step, 1);
    bool there = true;
    for (size_t o = 0; o < step.outputs.size(); ++o) {
      uint32_t b = step.outputs[o].value;
      identity_[b] = Hasher().hash(identity).u64(o).finish();
      bound_.tensors[b] = find_tensor(identity_[b]);
      there = there && bound_.tensors[b].defined();
    }
    if (there) return;
    std::vector<ir::Tensor> results;
    for (const ir::Output& output : g.outputs()) results.push_back(ir::Tensor::allocate(g.type(output.value)));
    run_kernel(step, kernel, results);
    for (size_t o = 0; o < results.size(); ++o) {
      uint32_t b = step.outputs[o].value;
      bound_.tensors[b] = share_tensor(identity_[b], results[o]);
    }
  }

  void run_kernel(const ir::Step& step, const backends::Kernel& kernel, std::vector<ir::Tensor>& results) const {
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    for (ir::BufferId id : step.inputs) inputs.push_back(bound_.tensors[id.value].data());
    for (ir::Tensor& result : results) outputs.push_back(result.mutable_data());
    const ir::KernelResources& resources = kernel.resources();
    ir::Tensor scratch = ir::Tensor::allocate({ir::DType::u8, {ir::Dim(scratch_total(resources))}});
    try {
      for (int part = 0; part < resources.parts; ++part)
        kernel.run(
            {inputs, outputs, static_cast<char*>(scratch.mutable_data()) + part * scratch_stride(resources), nullptr},
            part);
    } catch (const Error& e) {
      throw e.within(describe_step(step));
    }
  }

  void pack() {
    bound_.packed.resize(plan_.steps.size());
    pack_keys_.resize(plan_.steps.size());
    Hasher all;
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const ir::Step& step = plan_.steps[s];
      if (std::count(step.operands.begin(), step.operands.end(), ir::OperandKind::parameter) == 0) continue;
      pack_keys_[s] = pack_key(step);
      all.hash(*pack_keys_[s]);
    }
    const Hash128 file = all.finish();
    stored_ = store_.find(file);
    for_each_index(threads_, plan_.steps.size(), [&](size_t s) {
      try {
        if (pack_keys_[s]) bound_.packed[s] = pack_step(s);
      } catch (const Error& e) {
        throw e.within(describe_step(plan_.steps[s]));
      }
    });
    if (packed_anew_ > 0 && store_.enabled()) store_packed(file);
    std::set<const void*> counted;
    for (const SharedPacked& packed : bound_.packed)
      if (packed && counted.insert(packed.get()).second) bound_.bytes += packed->bytes();
  }

  Hash128 pack_key(const ir::Step& step) const {
    Hasher h;
    h.hash(kernel_key(step, plan_.threads, plan_.contract));
    for (size_t i = 0; i < step.inputs.size(); ++i)
      if (step.operands[i] == ir::OperandKind::parameter) h.hash(identity_[step.inputs[i].value]);
    return h.finish();
  }

  SharedPacked pack_step(size_t s) {
    const SharedKernel& kernel = executable_.steps[s];
    return share_packed(*pack_keys_[s], kernel, [&] {
      std::unique_ptr<backends::PackedParameters> packed;
      if (stored_)
        if (const auto image = stored_->find(*pack_keys_[s]); !image.empty()) packed = kernel->unpack(image, stored_);
      if (packed) return packed;
      packed = pack_anew(plan_.steps[s], *kernel);
      if (packed && !packed->image().empty()) ++packed_anew_;
      return packed;
    });
  }

  std::unique_ptr<backends::PackedParameters> pack_anew(const ir::Step& step, const backends::Kernel& kernel) const {
    const ir::Graph& g = step.program->graph();
    std::vector<ir::Tensor> operands(step.inputs.size());
    for (size_t i = 0; i < step.inputs.size(); ++i)
      if (step.operands[i] == ir::OperandKind::parameter)
        operands[i] = bound_.tensors[step.inputs[i].value].reshaped(g.node(g.inputs()[i]).types[0].shape);
    return kernel.pack(operands);
  }

  /// All packed forms of this plan as one file, written while runs begin: it takes a disk's time. Where no thread can
  /// be had, now.
  void store_packed(const Hash128& file) {
    std::map<Hash128, SharedPacked> forms;
    size_t bytes = 0;
    for (size_t s = 0; s < bound_.packed.size(); ++s)
      if (bound_.packed[s] && !bound_.packed[s]->image().empty() &&
          forms.emplace(*pack_keys_[s], bound_.packed[s]).second)
        bytes += bound_.packed[s]->image().size();
    if (bytes < kLeastStored) return;
    const auto write = [store = store_, file, forms = std::move(forms)] {
      std::vector<PackedImage> images;
      for (const auto& [key, packed] : forms) images.push_back({key, packed->image()});
      store.store(file, images);
    };
    try {
      bound_.storing = std::async(std::launch::async, write);
    } catch (const std::system_error&) {
      write();
    }
  }

  /// Prologue results that only the prologue read are freed.
  void drop_unread() {
    std::vector<bool> read(plan_.buffers.size(), false);
    for (const ir::Step& step : plan_.steps)
      for (ir::BufferId id : step.inputs) read[id.value] = true;
    for (auto [from, to] : plan_.copies) read[from.value] = true;
    for (size_t b = 0; b < read.size(); ++b) {
      if (!read[b])
        bound_.tensors[b] = {};
      else if (plan_.buffers[b].placement == ir::Placement::bound)
        bound_.bytes += plan_.buffers[b].bytes;
    }
  }

  const Executable& executable_;
  const ir::Plan& plan_;
  const std::vector<ir::Tensor>& parameters_;
  int threads_;
  const PackedStore& store_;
  std::shared_ptr<const PackedFile> stored_;       // null: none yet
  std::vector<std::optional<Hash128>> pack_keys_;  // by step; of those that read parameters
  std::atomic<int> packed_anew_ = 0;
  std::vector<Hash128> identity_;  // of contents, by buffer
  BoundWeights bound_;
};

}  // namespace

BoundWeights bind_weights(const Executable& executable, const std::vector<ir::Tensor>& parameters, int compile_threads,
                          const PackedStore& store) {
  return Binder(executable, parameters, compile_threads, store).run();
}

}  // namespace weft::runtime
