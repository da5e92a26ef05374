#pragma once
// A search that remembers: what pictures and explanations are made from.
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "passes/class_names.hpp"
#include "passes/search_run.hpp"

namespace weft::passes {

/// When a node of the e-graph was made, or two classes merged, and by which rule.
struct Birth {
  uint32_t stage = 0;  ///< index into SearchRun::stages
  std::string rule, origin;
};

/// The plan's steps, and the e-node that each was.
struct RecordedPlan {
  ir::Plan plan;  ///< scheduled; without places in the arena
  std::vector<egraph::NodeId> steps, prologue;
};

/// Runs the search on a static graph, as compile() does, with the proof forest on. Graph, targets and options must
/// outlive it. Throws Error(unsupported) at level 0, where nothing is searched.
class RecordedSearch {
 public:
  RecordedSearch(const ir::Graph& graph, std::span<const ir::Target* const> targets, const Options& options);
  RecordedSearch(const RecordedSearch&) = delete;

  const SearchRun& run() const { return *run_; }
  const SearchResult& result() const { return result_; }
  Birth birth(egraph::NodeId node) const;
  /// Name and origin of the rule of a merge, by the merge's record.
  Birth reason(egraph::Reason reason, uint32_t record) const;
  /// The e-node as which a node of the given graph was written; invalid where the node is dead. Of a run of equal
  /// blocks most are left out of the search: the second block's node stands for theirs.
  egraph::NodeId e_node(ir::NodeId node) const;
  /// Of how many equal blocks the node's is one that was left out; 0 where it was searched itself.
  size_t left_out(ir::NodeId node) const { return node.value < places_.size() ? places_[node.value].copies : 0; }
  /// The first block's e-node for a node of a later one but the last, else invalid: where the plan computes a value a
  /// block later (see Unroll::obstacle), the second block holds what became of it.
  egraph::NodeId e_node_before(ir::NodeId node) const;
  /// Whose names the searched nodes of equal blocks go by: by searched node, a node of the canonical graph. Empty:
  /// their own.
  using Names = std::vector<ir::NodeId>;
  /// Names under which what was searched tells of the block that holds a node of the given graph, where the second
  /// block stands for that one (or the first one does).
  Names names_around(ir::NodeId node, bool by_first = false) const;
  /// "12 blocks of 50 nodes as 3"; empty where nothing was left out.
  std::string rolled() const { return rolled_.rolls.empty() ? std::string() : describe(rolled_); }

  /// The first name that the user's nodes gave to a class, with a prime where it holds the value in another layout;
  /// empty where there is none.
  std::string name_of(egraph::ClassId id, const Names& names = {}) const;
  /// Names of the user's nodes whose values the node computes.
  std::string provenance(egraph::NodeId node, const Names& names = {}) const;
  /// One line for people: the op with the attributes that are not defaults; a kernel as its backend's name and its ops.
  std::string label(egraph::NodeId node) const;
  /// All of it: what a kernel computes as a program.
  std::string full_label(egraph::NodeId node) const;
  /// A term as it was made (`node` may be one that was found equal to another since): values of the user's nodes by
  /// their names, all others written out to `depth` levels.
  std::string term(egraph::NodeId node, const Names& names = {}, uint32_t depth = 3) const;
  /// The type of a class, and what more is known of it.
  std::string facts(egraph::ClassId id) const;
  /// What comes after the search.
  RecordedPlan plan() const;

 private:
  void search(PassRunner& run);
  void find_new_ids(const std::vector<ir::NodeId>& canonical_ids);
  const std::string& name(ir::NodeId searched, const Names& names) const;
  std::string provenance_of(std::span<const egraph::ClassId> classes, const Names& names) const;
  std::string with_attributes(egraph::SymbolId symbol, std::span<const egraph::ClassId> children) const;
  uint32_t stage_of(uint32_t number, uint32_t Stage::*end) const;

  std::span<const ir::Target* const> targets_;
  const Options& options_;
  ir::Graph canonical_;
  Rolled rolled_;
  CompileReport report_;
  std::unique_ptr<SearchRun> run_;
  SearchResult result_;
  std::vector<ir::NodeId> new_ids_;  // by node of the given graph: node of the graph that was searched
  static constexpr size_t kNone = SIZE_MAX;
  /// Where a node stands among equal blocks that were left out, the second before them (block 0) and the last.
  struct Place {
    size_t copies = 0, roll = kNone, block = 0, role = 0;  // copies: 0 where it was searched; roll: of Rolled::rolls
  };
  std::vector<Place> places_;  // by node of the given graph
  struct Made {
    uint32_t first, end, rule;
  };
  std::vector<Made> made_;
  std::unordered_map<egraph::NodeId, ir::NodeId> written_;  // e-nodes as written, that have names
  std::unordered_map<egraph::ClassId, ClassName> names_;
};

}  // namespace weft::passes
