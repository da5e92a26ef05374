#pragma once
// Rules as text made into rules of one e-graph.
#include <memory>
#include <span>
#include <vector>

#include "egraph/rule.hpp"
#include "passes/language.hpp"
#include "passes/rule_book.hpp"

namespace weft::passes {

/// Matches attributes, evaluates conditions, builds right sides. One for one e-graph; keeps what the compiled rules
/// refer to.
class RuleCompiler : public egraph::RuleHost {
 public:
  RuleCompiler(TensorLanguage& language, const TensorAnalysis& facts);
  ~RuleCompiler() override;
  /// Throws Error(parse) with the rule's origin: unknown op, function or set, wrong arity, a name that the left side
  /// does not bind, a required attribute that is not mentioned.
  egraph::Rule compile(const RuleSource& source);

  bool match(uint32_t matcher, egraph::SymbolId symbol, egraph::AttributeBindings& slots) const override;
  std::optional<egraph::Refusal> can_merge(const egraph::EGraph& graph, egraph::ClassId root,
                                           egraph::ClassId made) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft::passes
