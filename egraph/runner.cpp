#include "egraph/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "egraph/search/phase_run.hpp"
#include "ir/support/error.hpp"

namespace weft::egraph {

Runner::Runner(EGraph& graph, std::vector<Rule> rules, RuleHost* host)
    : graph_(graph), rules_(std::move(rules)), host_(host ? host : &default_host_) {
  for (const Rule& rule : rules_) {
    validate(rule);
    CompiledRule compiled{&rule, {}, nullptr};
    if (!compiled.native()) compiled.program = compile(rule.pattern);
    if (const Template* source = std::get_if<Template>(&rule.applier))
      compiled.right = std::make_unique<TemplateProgram>(*source, compiled.program.variables);
    compiled_.push_back(std::move(compiled));
  }
}

Runner::~Runner() = default;

PhaseReport Runner::run(const Phase& phase) {
  for (uint32_t rule : phase.rules)
    if (rule >= rules_.size())
      fail(ErrorCode::out_of_range, "phase {} names rule {} of {}", phase.name, rule, rules_.size());
  return PhaseRun(graph_, compiled_, *host_, phase).run();
}

Report Runner::run(const std::vector<Phase>& phases) {
  Report report;
  for (const Phase& phase : phases) report.phases.push_back(run(phase));
  return report;
}

}  // namespace weft::egraph
