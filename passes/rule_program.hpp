#pragma once
// What a rule does with a match: its conditions and its right side, evaluated over names bound by the left side.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "passes/language.hpp"
#include "passes/rule_book.hpp"
#include "passes/rule_functions.hpp"

namespace weft::passes {

class RuleProgram {
 public:
  RuleProgram(const RuleSource& source, TensorLanguage& language, const TensorAnalysis& facts)
      : source_(source), language_(language), facts_(facts) {}

  // Filled while the left side is compiled.
  uint32_t class_variable(const std::string& name) { return number(class_names, name); }
  uint32_t sequence_variable(const std::string& name) { return number(sequence_names, name); }
  uint32_t slot(const std::string& name) {
    uint32_t n = number(slot_names, name);
    slots = static_cast<uint32_t>(slot_names.size());
    return n;
  }
  std::vector<std::string> class_names, sequence_names, slot_names;
  std::vector<std::pair<uint32_t, double>> literals;  ///< class variables that must be this number throughout
  uint32_t slots = 0;

  /// Throws Error(parse) where conditions or the right side use a name that nothing binds, an unknown function, op or
  /// arity.
  void check_names() const;
  bool holds(const egraph::EGraph& graph, const egraph::Substitution& match) const;
  egraph::ApplyResult apply(egraph::EGraph& graph, const egraph::Substitution& match) const;

 private:
  struct Scope;
  static uint32_t number(std::vector<std::string>& names, const std::string& name);
  static int index(const std::vector<std::string>& names, std::string_view name);
  void check_expression(const ir::Expr& e, bool attribute, std::vector<std::string>& bound) const;
  void check_call(const ir::Expr& e, bool attribute, std::vector<std::string>& bound) const;
  [[noreturn]] void error(const ir::Expr& at, std::string message) const;
  bool is_op_variable(std::string_view name) const { return source_.op_variable && source_.op_variable->first == name; }
  bool builds_class(const ir::Expr& e) const;

  RuleValue value(Scope& scope, const ir::Expr& e) const;
  ir::AttributeValue attribute(Scope& scope, const ir::Expr& e) const;
  egraph::ClassId build(Scope& scope, const ir::Expr& e) const;
  egraph::ClassId build_op(Scope& scope, const ir::Expr& e) const;
  egraph::ClassId build_slice(Scope& scope, const ir::Expr& e) const;
  egraph::ClassId build_number(Scope& scope, double value) const;
  void build_operands(Scope& scope, const ir::Expr& e, size_t count, std::vector<egraph::ClassId>& out) const;
  ir::Attributes build_attributes(Scope& scope, const ir::Expr& e, const ir::OpInfo& info, size_t operands) const;
  size_t operand_count(const ir::Expr& e, const ir::OpInfo& info) const;

  RuleSource source_;
  TensorLanguage& language_;
  const TensorAnalysis& facts_;
};

}  // namespace weft::passes
