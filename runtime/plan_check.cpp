#include "runtime/plan_check.hpp"

#include <algorithm>

#include "ir/support/error.hpp"

namespace weft::runtime {
namespace {

using ir::Buffer;
using ir::BufferId;
using ir::Placement;

constexpr int64_t kAlignment = 64;
constexpr int64_t kMostBytes = int64_t{1} << 46;
constexpr int kMostParts = 1 << 16;

template <typename... Args>
[[noreturn]] void bad(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorCode::parse, fmt::format(format, std::forward<Args>(args)...), "plan");
}

struct Range {
  int64_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
  bool overlaps(const Range& other) const {
    return !empty() && !other.empty() && begin < other.end && other.begin < end;
  }
};

class Checker {
 public:
  explicit Checker(const ir::Plan& plan) : plan_(plan), written_(plan.buffers.size(), false) {}

  void run() {
    if (plan_.arena_bytes < 0) bad("an arena of {} bytes", plan_.arena_bytes);
    if (plan_.arena_bytes > kMostBytes)
      throw Error(ErrorCode::limit, fmt::format("an arena of {} bytes, at most 2^46", plan_.arena_bytes), "plan");
    if (plan_.threads < 1 || plan_.threads > 1 << 16) bad("{} threads", plan_.threads);
    for (size_t i = 0; i < plan_.constants.size(); ++i)
      if (!plan_.constants[i].defined()) bad("constant {} has no value", i);
    check_values(plan_.inputs, Placement::input, "input");
    check_values(plan_.parameters, Placement::parameter, "parameter");
    check_values(plan_.outputs, Placement::output, "output");
    for (size_t b = 0; b < plan_.buffers.size(); ++b) check_buffer(b);
    for (size_t s = 0; s < plan_.prologue.size(); ++s) check_step(plan_.prologue[s], "prologue step", s, true);
    for (size_t s = 0; s < plan_.steps.size(); ++s) check_step(plan_.steps[s], "step", s, false);
    for (auto [from, to] : plan_.copies) check_copy(from, to);
    for (const ir::PlanValue& output : plan_.outputs)
      if (!written_[output.buffer.value]) bad("output '{}' is never written", output.name);
  }

 private:
  const Buffer& buffer(BufferId id) const {
    if (id.value >= plan_.buffers.size()) bad("buffer {} of {}", id.value, plan_.buffers.size());
    return plan_.buffers[id.value];
  }

  static int64_t bytes_of(const ir::TensorType& type) {
    if (!ir::is_static(type.shape)) bad("{} has symbolic dimensions", to_string(type));
    int64_t bytes = 0;
    if (__builtin_mul_overflow(type.elements(), static_cast<int64_t>(size_of(type.dtype)), &bytes) ||
        bytes > kMostBytes)
      bad("{} is too large", to_string(type));
    return bytes;
  }

  void check_values(const std::vector<ir::PlanValue>& values, Placement placement, const char* what) const {
    for (size_t i = 0; i < values.size(); ++i) {
      int64_t bytes = bytes_of(values[i].type);
      if (!values[i].buffer.valid() && placement != Placement::output) continue;  // nothing reads it
      const Buffer& b = buffer(values[i].buffer);
      if (b.placement != placement || b.index != i || b.bytes != bytes)
        bad("{} {} '{}' of {} does not fit its buffer", what, i, values[i].name, to_string(values[i].type));
    }
  }

  void check_buffer(size_t id) {
    const Buffer& b = plan_.buffers[id];
    if (b.bytes < 0 || b.bytes > kMostBytes) bad("buffer {} of {} bytes", id, b.bytes);
    auto known = [&](size_t count, auto bytes_at) {
      if (b.index >= count || bytes_at(b.index) != b.bytes)
        bad("buffer {}: index {} of {}, {} bytes", id, b.index, count, b.bytes);
    };
    auto of_values = [&](const std::vector<ir::PlanValue>& values) {
      known(values.size(), [&](uint32_t i) { return bytes_of(values[i].type); });
    };
    switch (b.placement) {
      case Placement::input:
        of_values(plan_.inputs);
        written_[id] = true;
        return;
      case Placement::parameter:
        of_values(plan_.parameters);
        written_[id] = true;
        return;
      case Placement::output:
        of_values(plan_.outputs);
        return;
      case Placement::constant:
        known(plan_.constants.size(), [&](uint32_t i) { return static_cast<int64_t>(plan_.constants[i].bytes()); });
        written_[id] = true;
        return;
      case Placement::bound:
        return;
      case Placement::arena:
        if (b.offset < 0 || b.offset % kAlignment || b.offset > plan_.arena_bytes - b.bytes)
          bad("buffer {}: {} bytes at {} of an arena of {}", id, b.bytes, b.offset, plan_.arena_bytes);
        return;
    }
    bad("buffer {}: placement {}", id, static_cast<int>(b.placement));
  }

  void check_step(const ir::Step& step, const char* what, size_t index, bool prologue) {
    auto wrong = [&](const std::string& why) { bad("{} {} ({}.{}): {}", what, index, step.backend, step.kernel, why); };
    if (!step.program) wrong("no program");
    const ir::Graph& g = step.program->graph();
    if (step.inputs.size() != g.inputs().size() || step.operands.size() != step.inputs.size() ||
        step.outputs.size() != g.outputs().size())
      wrong(fmt::format("{} operands, {} operand kinds and {} results for a program of {} and {}", step.inputs.size(),
                        step.operands.size(), step.outputs.size(), g.inputs().size(), g.outputs().size()));
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const Buffer& b = buffer(step.inputs[i]);
      if (bytes_of(g.node(g.inputs()[i]).types[0]) != b.bytes)
        wrong(fmt::format("operand {} has {} bytes", i, b.bytes));
      if (!written_[step.inputs[i].value]) wrong(fmt::format("operand {} is read before it is written", i));
      bool fixed =
          b.placement == Placement::parameter || b.placement == Placement::constant || b.placement == Placement::bound;
      if ((prologue || step.operands[i] == ir::OperandKind::parameter) && !fixed)
        wrong(fmt::format("operand {} is no parameter", i));
    }
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      const Buffer& b = buffer(step.outputs[i]);
      if (bytes_of(g.type(g.outputs()[i].value)) != b.bytes) wrong(fmt::format("result {} has {} bytes", i, b.bytes));
      bool right = prologue ? b.placement == Placement::bound
                            : b.placement == Placement::arena || b.placement == Placement::output;
      if (!right) wrong(fmt::format("result {} is written to buffer {}", i, step.outputs[i].value));
      written_[step.outputs[i].value] = true;
    }
    check_resources(step, prologue, wrong);
  }

  template <typename F>
  void check_resources(const ir::Step& step, bool prologue, const F& wrong) const {
    const ir::KernelResources& r = step.resources;
    if (r.parts < 1 || r.parts > kMostParts || r.scratch_bytes < 0 || r.scratch_bytes > kMostBytes / kMostParts)
      wrong(fmt::format("{} parts with {} bytes of scratch", r.parts, r.scratch_bytes));
    for (int operand : r.in_place)
      if (operand < 0 || operand >= static_cast<int>(step.inputs.size()))
        wrong(fmt::format("in place of operand {}", operand));
    if (prologue) return;
    int64_t total = scratch_total(r);
    if (total > 0 && (step.scratch_offset < 0 || step.scratch_offset % kAlignment ||
                      step.scratch_offset > plan_.arena_bytes - total))
      wrong(fmt::format("{} bytes of scratch at {} of an arena of {}", total, step.scratch_offset, plan_.arena_bytes));
    check_overlaps(step, total, wrong);
  }

  Range range(BufferId id) const {
    const Buffer& b = plan_.buffers[id.value];
    if (b.placement != Placement::arena) return {};
    return {b.offset, b.offset + b.bytes};
  }

  template <typename F>
  void check_overlaps(const ir::Step& step, int64_t scratch, const F& wrong) const {
    Range own{step.scratch_offset, step.scratch_offset + scratch};
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (scratch > 0 && own.overlaps(range(step.inputs[i]))) wrong(fmt::format("scratch lies over operand {}", i));
      const auto& in_place = step.resources.in_place;
      bool may = step.outputs.size() == 1 && std::count(in_place.begin(), in_place.end(), static_cast<int>(i)) > 0;
      for (BufferId out : step.outputs) {
        bool same = out == step.inputs[i] || range(out).overlaps(range(step.inputs[i]));
        if (same && !(may && range(out).begin == range(step.inputs[i]).begin))
          wrong(fmt::format("a result lies over operand {}", i));
      }
    }
    for (size_t a = 0; a < step.outputs.size(); ++a) {
      if (scratch > 0 && own.overlaps(range(step.outputs[a]))) wrong(fmt::format("scratch lies over result {}", a));
      for (size_t b = 0; b < a; ++b)
        if (step.outputs[a] == step.outputs[b] || range(step.outputs[a]).overlaps(range(step.outputs[b])))
          wrong("results overlap");
    }
  }

  void check_copy(BufferId from, BufferId to) {
    const Buffer &f = buffer(from), &t = buffer(to);
    if (t.placement != Placement::output || f.bytes != t.bytes || from == to)
      bad("copy of buffer {} to {}", from.value, to.value);
    if (!written_[from.value]) bad("copy of buffer {}, which is never written", from.value);
    written_[to.value] = true;
  }

  const ir::Plan& plan_;
  std::vector<bool> written_;
};

}  // namespace

int64_t scratch_stride(const ir::KernelResources& r) {
  return (r.scratch_bytes + kAlignment - 1) / kAlignment * kAlignment;
}
int64_t scratch_total(const ir::KernelResources& r) { return scratch_stride(r) * r.parts; }

void check_plan(const ir::Plan& plan) { Checker(plan).run(); }

}  // namespace weft::runtime
