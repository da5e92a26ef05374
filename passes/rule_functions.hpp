#pragma once
// The two small tables behind rule text: functions on attributes and facts, and named sets of ops.
#include <functional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "passes/language.hpp"

namespace weft::passes {

/// What an expression in a rule stands for outside the graph: an attribute value, or the facts of a matched class.
using RuleValue = std::variant<ir::AttributeValue, const Facts*>;

/// Thrown (and caught by the rule that runs) where a function does not apply to these values: the match is refused.
struct RuleRefusal {
  std::string reason;
};

struct RuleFunction {
  std::string_view name, signature, summary;
  ir::AttributeValue (*apply)(std::span<const RuleValue> arguments);
};
/// All functions, by name; a condition is a function that returns a boolean.
std::span<const RuleFunction> rule_functions();
const RuleFunction* find_rule_function(std::string_view name);

struct OpSet {
  std::string_view name, summary;
  bool (*contains)(const ir::OpInfo& info);
};
std::span<const OpSet> op_sets();
const OpSet* find_op_set(std::string_view name);

}  // namespace weft::passes
