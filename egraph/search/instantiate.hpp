#pragma once
// Builds the right side of a rule for a match.
#include <optional>
#include <vector>

#include "egraph/rule.hpp"

namespace weft::egraph {

/// A template made ready: which parts to evaluate once, and which once per element of a map.
class TemplateProgram {
 public:
  /// `registers`: how many numbers the program of the left side uses; those of the right side's steps stand behind.
  TemplateProgram(const Template& source, uint32_t registers);

  /// Adds the right sides. On success the classes of the roots stand in `made` (as aliases of the nodes made).
  std::optional<Refusal> build(EGraph& graph, RuleHost* host, const Substitution& match, std::vector<ClassId>& made);

  /// Only variables and known symbols over them. Then the functions below may be used, which need nothing but the
  /// classes bound by the variables, in the first of `value_count()` values.
  bool plain() const { return plain_; }
  size_t value_count() const { return registers_ + steps_.size(); }
  void build_plain(EGraph& graph, ClassId* values, std::vector<ClassId>& made) const;
  /// Whether the right sides already stand in the classes of the values `roots`. On a rebuilt graph; thread-safe.
  bool stands(const EGraph& graph, const FrozenGraph& frozen, ClassId* values, const uint32_t* roots) const;
  /// One root, so that `merge_plain` may be used on graphs without analysis.
  bool single() const { return single_; }
  /// Adds the right side to the class `root`: as build_plain and merge. Tells whether anything was merged. The classes
  /// of the variables must be canonical.
  bool merge_plain(EGraph& graph, ClassId* values, ClassId root, Reason reason) const;

 private:
  std::optional<Refusal> evaluate(Template::Part part, EGraph& graph, RuleHost* host, const Substitution& match,
                                  uint32_t element, ClassId element_class);
  std::optional<Refusal> evaluate_map(Template::Part map, EGraph& graph, RuleHost* host, const Substitution& match);
  void gather_children(const Template::Node& node, const Substitution& match, std::vector<ClassId>& children) const;

  /// A part of a plain template: a symbol over values, which are variables or earlier steps.
  struct Step {
    SymbolId symbol;
    uint32_t count;       // of operands
    uint32_t first;       // in operands_
    uint32_t operand[2];  // where there are at most two; the others are masked
    uint32_t mask[2];
  };
  static constexpr size_t kMaxSteps = 32, kMaxArity = 8;  // of plain templates
  void plan_plain();
  /// Room for the children of one step.
  struct Children {
    ClassId at[kMaxArity];
  };
  std::span<const ClassId> children_of(const Step& step, const ClassId* values, Children& room) const;
  NodeId lookup(const EGraph& graph, const Step& step, const ClassId* values) const {
    if (step.count > 2) return lookup_wide(graph, step, values);
    return graph.lookup_canonical(NodeKey(step.symbol, values[step.operand[0]].value & step.mask[0],
                                          values[step.operand[1]].value & step.mask[1], step.count));
  }
  NodeId lookup_wide(const EGraph& graph, const Step& step, const ClassId* values) const;
  ClassId add(EGraph& graph, const Step& step, const ClassId* values) const;
  bool append(EGraph& graph, const ClassId* values, ClassId root, Reason reason) const;

  const Template source_;
  const uint32_t registers_;
  std::vector<Step> steps_;
  std::vector<uint32_t> operands_, root_values_;   // indices of values
  std::vector<Template::Part> once_;               // parts that do not vary, in order
  std::vector<std::vector<Template::Part>> body_;  // per map: the varying parts of its body, in order
  std::vector<ClassId> values_;                    // per part
  std::vector<std::vector<ClassId>> lists_;        // per map
  std::vector<ClassId> children_;
  bool plain_ = false, single_ = false;
};

inline bool TemplateProgram::stands(const EGraph& graph, const FrozenGraph& frozen, ClassId* values,
                                    const uint32_t* roots) const {
  ClassId* value = values + registers_;
  for (const Step& step : steps_) {
    const NodeId node = lookup(graph, step, values);
    if (!node.valid()) return false;
    *value++ = frozen.class_of(node);
  }
  for (uint32_t root : root_values_)
    if (values[root] != values[*roots++]) return false;
  return true;
}

inline bool TemplateProgram::merge_plain(EGraph& graph, ClassId* values, ClassId root, Reason reason) const {
  ClassId* value = values + registers_;
  for (const Step& step : steps_) {
    const NodeId node = lookup(graph, step, values);
    if (node.valid())
      *value++ = graph.find(EGraph::class_alias(node));
    else if (&step == &steps_.back())
      return append(graph, values, root, reason);
    else
      *value++ = add(graph, step, values);
  }
  if (graph.find(root) == values[root_values_[0]]) return false;
  graph.merge(root, values[root_values_[0]], reason);
  return true;
}

}  // namespace weft::egraph
