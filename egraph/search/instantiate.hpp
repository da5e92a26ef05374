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
  /// Whether every root already stands in the class of the matched root. Only where it has no builders; thread-safe.
  bool stands(const EGraph& graph, const Substitution& match, std::vector<ClassId>& scratch) const;
  bool has_builders() const { return has_builders_; }

 private:
  std::optional<Refusal> evaluate(Template::Part part, EGraph& graph, RuleHost* host, const Substitution& match,
                                  uint32_t element, ClassId element_class);
  std::optional<Refusal> evaluate_map(Template::Part map, EGraph& graph, RuleHost* host, const Substitution& match);
  void gather_children(const Template::Node& node, const Substitution& match, std::vector<ClassId>& children) const;

  const Template source_;
  std::vector<Template::Part> once_;               // parts that do not vary, in order
  std::vector<std::vector<Template::Part>> body_;  // per map: the varying parts of its body, in order
  std::vector<ClassId> values_;                    // per part
  std::vector<std::vector<ClassId>> lists_;        // per map
  std::vector<ClassId> children_;
  bool has_builders_ = false, has_lists_ = false;
};

}  // namespace weft::egraph
