#pragma once
// Builds the right side of a rule for a match.
#include <array>
#include <optional>
#include <vector>

#include "egraph/rule.hpp"
#include "egraph/search/rows.hpp"

namespace weft::egraph {

/// A template made ready: which parts to evaluate once, and which once per element of a map.
class TemplateProgram {
 public:
  /// `variables`: how many class variables the left side binds.
  TemplateProgram(const Template& source, uint32_t variables);

  /// Adds the right sides. On success the classes of the roots stand in `made` (as aliases of the nodes made).
  std::optional<Refusal> build(EGraph& graph, RuleHost* host, const Substitution& match, std::vector<ClassId>& made);

  /// Only variables and known symbols over them, which become steps from the bottom up. Then a match needs nothing but
  /// a *row*: the classes of the variables; per step the class of what stands there already, or kNone where nobody
  /// knows; per root the node that was matched (of a bare variable: its class). Such rules are searched and applied in
  /// rows.
  bool plain() const { return plain_; }
  uint32_t variables() const { return variables_; }
  uint32_t width() const { return first_root_ + static_cast<uint32_t>(root_values_.size()); }  ///< of a row
  uint32_t first_root() const { return first_root_; }
  /// The most rows that `sift` takes at once.
  static constexpr size_t kBatch = 64;
  /// Copies to `kept` the rows whose right sides do not stand in the classes of their roots, and fills in what stands
  /// of each; nothing is known before. On a rebuilt graph; thread-safe. Returns how many.
  size_t sift(const EGraph& graph, const FrozenGraph& frozen, uint32_t* rows, size_t count, Rows& kept) const;
  /// Of at most kBatch rows, in a graph that grew since they were sifted: fills in what stands by now, and takes the
  /// root from rows that would change nothing. For `single` templates; thread-safe.
  void mark_idle(const EGraph& graph, std::span<uint32_t* const> rows) const;
  bool marked_idle(const uint32_t* row) const { return row[first_root_] == kNone; }
  /// Adds the right sides; `made` as in build.
  void build_row(EGraph& graph, const uint32_t* row, std::vector<ClassId>& made) const;
  /// Adds the right side of a single root. Its class, by any id: what stood there already goes by no node of its own,
  /// so explanations need build_row.
  ClassId complete_row(EGraph& graph, const uint32_t* row) const;
  /// One root, so that `complete_row` may be used, and `merge_row` on graphs without analysis.
  bool single() const { return single_; }
  /// Adds the right side to the class of the root: as complete_row and merge. Tells whether anything was merged.
  bool merge_row(EGraph& graph, const uint32_t* row, Reason reason) const;

 private:
  std::optional<Refusal> evaluate(Template::Part part, EGraph& graph, RuleHost* host, const Substitution& match,
                                  uint32_t element, ClassId element_class);
  std::optional<Refusal> evaluate_map(Template::Part map, EGraph& graph, RuleHost* host, const Substitution& match);
  void gather_children(const Template::Node& node, const Substitution& match, std::vector<ClassId>& children) const;

  /// A part of a plain template: a symbol over values, which are places in a row.
  struct Step {
    SymbolId symbol;
    uint32_t place;       // in a row
    uint32_t count;       // of operands
    uint32_t first;       // in operands_
    uint32_t operand[2];  // where there are at most two; the others are masked
    uint32_t mask[2];
    NodeKey key(const uint32_t* row) const {
      return {symbol, row[operand[0]] & mask[0], row[operand[1]] & mask[1], count};
    }
  };
  static constexpr size_t kMaxValues = 64, kMaxArity = 8;  // of plain templates
  void plan_plain();
  size_t look_up(const Step& step, const EGraph& graph, const FrozenGraph& frozen, uint32_t** rows, size_t count) const;
  size_t look_up_wide(const Step& step, const EGraph& graph, const FrozenGraph& frozen, uint32_t** rows,
                      size_t count) const;
  size_t look_up_now(const Step& step, const EGraph& graph, uint32_t** rows, size_t count) const;
  NodeId find_now(const Step& step, const EGraph& graph, const uint32_t* row) const;
  void mark_standing(const FrozenGraph& frozen, uint32_t* const* rows, size_t count) const;
  using Children = std::array<ClassId, kMaxArity>;
  NodeKey key_now(EGraph& graph, const Step& step, const uint32_t* values, Children& children) const;

  const Template source_;
  const uint32_t variables_;
  uint32_t first_root_ = variables_;  // in a row
  std::vector<Step> steps_;
  std::vector<uint32_t> operands_, root_values_;   // places in a row
  std::vector<Template::Part> once_;               // parts that do not vary, in order
  std::vector<std::vector<Template::Part>> body_;  // per map: the varying parts of its body, in order
  std::vector<ClassId> values_;                    // per part
  std::vector<std::vector<ClassId>> lists_;        // per map
  std::vector<ClassId> children_;
  bool plain_ = false, single_ = false;
};

/// The key of a step over the classes as they are now.
[[gnu::always_inline]] inline NodeKey TemplateProgram::key_now(EGraph& graph, const Step& step, const uint32_t* values,
                                                               Children& children) const {
  if (step.count == 2) {
    children[0] = graph.find(ClassId(values[step.operand[0]]));
    children[1] = graph.find(ClassId(values[step.operand[1]]));
    return {step.symbol, children[0].value, children[1].value, 2};
  }
  for (uint32_t i = 0; i < step.count; ++i) children[i] = graph.find(ClassId(values[operands_[step.first + i]]));
  return {step.symbol, {children.data(), step.count}};
}

inline ClassId TemplateProgram::complete_row(EGraph& graph, const uint32_t* row) const {
  if (const ClassId known(row[root_values_[0]]); known.valid()) return known;
  uint32_t values[kMaxValues + kRowSlack];
  copy_row(values, row, first_root_);
  Children children;
  for (const Step& step : steps_) {
    if (values[step.place] != kNone) continue;
    const NodeKey key = key_now(graph, step, values, children);
    values[step.place] = graph.add_canonical(key, {children.data(), step.count}).value;
  }
  return ClassId(values[root_values_[0]]);
}

inline bool TemplateProgram::merge_row(EGraph& graph, const uint32_t* row, Reason reason) const {
  const ClassId root(row[first_root_]);
  if (const ClassId known(row[root_values_[0]]); known.valid()) return graph.unite(root, known, reason);
  uint32_t values[kMaxValues + kRowSlack];
  copy_row(values, row, first_root_);
  Children children;
  for (const Step* step = steps_.data();; ++step) {  // the last one is not known
    if (values[step->place] != kNone) continue;
    const NodeKey key = key_now(graph, *step, values, children);
    const std::span<const ClassId> all(children.data(), step->count);
    if (step->place + 1 == first_root_) return graph.add_to_class(root, key, all, reason);
    values[step->place] = graph.add_canonical(key, all).value;
  }
}

}  // namespace weft::egraph
