#pragma once
// The way back from a rolled graph: which block a class belongs to, and what stands in its place one block further on.
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "egraph/extract.hpp"
#include "passes/language.hpp"
#include "passes/roll.hpp"

namespace weft::passes {

/// Blocks of the runs of a rolled graph, as classes of its saturated e-graph. Classes have a *rank*: 0 before any run,
/// 3r + 1, 3r + 2, 3r + 3 in the three kept blocks of run r, and what is computed from them keeps their rank.
///
/// What is chosen for the second block may stand for every block left out where its boundary repeats: each value that
/// it reads from the first block has a counterpart one block on (the same expression over the same roles), which is
/// what the third block reads. `obstacle` checks that for a choice, so that a plan is never laid out on hope.
class Unroll {
 public:
  Unroll(const Rolled& rolled, const egraph::EGraph& graph, const egraph::FrozenGraph& frozen,
         const Inserted& inserted);

  uint32_t rank(egraph::ClassId id) const { return rank_[id.value]; }
  static bool is_second(uint32_t rank) { return rank % 3 == 2; }
  static size_t roll_of(uint32_t rank) { return (rank - 1) / 3; }
  /// What extraction multiplies costs by. Each of the three blocks stands for a third of the run, so that what is paid
  /// in every block weighs against what is paid once outside; equal weights, so that no work moves to a cheaper block.
  uint64_t weight(egraph::ClassId id) const { return rank(id) == 0 ? 3 : rolled_.rolls[roll_of(rank(id))].copies; }
  /// How often what is chosen for the class runs in the source.
  uint64_t times(egraph::ClassId id) const {
    return is_second(rank(id)) ? rolled_.rolls[roll_of(rank(id))].copies - 2 : 1;
  }
  /// The class with the same meaning one block further on; the class itself where all blocks share it; invalid where
  /// neither is known. Follows the choice through classes that no node of the
  /// source stands for.
  egraph::ClassId next(size_t roll, egraph::ClassId id, const egraph::ExtractResult& choice) {
    return follow(next_[roll], id, choice, kDepth);
  }
  /// Why the choice cannot be laid out for all blocks; nothing where it can. `order`: its nodes, operands first. A
  /// value that is chosen together with one of the next block (a residual sum with the norm that reads it) counts as of
  /// that block from here on.
  std::optional<std::string> obstacle(std::span<const egraph::NodeId> order, const egraph::ExtractResult& choice);
  /// Whether a choice with this node can never be laid out: it reads past a block, or computes an output of a block
  /// from a later one.
  bool is_obstacle(egraph::NodeId node) const;
  /// Per class what would be chosen for it if every kept block did as the second one. For a choice in which the blocks
  /// differ; after `obstacle`.
  std::unordered_map<egraph::ClassId, egraph::NodeId> as_second(std::span<const egraph::NodeId> order,
                                                                const egraph::ExtractResult& choice);

 private:
  void rank_sources();
  void rank_others();
  void move_up(std::span<const egraph::NodeId> order);
  using Images = std::unordered_map<egraph::ClassId, egraph::ClassId>;
  egraph::ClassId follow(Images& known, egraph::ClassId id, const egraph::ExtractResult& choice, int depth);
  egraph::NodeId image(Images& known, egraph::NodeId node, const egraph::ExtractResult& choice, int depth);

  const Rolled& rolled_;
  const egraph::EGraph& graph_;
  const egraph::FrozenGraph& frozen_;
  const Inserted& inserted_;
  static constexpr int kDepth = 16;                          // of what is followed through the choice
  std::vector<uint32_t> rank_, given_rank_;                  // by class; before any choice
  std::vector<Images> next_, previous_;                      // by run: one block further on, and back
  std::vector<Images> given_next_;                           // before any choice
  std::vector<std::unordered_set<egraph::ClassId>> bypass_;  // by run
  std::optional<std::string> ambiguous_;
};

}  // namespace weft::passes
