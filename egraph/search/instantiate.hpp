#pragma once
// Builds the right side of a rule for a match.
#include <optional>
#include <vector>

#include "egraph/rule.hpp"

namespace weft::egraph {

/// A template made ready: which parts to evaluate once, and which once per element of a map.
class TemplateProgram {
 public:
  explicit TemplateProgram(const Template& source);

  /// Adds the right sides. On success the classes of the roots stand in `made` (as aliases of the nodes made).
  std::optional<Refusal> build(EGraph& graph, RuleHost* host, const Substitution& match, std::vector<ClassId>& made);
  /// Only variables and known symbols over them: the two functions below may be used, which need nothing but the
  /// classes bound by the variables.
  bool plain() const { return plain_; }
  void build_plain(EGraph& graph, const uint32_t* variables, std::vector<ClassId>& made) const;
  /// Whether the right sides already stand in the classes `roots`. On a rebuilt graph; thread-safe.
  bool stands(const EGraph& graph, const FrozenGraph& frozen, const ClassId* variables, const ClassId* roots) const;

 private:
  std::optional<Refusal> evaluate(Template::Part part, EGraph& graph, RuleHost* host, const Substitution& match,
                                  uint32_t element, ClassId element_class);
  std::optional<Refusal> evaluate_map(Template::Part map, EGraph& graph, RuleHost* host, const Substitution& match);
  void gather_children(const Template::Node& node, const Substitution& match, std::vector<ClassId>& children) const;

  /// A part of a plain template: what it is made of, with each operand a variable or an earlier step.
  struct Operand {
    bool variable;
    uint32_t number;
  };
  struct Step {
    SymbolId symbol;
    std::vector<Operand> children;
  };
  static constexpr size_t kMaxSteps = 32, kMaxArity = 8;  // of plain templates
  void plan_plain();

  const Template source_;
  std::vector<Step> steps_;
  std::vector<Operand> step_roots_;
  std::vector<Template::Part> once_;               // parts that do not vary, in order
  std::vector<std::vector<Template::Part>> body_;  // per map: the varying parts of its body, in order
  std::vector<ClassId> values_;                    // per part
  std::vector<std::vector<ClassId>> lists_;        // per map
  std::vector<ClassId> children_;
  bool plain_ = false;
};

}  // namespace weft::egraph
