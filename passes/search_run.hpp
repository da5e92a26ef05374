#pragma once
// One search from the graph to the choice, and all that it knew, for those who explain and draw it. The public way in
// is search.hpp.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "egraph/extract.hpp"
#include "egraph/frozen.hpp"
#include "egraph/runner.hpp"
#include "passes/fuse.hpp"
#include "passes/language.hpp"
#include "passes/rule_compile.hpp"
#include "passes/search.hpp"
#include "passes/unroll.hpp"

namespace weft::passes {

/// The e-graph after some step of the search.
struct Stage {
  std::string name;  ///< "written", "algebra 3", "kernels"
  size_t nodes = 0, classes = 0;
  uint32_t node_end = 0, merge_end = 0;  ///< node ids and merge records below were there
};

class SearchRun {
 public:
  /// `rolled`: what the search sees in the source's stead; without rolls it sees the source. `record` keeps the proof
  /// forest and what kernels were refused, and marks what is lowered with its e-node (chosen_graph.hpp). Graphs,
  /// targets, options and report must outlive it.
  SearchRun(const ir::Graph& source, const Rolled& rolled, std::span<const ir::Target* const> targets,
            const Options& options, CompileReport& report, bool record = false);

  // The steps, in this order. Each but the first gives a detail line.
  void insert_source();
  std::string saturate();
  std::string fuse();
  std::string extract(SearchResult& result);
  /// Why the choice does not fit all blocks that were left out: the search must see the whole source.
  const std::optional<std::string>& obstacle() const { return obstacle_; }

  // What is known after them.
  const ir::Graph& searched() const { return searched_; }
  const TensorLanguage& language() const { return language_; }
  const Facts& facts(egraph::ClassId id) const { return facts_[graph_.find(id)]; }
  const egraph::EGraph& graph() const { return graph_; }
  const egraph::FrozenGraph& frozen() const { return *frozen_; }
  const Inserted& inserted() const { return inserted_; }
  const std::vector<egraph::Rule>& rules() const;
  const std::vector<Stage>& stages() const { return stages_; }
  const std::vector<egraph::PhaseReport>& phases() const { return phases_; }
  const FusionResult& fusion() const { return fusion_; }
  const egraph::ExtractResult& choice() const { return choice_; }
  std::vector<egraph::ClassId> roots() const;  ///< canonical, ascending
  /// What extraction counts for a node: nanoseconds times the weight of its class; nothing where it cannot run.
  std::optional<uint64_t> cost(egraph::NodeId node) const;
  uint64_t weight(egraph::ClassId id) const { return unroll_ ? unroll_->weight(graph_.find(id)) : 1; }
  /// Nanoseconds of a node of its own; nothing where it cannot run.
  std::optional<uint64_t> cost_once(egraph::NodeId node) const;

 private:
  void report(const egraph::PhaseReport& phase);
  void choose(const std::vector<egraph::ClassId>& roots, const egraph::ExtractOptions& how);
  void impose_second_block(const std::vector<egraph::ClassId>& roots, const egraph::ExtractOptions& how);
  void choose_for_all_blocks(const std::vector<egraph::ClassId>& roots, egraph::ExtractOptions how);
  void add_stage(std::string name);
  void count_all_blocks(std::span<const egraph::NodeId> order, SearchResult& result) const;

  const ir::Graph& source_;
  const Rolled& rolled_;
  const ir::Graph& searched_;
  std::span<const ir::Target* const> targets_;
  const Options& options_;
  CompileReport& report_;
  const bool record_;
  TensorLanguage language_;
  TensorAnalysis facts_;
  egraph::EGraph graph_;
  RuleCompiler compiler_;
  std::unique_ptr<egraph::Runner> runner_;
  std::vector<egraph::PhaseReport> phases_;
  std::vector<Stage> stages_;
  Inserted inserted_;
  FusionResult fusion_;
  std::unique_ptr<egraph::FrozenGraph> frozen_;
  std::unique_ptr<Unroll> unroll_;
  egraph::ExtractResult choice_;
  std::vector<egraph::NodeId> order_;                            // of the choice, operands first
  bool only_rollable_ = false;                                   // nodes that could never be laid out are left out
  std::unordered_map<egraph::ClassId, egraph::NodeId> imposed_;  // classes for which nothing else may be chosen
  std::optional<std::string> obstacle_;
};

/// One line for the report of the pass that rolls up.
std::string describe(const Rolled& rolled);
/// All steps as passes of `run`.
void run_search(SearchRun& search, const ir::Graph& graph, PassRunner& run, SearchResult& result);

}  // namespace weft::passes
