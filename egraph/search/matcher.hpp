#pragma once
// Runs compiled patterns over a frozen graph, in blocks of candidate roots.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "egraph/frozen.hpp"
#include "egraph/rule.hpp"
#include "egraph/search/instantiate.hpp"
#include "egraph/search/program.hpp"

namespace weft::egraph {

/// Reads the matches of one program back from the numbers that they were written as.
class MatchReader {
 public:
  MatchReader(const Program& program, const FrozenGraph& frozen);
  /// The spans of the result hold until the next call and as long as `match`.
  const Substitution& read(std::span<const uint32_t> match);
  /// Only the matched root nodes (of a bare variable: its class, as an alias).
  void roots(std::span<const uint32_t> match, std::vector<NodeId>& roots) const;

 private:
  const Program& program_;
  const FrozenGraph& frozen_;
  std::vector<ClassId> classes_, root_classes_;
  std::vector<NodeId> nodes_, root_nodes_, sequence_nodes_;
  Substitution substitution_;
};

/// What a search may ask while it runs.
struct SearchContext {
  const FrozenGraph* frozen = nullptr;
  const EGraph* graph = nullptr;
  const RuleHost* host = nullptr;
  RowPool* rows = nullptr;  ///< for what is found; may be null
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  bool late() const {
    return deadline != std::chrono::steady_clock::time_point::max() && std::chrono::steady_clock::now() > deadline;
  }
};

/// The matches of one block of candidates, one after another: Program::width numbers each, or TemplateProgram::width of
/// a rule with a plain right side.
struct MatchBlock {
  Rows matches;
  uint64_t count = 0;     ///< matches in the list
  uint64_t found = 0;     ///< also those dropped because their right side already stands
  uint64_t bindings = 0;  ///< candidates tried
  bool cut = false;       ///< a bound stopped it: the list is not complete
};

class Matcher {
 public:
  /// Only matches with a node changed after epoch `since` are reported. Where `right` is given and plain, matches are
  /// its rows, and those whose right side already stands are dropped.
  Matcher(const Program& program, const SearchContext& context, const Rule& rule, const TemplateProgram* right,
          uint32_t since);

  static size_t candidate_count(const Program& program, const FrozenGraph& frozen);
  /// Searches candidates [begin, end); stops after max_bindings bindings or max_matches matches.
  MatchBlock run(size_t begin, size_t end, uint64_t max_bindings, uint64_t max_matches);

 private:
  void run_classes(std::span<const ClassId> candidates);
  void scan(size_t step);
  void scan_up(size_t step, ClassId from, bool only_new);
  void scan_last(const Step& step, FrozenGraph::Range range, bool only_new);
  uint32_t scan_part(const Step& step, FrozenGraph::Range range);
  void scan_roots(const Step& step, std::span<const uint32_t> places);
  /// Epoch of the change of a candidate root that may give new matches.
  uint32_t root_changed_at(uint32_t place) const {
    return by_form_ ? context_.graph->formed(frozen_.node_at(place)) : frozen_.changed_at(place);
  }
  uint32_t scan_pairs(const Step& step, FrozenGraph::Range range);
  bool must_be_new(const Step& step) const;
  void accept(size_t index, const Step& step, uint32_t place, bool is_new);
  bool bind(const Step& step, std::span<const ClassId> children);
  bool bind(const Step::Child& wanted, ClassId child) {
    ClassId& bound = registers_[wanted.reg];
    if (wanted.compare) return bound == child;
    bound = child;
    return true;
  }
  void go_deeper(size_t index, NodeId node, bool is_new);
  bool fits(const Step& step, NodeId node, std::span<const ClassId> children);
  void yield() {
    if (fresh_ != 0 || since_ == 0) take_match();
  }
  bool take_match();
  bool guard_passes();
  void fill_row(uint32_t* row) const;
  void begin_batch();
  bool sift();
  void write(uint32_t* at) const;
  /// One more binding; false where the search ends. Looks at bounds and clock in between.
  bool go_on() { return budget_-- > 0 || renew_budget(); }
  bool renew_budget();
  void cut();

  const Program& program_;
  const FrozenGraph& frozen_;
  const SearchContext& context_;
  const Rule& rule_;
  const uint32_t since_;
  const TemplateProgram* const right_;
  std::vector<ClassId> registers_;
  std::vector<NodeId> nodes_;
  AttributeBindings slots_;
  std::optional<MatchReader> reader_;   // where a guard asks, and then
  std::vector<uint32_t> match_;         // what it is asked about
  std::vector<const uint32_t*> roots_;  // of a row: where they stand
  // Rows that have not been looked up yet: [batch_, next_row_); at batch_end_ it is time for it.
  std::unique_ptr<uint32_t[]> batch_;
  uint32_t *next_row_ = nullptr, *batch_end_ = nullptr;
  uint32_t width_ = 0, first_root_ = 0;  // of rows
  bool by_form_ = false;                 // a root that moved to another class is not new
  bool takes_pairs_ = false;             // the last step changes nothing of a row but two variables
  bool takes_roots_ = false;             // the only step binds two variables and the one root
  uint32_t fresh_ = 0;                   // nodes bound so far that are new
  uint64_t max_bindings_ = 0, max_matches_ = 0;
  int64_t budget_ = 0;  // bindings up to the next look at the bounds: counted already, not made yet
  MatchBlock block_;
};

}  // namespace weft::egraph
