// The optimizer from top to bottom: one pass a line in compile(). The runner around it times, verifies, dumps, stops
// and skips.
#include "passes/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/support/error.hpp"
#include "ir/verify.hpp"
#include "passes/canonicalise.hpp"
#include "passes/lower_direct.hpp"
#include "passes/pass_runner.hpp"
#include "passes/plan_memory.hpp"
#include "passes/schedule.hpp"
#include "passes/search.hpp"

namespace weft::passes {
namespace {

void count_kernels(const ir::Plan& plan, CompileReport& report) {
  std::map<std::string, int64_t> counts;
  for (const ir::Step& step : plan.steps) ++counts[step.backend + "." + step.kernel];
  report.kernels.assign(counts.begin(), counts.end());
  std::stable_sort(report.kernels.begin(), report.kernels.end(), [](auto& a, auto& b) { return a.second > b.second; });
}

}  // namespace

CompileResult compile(const ir::Graph& source, std::span<const ir::Target* const> targets, const Options& options) {
  if (!source.is_static())
    fail(ErrorCode::invalid_argument, "graph '{}' has symbolic dimensions; give shapes before compiling",
         source.name());
  CompileResult result;
  PassRunner run(options, result.report);
  ir::Graph graph = source;
  const int threads = std::max(1, options.threads);

  SearchResult found;
  if (options.level >= 1) {
    run.graph_pass("canonicalise", graph, [&] { graph = canonicalise(graph); });
    found = search(graph, targets, options, run, result.report);
    if (!run.stopped()) graph = std::move(found.lowered);
  }
  run.graph_pass("lower-direct", graph, [&] { graph = lower_direct(graph, targets, threads); });
  run.plan_pass("schedule", result.plan,
                [&] { result.plan = schedule(graph, targets, threads, may_contract(options)); });
  run.plan_pass("plan-memory", result.plan, [&] { plan_memory(result.plan); });

  result.plan.stats.egraph_nodes = found.egraph_nodes;
  result.plan.stats.egraph_classes = found.egraph_classes;
  result.plan.stats.lower_bound = found.lower_bound;
  result.plan.stats.proven = found.proven;
  result.plan.stats.graph_nodes = static_cast<int64_t>(source.live_nodes().size());
  count_kernels(result.plan, result.report);
  return result;
}

}  // namespace weft::passes
