#include <fmt/format.h>

#include "ir/support/readable.hpp"
#include "passes/pass_runner.hpp"

namespace weft::passes {
namespace {

std::string place(const ir::Plan& plan, ir::BufferId id) {
  const ir::Buffer& b = plan.buffers[id.value];
  switch (b.placement) {
    case ir::Placement::input:
      return fmt::format("input:{}", b.index);
    case ir::Placement::parameter:
      return fmt::format("parameter:{}", b.index);
    case ir::Placement::constant:
      return fmt::format("constant:{}", b.index);
    case ir::Placement::bound:
      return fmt::format("bound:{}", id.value);
    case ir::Placement::arena:
      return fmt::format("arena+{}", b.offset);
    case ir::Placement::output:
      return fmt::format("output:{}", b.index);
  }
  return "?";
}

void print_steps(std::string& out, const ir::Plan& plan, const std::vector<ir::Step>& steps) {
  for (const ir::Step& step : steps) {
    std::string line = "  ";
    for (size_t i = 0; i < step.outputs.size(); ++i) line += (i ? ", " : "") + place(plan, step.outputs[i]);
    line += fmt::format(" = {}.{}(", step.backend, step.kernel);
    for (size_t i = 0; i < step.inputs.size(); ++i) line += (i ? ", " : "") + place(plan, step.inputs[i]);
    line += fmt::format(") parts={}", step.resources.parts);
    if (step.resources.scratch_bytes)
      line += fmt::format(" scratch={}x{}", step.resources.parts, step.resources.scratch_bytes);
    if (!step.resources.implementation.empty()) line += fmt::format(" [{}]", step.resources.implementation);
    out += line + fmt::format(" {} ns\n    {}\n", step.nanoseconds, step.program->text());
  }
}

}  // namespace

std::string print_plan(const ir::Plan& plan) {
  std::string out =
      fmt::format("plan {}: {} steps, {} in the prologue, arena {} bytes (lower bound {}), {} ns estimated\n",
                  readable(plan.graph_name), plan.steps.size(), plan.prologue.size(), plan.arena_bytes,
                  plan.stats.arena_lower_bound, plan.stats.cost);
  for (const ir::PlanValue& v : plan.inputs) out += fmt::format("input {} {}\n", readable(v.name), to_string(v.type));
  out += "prologue\n";
  print_steps(out, plan, plan.prologue);
  out += "steps\n";
  print_steps(out, plan, plan.steps);
  for (auto [from, to] : plan.copies) out += fmt::format("  {} = copy({})\n", place(plan, to), place(plan, from));
  for (const ir::PlanValue& v : plan.outputs)
    out += fmt::format("output {} {} = {}\n", readable(v.name), to_string(v.type), place(plan, v.buffer));
  return out;
}

}  // namespace weft::passes
