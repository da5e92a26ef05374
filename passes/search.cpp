#include "passes/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "ir/support/error.hpp"
#include "ir/support/log.hpp"
#include "passes/chosen_graph.hpp"
#include "passes/pass_runner.hpp"
#include "passes/rule_book.hpp"
#include "passes/search_run.hpp"

namespace weft::passes {

using egraph::ClassId;
using egraph::NodeId;

namespace {

/// About a seventh of a second; most networks are proven optimal with a tenth of it.
constexpr uint64_t kExtractionFuel = 20'000'000;

/// Limits of a phase by level and by the size of the graph that it starts from. Reproducible but for the time limit.
egraph::Limits limits_of(const Options& options, size_t nodes) {
  egraph::Limits limits;
  size_t factor = options.level >= 3 ? 20 : 8;
  limits.nodes = nodes * factor + 2000;
  limits.iterations = options.level >= 3 ? 60 : 30;
  limits.fuel = 4000 * static_cast<uint64_t>(nodes) + 2'000'000;
  limits.bytes = size_t{2} << 30;
  limits.milliseconds = static_cast<uint64_t>(options.time_limit * 1000);
  return limits;
}

}  // namespace

SearchRun::SearchRun(const ir::Graph& source, const Rolled& rolled, std::span<const ir::Target* const> targets,
                     const Options& options, CompileReport& report, bool record)
    : source_(source),
      rolled_(rolled),
      searched_(rolled.rolls.empty() ? source : rolled.graph),
      targets_(targets),
      options_(options),
      report_(report),
      record_(record),
      language_(searched_),
      facts_(language_),
      graph_(language_, &facts_),
      compiler_(language_, facts_) {
  if (record) graph_.record_merges();
}

void SearchRun::insert_source() {
  inserted_ = insert(searched_, graph_, language_);
  graph_.rebuild();
  add_stage("written");
}

std::string SearchRun::saturate() {
  std::vector<egraph::Rule> rules;
  std::vector<egraph::Phase> phases;
  const size_t written = graph_.node_count();
  for (std::string_view phase : kPhases)
    phases.push_back({std::string(phase), {}, limits_of(options_, written), {}, {}});
  for (const RuleSource& source : all_rules(targets_)) {
    if (!allowed(source, options_.precision)) continue;
    for (const std::string& phase : source.phases)
      phases[std::find(std::begin(kPhases), std::end(kPhases), phase) - std::begin(kPhases)].rules.push_back(
          static_cast<uint32_t>(rules.size()));
    rules.push_back(compiler_.compile(source));
  }
  runner_ = std::make_unique<egraph::Runner>(graph_, std::move(rules), &compiler_);
  std::string stops;
  for (egraph::Phase& phase : phases) {
    if (phase.rules.empty()) continue;
    egraph::PhaseReport result = runner_->run(phase);
    report(result);
    stops += fmt::format("{}{} {}", stops.empty() ? "" : ", ", phase.name, egraph::to_string(result.stop));
    if (result.stop != egraph::StopReason::saturated && result.grower())
      stops += fmt::format(" (grown by {})", result.grower()->name);
    for (size_t i = 0; i < result.iterations.size(); ++i) {
      const egraph::IterationReport& it = result.iterations[i];
      stages_.push_back({fmt::format("{} {}", phase.name, i + 1), it.nodes, it.classes,
                         static_cast<uint32_t>(it.id_bound), static_cast<uint32_t>(it.merge_records)});
    }
    phases_.push_back(std::move(result));
  }
  report_.stop_reason = stops;
  return fmt::format("{} nodes, {} classes: {}", graph_.node_count(), graph_.class_count(), stops);
}

std::string SearchRun::fuse() {
  FusionLimits limits;
  if (options_.level >= 3) limits.per_class = 40;
  limits.contract = may_contract(options_);
  fusion_ = add_kernels(graph_, language_, facts_, targets_, std::max(1, options_.threads), limits, record_);
  add_stage("kernels");
  for (const auto& [reason, count] : fusion_.refusals)
    log(LogLevel::debug, "fusion: {} candidates refused: {}", count, reason);
  return fmt::format("{} candidates, {} kernels", fusion_.candidates, fusion_.kernels.size());
}

std::string SearchRun::extract(SearchResult& result) {
  frozen_ = std::make_unique<egraph::FrozenGraph>(graph_);
  if (!rolled_.rolls.empty()) unroll_ = std::make_unique<Unroll>(rolled_, graph_, *frozen_, inserted_);
  const std::vector<ClassId> roots = this->roots();
  egraph::ExtractOptions how;
  how.fuel = options_.level <= 1 ? 0 : options_.level == 2 ? kExtractionFuel : 20 * kExtractionFuel;
  if (options_.time_limit > 0) how.milliseconds = static_cast<uint64_t>(options_.time_limit * 1000);
  choose(roots, how);
  if (obstacle_) choose_for_all_blocks(roots, how);
  result.cost = choice_.cost;
  result.lower_bound = choice_.lower_bound;
  result.proven = choice_.proven;
  result.egraph_nodes = static_cast<int64_t>(graph_.node_count());
  result.egraph_classes = static_cast<int64_t>(graph_.class_count());
  if (obstacle_) return "not rolled: " + *obstacle_;
  if (unroll_) count_all_blocks(order_, result);
  result.lowered = chosen_graph({source_, rolled_, language_, *frozen_, choice_, inserted_, fusion_, record_}, order_,
                                unroll_.get());
  return fmt::format("cost {} ns, lower bound {}{}", result.cost, result.lower_bound, result.proven ? ", proven" : "");
}

void SearchRun::choose(const std::vector<ClassId>& roots, const egraph::ExtractOptions& how) {
  choice_ = egraph::extract(
      *frozen_, roots, [&](NodeId node) { return cost(node); }, how);
  order_ = egraph::chosen_order(*frozen_, roots, choice_);
  if (unroll_) obstacle_ = unroll_->obstacle(order_, choice_);
}

void SearchRun::impose_second_block(const std::vector<ClassId>& roots, const egraph::ExtractOptions& how) {
  imposed_ = unroll_->as_second(order_, choice_);
  choose(roots, how);
}

/// Again, with what was chosen for the second block in the others too: blocks may differ where costs are equal, or
/// where the search was not complete. Then the same once more, from a choice without nodes that could never be laid
/// out.
void SearchRun::choose_for_all_blocks(const std::vector<ClassId>& roots, egraph::ExtractOptions how) {
  if (how.milliseconds) how.milliseconds = std::max<uint64_t>(how.milliseconds / 4, 1);
  const uint64_t bound = choice_.lower_bound;
  try {
    impose_second_block(roots, how);
    if (obstacle_) {
      only_rollable_ = true, imposed_.clear();
      choose(roots, how);
      if (obstacle_) impose_second_block(roots, how);
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return;  // no such choice: what was found before stays, and cannot be rolled
  }
  choice_.lower_bound = bound;  // that of the choice among all nodes
  choice_.proven = choice_.proven && choice_.cost == bound;
}

void SearchRun::add_stage(std::string name) {
  stages_.push_back({std::move(name), graph_.node_count(), graph_.class_count(),
                     static_cast<uint32_t>(graph_.id_bound()), static_cast<uint32_t>(graph_.merge_records().size())});
}

const std::vector<egraph::Rule>& SearchRun::rules() const {
  static const std::vector<egraph::Rule> none;  // saturate was skipped
  return runner_ ? runner_->rules() : none;
}

std::vector<ClassId> SearchRun::roots() const {
  std::vector<ClassId> roots;
  for (ClassId id : inserted_.outputs) roots.push_back(graph_.find(id));
  std::sort(roots.begin(), roots.end());
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
  return roots;
}

void SearchRun::report(const egraph::PhaseReport& phase) {
  for (const egraph::RuleReport& r : phase.rules)
    if (r.matches)
      report_.rules.push_back({r.name, r.origin, static_cast<int64_t>(r.matches), static_cast<int64_t>(r.applied),
                               static_cast<int64_t>(r.refused)});
}

/// What extraction counts for a node: nanoseconds, weighted where blocks were left out.
std::optional<uint64_t> SearchRun::cost(NodeId node) const {
  if (const auto only = imposed_.find(frozen_->class_of(node)); only != imposed_.end() && only->second != node)
    return std::nullopt;
  if (only_rollable_ && unroll_->is_obstacle(node)) return std::nullopt;
  std::optional<uint64_t> once = cost_once(node);
  if (once && unroll_) *once *= unroll_->weight(frozen_->class_of(node));
  return once;
}

/// Nanoseconds of the whole network; the gap to the bound is that of the rolled one.
void SearchRun::count_all_blocks(std::span<const NodeId> order, SearchResult& result) const {
  const uint64_t gap = (choice_.cost - choice_.lower_bound) / 3;
  result.cost = 0;
  for (NodeId node : order) result.cost += *cost_once(node) * unroll_->times(frozen_->class_of(node));
  result.lower_bound = result.cost - std::min(gap, result.cost);
}

std::optional<uint64_t> SearchRun::cost_once(NodeId node) const {
  uint32_t op = graph_.op(node);
  if (op == kGetOp) return 0;
  switch (static_cast<ir::Op>(op)) {
    case ir::Op::input:
    case ir::Op::parameter:
    case ir::Op::constant:
    case ir::Op::reshape:
      return 0;
    case ir::Op::kernel: {
      auto known = fusion_.kernels.find(node);
      if (known == fusion_.kernels.end()) return std::nullopt;
      return std::max<uint64_t>(1, known->second.nanoseconds);
    }
    default:
      break;
  }
  for (ClassId child : graph_.children(node))
    if (!facts_[graph_.find(child)].fixed) return std::nullopt;
  return 1;  // of parameters alone: computed once, when they are bound
}

std::string describe(const Rolled& rolled) {
  if (rolled.rolls.empty()) return "no long run of equal blocks";
  std::string text;
  for (const Roll& roll : rolled.rolls)
    text += fmt::format("{}{} blocks of {} nodes as 3", text.empty() ? "" : ", ", roll.copies, roll.blocks[0].size());
  return text;
}

void run_search(SearchRun& search, const ir::Graph& graph, PassRunner& run, SearchResult& result) {
  run.graph_pass("insert", graph, [&] { search.insert_source(); });
  run.graph_pass("saturate", graph, [&] { run.detail(search.saturate()); });
  run.graph_pass("fuse", graph, [&] { run.detail(search.fuse()); });
  run.graph_pass("extract", result.lowered, [&] { run.detail(search.extract(result)); });
}

SearchResult search(const ir::Graph& graph, std::span<const ir::Target* const> targets, const Options& options,
                    PassRunner& run, CompileReport& report) {
  SearchResult result;
  Rolled rolled;
  run.graph_pass("roll", graph, [&] {
    rolled = roll(graph);
    run.detail(describe(rolled));
  });
  {
    SearchRun search(graph, rolled, targets, options, report);
    run_search(search, rolled.rolls.empty() ? graph : rolled.graph, run, result);
    if (!search.obstacle()) return result;
  }
  report.rules.clear();
  const Rolled whole;
  SearchRun search(graph, whole, targets, options, report);
  run_search(search, graph, run, result);
  return result;
}

}  // namespace weft::passes
