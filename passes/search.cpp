#include "passes/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "egraph/dot.hpp"
#include "egraph/extract.hpp"
#include "egraph/frozen.hpp"
#include "egraph/runner.hpp"
#include "ir/support/error.hpp"
#include "ir/support/log.hpp"
#include "passes/canonicalise.hpp"
#include "passes/fuse.hpp"
#include "passes/pass_runner.hpp"
#include "passes/rule_book.hpp"
#include "passes/rule_compile.hpp"

namespace weft::passes {

using egraph::ClassId;
using egraph::NodeId;

namespace {

/// About half a second; most networks are proven optimal with a tenth of it.
constexpr uint64_t kExtractionFuel = 10'000'000;

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

class Search {
 public:
  Search(const ir::Graph& source, std::span<const ir::Target* const> targets, const Options& options,
         CompileReport& report)
      : source_(source),
        targets_(targets),
        options_(options),
        report_(report),
        language_(source),
        facts_(language_),
        graph_(language_, &facts_),
        compiler_(language_, facts_) {}

  void insert_source() {
    inserted_ = insert(source_, graph_, language_);
    graph_.rebuild();
  }

  std::string saturate() {
    std::vector<egraph::Rule> rules;
    std::vector<egraph::Phase> phases;
    for (std::string_view phase : kPhases)
      phases.push_back({std::string(phase), {}, limits_of(options_, graph_.node_count()), {}, {}});
    for (const RuleSource& source : all_rules(targets_)) {
      if (!allowed(source, options_.precision)) continue;
      for (const std::string& phase : source.phases)
        phases[std::find(std::begin(kPhases), std::end(kPhases), phase) - std::begin(kPhases)].rules.push_back(
            static_cast<uint32_t>(rules.size()));
      rules.push_back(compiler_.compile(source));
    }
    egraph::Runner runner(graph_, std::move(rules), &compiler_);
    std::string stops;
    for (egraph::Phase& phase : phases) {
      if (phase.rules.empty()) continue;
      phase.limits = limits_of(options_, graph_.node_count());
      egraph::PhaseReport result = runner.run(phase);
      report(result);
      stops += fmt::format("{}{} {}", stops.empty() ? "" : ", ", phase.name, egraph::to_string(result.stop));
      if (result.stop != egraph::StopReason::saturated && result.grower())
        stops += fmt::format(" (grown by {})", result.grower()->name);
    }
    report_.stop_reason = stops;
    return fmt::format("{} nodes, {} classes: {}", graph_.node_count(), graph_.class_count(), stops);
  }

  std::string fuse() {
    FusionLimits limits;
    if (options_.level >= 3) limits.per_class = 40;
    fusion_ = add_kernels(graph_, language_, facts_, targets_, std::max(1, options_.threads), limits);
    for (const auto& [reason, count] : fusion_.refusals)
      log(LogLevel::debug, "fusion: {} candidates refused: {}", count, reason);
    return fmt::format("{} candidates, {} kernels", fusion_.candidates, fusion_.kernels.size());
  }

  std::string extract(SearchResult& result) {
    frozen_ = std::make_unique<egraph::FrozenGraph>(graph_);
    std::vector<ClassId> roots;
    for (ClassId id : inserted_.outputs) roots.push_back(graph_.find(id));
    std::sort(roots.begin(), roots.end());
    roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
    egraph::ExtractOptions how;
    how.fuel = options_.level <= 1 ? 0 : options_.level == 2 ? kExtractionFuel : 20 * kExtractionFuel;
    if (options_.time_limit > 0) how.milliseconds = static_cast<uint64_t>(options_.time_limit * 1000);
    choice_ = egraph::extract(
        *frozen_, roots, [&](NodeId node) { return cost(node); }, how);
    result.cost = choice_.cost;
    result.lower_bound = choice_.lower_bound;
    result.proven = choice_.proven;
    result.egraph_nodes = static_cast<int64_t>(graph_.node_count());
    result.egraph_classes = static_cast<int64_t>(graph_.class_count());
    result.lowered = rebuild_graph(roots);
    return fmt::format("cost {} ns, lower bound {}{}", choice_.cost, choice_.lower_bound,
                       choice_.proven ? ", proven" : "");
  }

  std::string picture(const PictureOptions& how) const {
    egraph::DotOptions dot;
    for (ClassId id : inserted_.outputs) dot.roots.push_back(graph_.find(id));
    dot.max_nodes = how.max_nodes;
    dot.only_extracted = how.only_extracted;
    dot.extraction = &choice_;
    if (how.costs) dot.cost = [this](NodeId node) { return cost(node); };
    if (how.facts) dot.facts = [this](ClassId id) { return to_string(facts_[graph_.find(id)].type()); };
    return egraph::write_dot(*frozen_, dot);
  }

 private:
  void report(const egraph::PhaseReport& phase) {
    for (const egraph::RuleReport& r : phase.rules)
      if (r.matches)
        report_.rules.push_back({r.name, r.origin, static_cast<int64_t>(r.matches), static_cast<int64_t>(r.applied),
                                 static_cast<int64_t>(r.refused)});
  }

  std::optional<uint64_t> cost(NodeId node) const {
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

  ir::Graph rebuild_graph(std::span<const ClassId> roots) {
    ir::Graph out(source_.name());
    std::vector<ir::Value> value_of(graph_.id_bound());
    name_classes();
    for (ir::NodeId id : source_.inputs())
      leaves_[id.value] = out.input(source_.node(id).name, source_.node(id).types[0]);
    for (ir::NodeId id : source_.parameters())
      leaves_[id.value] = out.parameter(source_.node(id).name, source_.node(id).types[0], source_.node(id).tensor);
    for (NodeId node : egraph::chosen_order(*frozen_, roots, choice_)) {
      ClassId id = frozen_->class_of(node);
      std::vector<ir::Value> operands;
      for (ClassId child : frozen_->children(node)) operands.push_back(value_of[frozen_->find(child).value]);
      value_of[id.value] = rebuild_node(out, node, operands);
    }
    for (size_t o = 0; o < source_.outputs().size(); ++o) {
      ClassId id = graph_.find(inserted_.outputs[o]);
      out.output(source_.outputs()[o].name, value_of[id.value]);
    }
    return out;
  }

  ir::Value rebuild_node(ir::Graph& out, NodeId node, const std::vector<ir::Value>& operands) {
    egraph::SymbolId symbol = frozen_->symbol(node);
    uint32_t op = frozen_->op(node);
    if (op == kGetOp) return {operands[0].node, language_.index_of(symbol)};
    switch (static_cast<ir::Op>(op)) {
      case ir::Op::input:
      case ir::Op::parameter:
        return leaves_[language_.attributes(symbol)];
      case ir::Op::constant:
        return out.constant(language_.constant_of(symbol));
      default:
        break;
    }
    return {out.add(static_cast<ir::Op>(op), operands, *language_.attributes_of(symbol), provenance(node)), 0};
  }

  void name_classes() {
    for (size_t n = 0; n < source_.size(); ++n) {
      ClassId id = inserted_.class_of_node[n];
      if (id.valid() && !source_.node(ir::NodeId(n)).name.empty())
        names_.try_emplace(graph_.find(id), source_.node(ir::NodeId(n)).name);
    }
  }

  /// Names of the user's nodes whose values the kernel computes inside.
  std::string provenance(NodeId node) const {
    std::vector<ClassId> classes{frozen_->class_of(node)};
    if (auto it = fusion_.kernels.find(node); it != fusion_.kernels.end()) classes = it->second.computes;
    std::string text;
    for (ClassId id : classes)
      if (auto it = names_.find(graph_.find(id)); it != names_.end()) text += (text.empty() ? "" : " + ") + it->second;
    return text;
  }

  const ir::Graph& source_;
  std::span<const ir::Target* const> targets_;
  const Options& options_;
  CompileReport& report_;
  TensorLanguage language_;
  TensorAnalysis facts_;
  egraph::EGraph graph_;
  RuleCompiler compiler_;
  Inserted inserted_;
  FusionResult fusion_;
  std::unique_ptr<egraph::FrozenGraph> frozen_;
  egraph::ExtractResult choice_;
  std::unordered_map<uint32_t, ir::Value> leaves_;  // by source node
  std::unordered_map<ClassId, std::string> names_;
};

}  // namespace

SearchResult search(const ir::Graph& graph, std::span<const ir::Target* const> targets, const Options& options,
                    PassRunner& run, CompileReport& report) {
  SearchResult result;
  Search search(graph, targets, options, report);
  run.graph_pass("insert", graph, [&] { search.insert_source(); });
  run.graph_pass("saturate", graph, [&] { run.detail(search.saturate()); });
  run.graph_pass("fuse", graph, [&] { run.detail(search.fuse()); });
  run.graph_pass("extract", result.lowered, [&] { run.detail(search.extract(result)); });
  return result;
}

std::string egraph_picture(const ir::Graph& graph, std::span<const ir::Target* const> targets, const Options& options,
                           const PictureOptions& picture) {
  CompileReport report;
  SearchResult result;
  const ir::Graph canonical = canonicalise(graph);
  Search search(canonical, targets, options, report);
  search.insert_source();
  search.saturate();
  search.fuse();
  search.extract(result);
  return search.picture(picture);
}

}  // namespace weft::passes
