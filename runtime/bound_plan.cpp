#include "runtime/bound_plan.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "ir/support/error.hpp"
#include "ir/support/memory.hpp"
#include "runtime/arena_pool.hpp"
#include "runtime/plan_check.hpp"
#include "runtime/threads.hpp"
#include "runtime/weight_binding.hpp"

namespace weft::runtime {
namespace {

/// One step with everything looked up: operands are slots of the run's pointer array.
struct Call {
  const backends::Kernel* kernel = nullptr;
  const backends::PackedParameters* packed = nullptr;
  uint32_t first_input = 0, inputs = 0, first_output = 0, outputs = 0;
  int parts = 1;
  int64_t scratch_offset = 0, scratch_stride = 0;
};

/// A slot that holds the caller's input or output tensor number `index`.
struct Patch {
  uint32_t slot = 0, index = 0;
};
struct Copy {
  uint32_t from = 0, to = 0;  ///< slots
  size_t bytes = 0;
};

void check_tensor(const ir::PlanValue& value, const ir::Tensor& tensor, const char* what) {
  if (!tensor.defined())
    throw Error(ErrorCode::invalid_argument, "no tensor given", fmt::format("{} '{}'", what, value.name));
  if (tensor.type() != value.type)
    throw Error(ErrorCode::type_mismatch,
                fmt::format("{} given, {} expected", to_string(tensor.type()), to_string(value.type)),
                fmt::format("{} '{}'", what, value.name));
}

bool overlap(const ir::Tensor& a, const ir::Tensor& b) {
  auto begin = [](const ir::Tensor& t) { return static_cast<const char*>(t.data()); };
  return begin(a) < begin(b) + b.bytes() && begin(b) < begin(a) + a.bytes();
}

template <typename F>
void translate_errors(const F& f) {
  try {
    f();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::limit, "out of memory");
  } catch (const std::exception& e) {
    fail(ErrorCode::internal, "{}", e.what());
  } catch (...) {
    fail(ErrorCode::internal, "an exception of unknown type");
  }
}

std::string list_names(const std::vector<ir::PlanValue>& values) {
  std::string names;
  for (size_t i = 0; i < values.size() && i < 20; ++i) names += fmt::format("{}'{}'", i ? ", " : "", values[i].name);
  return names.empty() ? "none" : names + (values.size() > 20 ? ", ..." : "");
}

}  // namespace

struct BoundPlan::State {
  std::shared_ptr<const Executable> executable;
  BoundWeights weights;
  const ThreadBudget* budget = nullptr;  // null: everything runs on the caller
  std::vector<Call> calls;
  std::vector<void*> slots;  // parameters, constants and bound tensors in place; the rest null
  std::vector<std::pair<uint32_t, int64_t>> arena_slots;  // (slot, offset)
  std::vector<Patch> input_slots, output_slots;
  std::vector<Copy> copies;
  int64_t peak_bytes = 0;
  mutable ArenaPool pool{static_cast<size_t>(default_threads())};

  const ir::Plan& plan() const { return *executable->plan; }

  uint32_t add_slot(ir::BufferId id) {
    const ir::Buffer& buffer = plan().buffers[id.value];
    auto slot = static_cast<uint32_t>(slots.size());
    slots.push_back(const_cast<void*>(weights.tensors[id.value].data()));
    switch (buffer.placement) {
      case ir::Placement::input:
        input_slots.push_back({slot, buffer.index});
        break;
      case ir::Placement::output:
        output_slots.push_back({slot, buffer.index});
        break;
      case ir::Placement::arena:
        arena_slots.emplace_back(slot, buffer.offset);
        break;
      default:
        break;
    }
    return slot;
  }

  void prepare() {
    bool split = false;
    for (size_t s = 0; s < plan().steps.size(); ++s) {
      const ir::Step& step = plan().steps[s];
      const ir::KernelResources& resources = executable->steps[s]->resources();
      Call call{executable->steps[s].get(), weights.packed[s].get()};
      call.first_input = static_cast<uint32_t>(slots.size());
      call.inputs = static_cast<uint32_t>(step.inputs.size());
      for (ir::BufferId id : step.inputs) add_slot(id);
      call.first_output = static_cast<uint32_t>(slots.size());
      call.outputs = static_cast<uint32_t>(step.outputs.size());
      for (ir::BufferId id : step.outputs) add_slot(id);
      call.parts = resources.parts;
      call.scratch_offset = step.scratch_offset;
      call.scratch_stride = scratch_stride(resources);
      split = split || call.parts > 1;
      calls.push_back(call);
    }
    for (auto [from, to] : plan().copies) {
      uint32_t f = add_slot(from), t = add_slot(to);
      copies.push_back({f, t, static_cast<size_t>(plan().buffers[to.value].bytes)});
    }
    peak_bytes = plan().arena_bytes;
    for (const ir::PlanValue& output : plan().outputs) peak_bytes += output.type.bytes();
    const ThreadBudget& wanted = ThreadBudget::of(plan().threads);
    if (split && wanted.size() > 1) budget = &wanted;
  }

  std::unique_ptr<RunMemory> new_memory() const {
    auto memory = std::make_unique<RunMemory>(plan().arena_bytes, slots);
    for (auto [slot, offset] : arena_slots) memory->slots[slot] = memory->arena + offset;
    return memory;
  }

  void run_call(const Call& call, RunMemory& memory) const {
    void** slots_begin = memory.slots.data();
    backends::RunContext context;
    context.inputs = {slots_begin + call.first_input, call.inputs};
    context.outputs = {slots_begin + call.first_output, call.outputs};
    context.packed = call.packed;
    if (call.scratch_stride) context.scratch = memory.arena + call.scratch_offset;
    if (call.parts == 1) return call.kernel->run(context, 0);
    auto run_part = [&](int part) {
      backends::RunContext own = context;
      if (call.scratch_stride) own.scratch = memory.arena + call.scratch_offset + part * call.scratch_stride;
      call.kernel->run(own, part);
    };
    if (budget) return run_parts(call.parts, run_part);
    for (int part = 0; part < call.parts; ++part) run_part(part);
  }

  /// `before(step)` and `after(step)` are called as each step begins and ends.
  template <typename F, typename G>
  void run_steps(RunMemory& memory, const F& before, const G& after) const {
    size_t s = 0;
    try {
      for (; s < calls.size(); ++s) {
        before(s);
        run_call(calls[s], memory);
        after(s);
      }
    } catch (const Error& e) {
      throw e.within(describe_step(plan().steps[s]));
    }
    for (const Copy& copy : copies)
      if (copy.bytes) std::memcpy(memory.slots[copy.to], memory.slots[copy.from], copy.bytes);
  }

  void check_given(std::span<const ir::Tensor> inputs, std::span<const ir::Tensor> outputs) const {
    if (inputs.size() != plan().inputs.size() || outputs.size() != plan().outputs.size())
      fail(ErrorCode::invalid_argument, "{} inputs and {} outputs given, {} and {} expected", inputs.size(),
           outputs.size(), plan().inputs.size(), plan().outputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) check_tensor(plan().inputs[i], inputs[i], "input");
    for (size_t o = 0; o < outputs.size(); ++o) {
      if (!outputs[o].defined()) continue;
      check_tensor(plan().outputs[o], outputs[o], "output");
      auto refuse = [&](const char* what, const std::string& name) {
        throw Error(ErrorCode::invalid_argument, fmt::format("the given tensor shares memory with {} '{}'", what, name),
                    fmt::format("output '{}'", plan().outputs[o].name));
      };
      for (size_t i = 0; i < inputs.size(); ++i)
        if (overlap(inputs[i], outputs[o])) refuse("input", plan().inputs[i].name);
      for (size_t other = 0; other < o; ++other)
        if (outputs[other].defined() && overlap(outputs[other], outputs[o]))
          refuse("output", plan().outputs[other].name);
    }
  }

  /// Fresh outputs and working memory; before anything is allocated, all of it is compared with what there is.
  std::unique_ptr<RunMemory> allocate(std::span<ir::Tensor> outputs) const {
    std::unique_ptr<RunMemory> memory = pool.take();
    int64_t bytes = memory ? 0 : plan().arena_bytes;
    for (size_t o = 0; o < outputs.size(); ++o)
      if (!outputs[o].defined()) bytes += plan().outputs[o].type.bytes();
    require_memory(bytes, "a run");
    for (size_t o = 0; o < outputs.size(); ++o)
      if (!outputs[o].defined()) outputs[o] = ir::Tensor::allocate(plan().outputs[o].type);
    return memory ? std::move(memory) : new_memory();
  }

  template <typename F>
  void run(std::span<const ir::Tensor> inputs, std::span<ir::Tensor> outputs, const F& body) const {
    check_given(inputs, outputs);
    std::unique_ptr<RunMemory> memory = allocate(outputs);
    for (Patch p : input_slots) memory->slots[p.slot] = const_cast<void*>(inputs[p.index].data());
    for (Patch p : output_slots) memory->slots[p.slot] = outputs[p.index].mutable_data();
    body(*memory);  // where it throws, the memory is freed
    pool.give(std::move(memory));
  }
};

BoundPlan::BoundPlan(std::unique_ptr<State> state) : state_(std::move(state)) {}
BoundPlan::~BoundPlan() = default;

std::shared_ptr<const BoundPlan> BoundPlan::bind(std::shared_ptr<const Executable> executable,
                                                 std::vector<ir::Tensor> parameters, int compile_threads,
                                                 const CacheOptions& cache) {
  const ir::Plan& plan = *executable->plan;
  if (parameters.size() != plan.parameters.size())
    fail(ErrorCode::invalid_argument, "{} parameters given, {} expected", parameters.size(), plan.parameters.size());
  for (size_t p = 0; p < parameters.size(); ++p)
    if (plan.parameters[p].buffer.valid()) check_tensor(plan.parameters[p], parameters[p], "parameter");
  auto state = std::make_unique<State>();
  translate_errors([&] {
    state->weights = bind_weights(*executable, parameters, compile_threads, PackedStore(cache));
    state->executable = std::move(executable);
    state->prepare();
  });
  return std::shared_ptr<const BoundPlan>(new BoundPlan(std::move(state)));
}

const ir::Plan& BoundPlan::plan() const { return state_->plan(); }
int64_t BoundPlan::peak_bytes() const { return state_->peak_bytes; }
int64_t BoundPlan::packed_bytes() const { return state_->weights.bytes; }
void BoundPlan::trim() const { state_->pool.trim(); }
void BoundPlan::wait_until_stored() const {
  if (state_->weights.storing.valid()) state_->weights.storing.wait();
}

void BoundPlan::run(std::span<const ir::Tensor> inputs, std::span<ir::Tensor> outputs) const {
  translate_errors([&] {
    state_->run(inputs, outputs, [&](RunMemory& memory) {
      auto steps = [&] {
        state_->run_steps(
            memory, [](size_t) {}, [](size_t) {});
      };
      if (state_->budget)
        state_->budget->run(steps);
      else
        steps();
    });
  });
}

void BoundPlan::run_observed(std::span<const ir::Tensor> inputs, std::span<ir::Tensor> outputs,
                             const StepObserver& observe) const {
  translate_errors([&] {
    state_->run(inputs, outputs, [&](RunMemory& memory) {
      std::vector<ir::Tensor> seen;
      auto view = [&](const ir::TensorType& type, uint32_t slot) {
        seen.push_back(ir::Tensor::view(type, memory.slots[slot], nullptr));
      };
      auto before = [&](size_t s) {
        const ir::Graph& g = plan().steps[s].program->graph();
        seen.clear();
        for (uint32_t i = 0; i < state_->calls[s].inputs; ++i)
          view(g.node(g.inputs()[i]).types[0], state_->calls[s].first_input + i);
        observe.before(plan().steps[s], seen);
      };
      auto after = [&](size_t s) {
        const ir::Graph& g = plan().steps[s].program->graph();
        seen.clear();
        for (uint32_t o = 0; o < state_->calls[s].outputs; ++o)
          view(g.type(g.outputs()[o].value), state_->calls[s].first_output + o);
        observe.after(plan().steps[s], seen);
      };
      auto steps = [&] { state_->run_steps(memory, before, after); };
      if (state_->budget)
        state_->budget->run(steps);
      else
        steps();
    });
  });
}

ir::NamedTensors BoundPlan::run(const ir::NamedTensors& inputs, const ir::NamedTensors& outputs) const {
  std::vector<ir::Tensor> in, out;
  for (const ir::PlanValue& value : plan().inputs) {
    auto given = inputs.find(value.name);
    if (given == inputs.end())
      throw Error(ErrorCode::invalid_argument, fmt::format("missing, expected {}", to_string(value.type)),
                  fmt::format("input '{}'", value.name));
    in.push_back(given->second);
  }
  auto reject_unknown = [](const ir::NamedTensors& given, const std::vector<ir::PlanValue>& known, const char* what) {
    for (const auto& [name, tensor] : given)
      if (std::none_of(known.begin(), known.end(), [&name = name](const ir::PlanValue& v) { return v.name == name; }))
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("the model has no such {}; it has {}", what, list_names(known)),
                    fmt::format("{} '{}'", what, name));
  };
  if (inputs.size() != in.size()) reject_unknown(inputs, plan().inputs, "input");
  reject_unknown(outputs, plan().outputs, "output");
  for (const ir::PlanValue& value : plan().outputs) {
    auto given = outputs.find(value.name);
    out.push_back(given == outputs.end() ? ir::Tensor() : given->second);
  }
  run(in, out);
  ir::NamedTensors results;
  for (size_t o = 0; o < out.size(); ++o) results.emplace(plan().outputs[o].name, out[o]);
  return results;
}

}  // namespace weft::runtime
