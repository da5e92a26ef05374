#include "runtime/weight_binding.hpp"

#include <set>

#include "ir/support/error.hpp"
#include "runtime/plan_check.hpp"
#include "runtime/threads.hpp"

namespace weft::runtime {
namespace {

class Binder {
 public:
  Binder(const Executable& executable, const std::vector<ir::Tensor>& parameters, int threads)
      : executable_(executable),
        plan_(*executable.plan),
        parameters_(parameters),
        threads_(threads),
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
    for_each_index(threads_, plan_.steps.size(), [&](size_t s) {
      try {
        bound_.packed[s] = pack_step(plan_.steps[s], executable_.steps[s]);
      } catch (const Error& e) {
        throw e.within(describe_step(plan_.steps[s]));
      }
    });
    std::set<const void*> counted;
    for (const SharedPacked& packed : bound_.packed)
      if (packed && counted.insert(packed.get()).second) bound_.bytes += packed->bytes();
  }

  SharedPacked pack_step(const ir::Step& step, const SharedKernel& kernel) const {
    const ir::Graph& g = step.program->graph();
    std::vector<ir::Tensor> operands(step.inputs.size());
    Hasher h;
    h.hash(kernel_key(step, plan_.threads, plan_.contract));
    bool any = false;
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (step.operands[i] != ir::OperandKind::parameter) continue;
      any = true;
      h.hash(identity_[step.inputs[i].value]);
      operands[i] = bound_.tensors[step.inputs[i].value].reshaped(g.node(g.inputs()[i]).types[0].shape);
    }
    if (!any) return nullptr;
    return share_packed(h.finish(), kernel, [&] { return kernel->pack(operands); });
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
  std::vector<Hash128> identity_;  // of contents, by buffer
  BoundWeights bound_;
};

}  // namespace

BoundWeights bind_weights(const Executable& executable, const std::vector<ir::Tensor>& parameters,
                          int compile_threads) {
  return Binder(executable, parameters, compile_threads).run();
}

}  // namespace weft::runtime
