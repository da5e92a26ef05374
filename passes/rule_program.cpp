#include "passes/rule_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/support/error.hpp"

namespace weft::passes {

using egraph::ClassId;
using ir::Expr;

/// One match being worked on. While a mapped sequence is built, `element` stands for the sequence's name.
struct RuleProgram::Scope {
  const egraph::EGraph& graph;
  egraph::EGraph* mutable_graph;
  const egraph::Substitution& match;
  std::map<std::string, RuleValue, std::less<>> lets;
  std::map<std::string, ClassId, std::less<>> class_lets;
  std::string_view element_name;
  ClassId element;
};

uint32_t RuleProgram::number(std::vector<std::string>& names, const std::string& name) {
  int found = index(names, name);
  if (found >= 0) return static_cast<uint32_t>(found);
  names.push_back(name);
  return static_cast<uint32_t>(names.size() - 1);
}
int RuleProgram::index(const std::vector<std::string>& names, std::string_view name) {
  auto it = std::find(names.begin(), names.end(), name);
  return it == names.end() ? -1 : static_cast<int>(it - names.begin());
}

void RuleProgram::error(const Expr& at, std::string message) const {
  throw Error(ErrorCode::parse, fmt::format("{} in rule '{}': {}", message, source_.name, source_.text),
              fmt::format("{}:{}:{}", source_.file, at.at.line, at.at.column));
}

bool RuleProgram::builds_class(const Expr& e) const {
  return e.kind == Expr::Kind::call &&
         (is_op_variable(e.name) || (ir::op_from_string(e.name) && !find_rule_function(e.name)) ||
          (ir::op_from_string(e.name) && std::any_of(e.children.begin(), e.children.end(), [&](const Expr& c) {
             return index(class_names, c.name) >= 0 || builds_class(c);
           })));
}

size_t RuleProgram::operand_count(const Expr& e, const ir::OpInfo& info) const {
  size_t count = info.operands.size();
  if (!count || !info.operands.back().variadic) return count;
  for (count = 0; count < e.children.size(); ++count) {
    const Expr& c = e.children[count];
    bool operand = c.kind == Expr::Kind::call || (c.kind == Expr::Kind::name && index(class_names, c.name) >= 0) ||
                   (c.kind == Expr::Kind::sequence && (c.name.empty() || index(sequence_names, c.name) >= 0));
    if (!operand) break;
  }
  return count;
}

void RuleProgram::check_names() const {
  std::vector<std::string> bound = class_names;
  bound.insert(bound.end(), sequence_names.begin(), sequence_names.end());
  bound.insert(bound.end(), slot_names.begin(), slot_names.end());
  for (const auto& [name, e] : source_.lets) {
    check_expression(e, !builds_class(e), bound);
    bound.push_back(name);
  }
  for (const Expr& e : source_.conditions) check_expression(e, true, bound);
  for (const Expr& e : source_.right) check_expression(e, false, bound);
}

void RuleProgram::check_expression(const Expr& e, bool attribute, std::vector<std::string>& bound) const {
  switch (e.kind) {
    case Expr::Kind::name:
      if (e.name == "true" || e.name == "false") return;
      [[fallthrough]];
    case Expr::Kind::sequence:
      if (e.name.empty()) {
        for (const Expr& c : e.children) check_expression(c, attribute, bound);
      } else if (std::find(bound.begin(), bound.end(), e.name) == bound.end()) {
        error(e, fmt::format("nothing binds '{}'", e.name));
      }
      return;
    case Expr::Kind::call:
      return check_call(e, attribute, bound);
    case Expr::Kind::list:
      for (const Expr& c : e.children) check_expression(c, true, bound);
      return;
    default:
      return;
  }
}

void RuleProgram::check_call(const Expr& e, bool attribute, std::vector<std::string>& bound) const {
  if (attribute) {
    if (!find_rule_function(e.name)) error(e, fmt::format("unknown function '{}'", e.name));
    for (const Expr& c : e.children) check_expression(c, true, bound);
    return;
  }
  if (is_op_variable(e.name)) {
    for (const Expr& c : e.children) check_expression(c, false, bound);
    return;
  }
  auto op = ir::op_from_string(e.name);
  if (!op && find_rule_function(e.name)) return check_call(e, true, bound);
  if (!op) error(e, fmt::format("unknown op '{}'", e.name));
  if (e.name == "slice" && e.children.size() > 1 && e.children[1].kind == Expr::Kind::range) return;
  const ir::OpInfo& info = ir::info(*op);
  size_t operands = operand_count(e, info);
  if (e.children.size() < operands) error(e, fmt::format("{} takes {} operands", info.name, operands));
  for (size_t i = 0; i < e.children.size(); ++i) check_expression(e.children[i], i >= operands, bound);
  for (const auto& [name, value] : e.named) check_expression(value, true, bound);
}

bool RuleProgram::holds(const egraph::EGraph& graph, const egraph::Substitution& match) const {
  for (auto [variable, number] : literals) {
    const ir::Tensor& splat = facts_[graph.find(match.classes[variable])].splat;
    if (!splat.defined()) return false;
    double value = splat.at_double(0);
    if (value != number || std::signbit(value) != std::signbit(number)) return false;
  }
  try {
    Scope scope{graph, nullptr, match, {}, {}, {}, {}};
    for (const auto& [name, e] : source_.lets)
      if (!builds_class(e)) scope.lets.insert_or_assign(name, value(scope, e));
    for (const Expr& condition : source_.conditions) {
      ir::AttributeValue v = attribute(scope, condition);
      const bool* truth = std::get_if<bool>(&v);
      if (!truth || !*truth) return false;
    }
  } catch (const RuleRefusal&) {
    return false;
  }
  return true;
}

RuleValue RuleProgram::value(Scope& scope, const Expr& e) const {
  switch (e.kind) {
    case Expr::Kind::number:
      if (e.integer) return ir::AttributeValue(*e.integer);
      return ir::AttributeValue(e.number);
    case Expr::Kind::text:
      return ir::AttributeValue(e.name);
    case Expr::Kind::list: {
      std::vector<int64_t> list;
      for (const Expr& c : e.children) {
        ir::AttributeValue v = attribute(scope, c);
        if (auto* n = std::get_if<int64_t>(&v))
          list.push_back(*n);
        else
          throw RuleRefusal{"a list holds something else than integers"};
      }
      return ir::AttributeValue(list);
    }
    case Expr::Kind::name: {
      if (e.name == "true" || e.name == "false") return ir::AttributeValue(e.name == "true");
      if (e.name == scope.element_name) return &facts_[scope.graph.find(scope.element)];
      if (auto it = scope.lets.find(e.name); it != scope.lets.end()) return it->second;
      if (auto it = scope.class_lets.find(e.name); it != scope.class_lets.end())
        return &facts_[scope.graph.find(it->second)];
      if (int i = index(class_names, e.name); i >= 0) return &facts_[scope.graph.find(scope.match.classes[i])];
      if (int i = index(slot_names, e.name); i >= 0) return language_.value(scope.match.attributes[i]);
      throw RuleRefusal{"unbound name " + e.name};
    }
    case Expr::Kind::call: {
      const RuleFunction* function = find_rule_function(e.name);
      if (!function) throw RuleRefusal{"unknown function " + e.name};
      std::vector<RuleValue> arguments;
      for (const Expr& c : e.children) arguments.push_back(value(scope, c));
      return function->apply(arguments);
    }
    case Expr::Kind::type:
      return ir::AttributeValue(e.tensor_type->dtype);
    default:
      throw RuleRefusal{"no value"};
  }
}

ir::AttributeValue RuleProgram::attribute(Scope& scope, const Expr& e) const {
  RuleValue v = value(scope, e);
  if (auto* a = std::get_if<ir::AttributeValue>(&v)) return *a;
  throw RuleRefusal{"a value stands where an attribute is needed"};
}

egraph::ApplyResult RuleProgram::apply(egraph::EGraph& graph, const egraph::Substitution& match) const {
  try {
    Scope scope{graph, &graph, match, {}, {}, {}, {}};
    for (const auto& [name, e] : source_.lets) {
      if (builds_class(e))
        scope.class_lets.insert_or_assign(name, build(scope, e));
      else
        scope.lets.insert_or_assign(name, value(scope, e));
    }
    std::vector<ClassId> results;
    for (const Expr& root : source_.right) results.push_back(build(scope, root));
    return results;
  } catch (const RuleRefusal& refusal) {
    return egraph::Refusal{refusal.reason};
  } catch (const Error& e) {
    if (e.code() == ErrorCode::limit || e.code() == ErrorCode::internal) throw;
    return egraph::Refusal{e.message()};
  }
}

ClassId RuleProgram::build(Scope& scope, const Expr& e) const {
  switch (e.kind) {
    case Expr::Kind::name: {
      if (e.name == scope.element_name) return scope.element;
      if (auto it = scope.class_lets.find(e.name); it != scope.class_lets.end()) return it->second;
      int i = index(class_names, e.name);
      if (i < 0) throw RuleRefusal{"no value is named " + e.name};
      return scope.match.classes[i];
    }
    case Expr::Kind::number:
      return build_number(scope, e.number);
    case Expr::Kind::call:
      return build_op(scope, e);
    default:
      throw RuleRefusal{"expected a value"};
  }
}

/// A number is a constant of the matched root's dtype and rank, one element.
ClassId RuleProgram::build_number(Scope& scope, double number) const {
  const ir::TensorType& root = facts_[scope.graph.find(scope.match.root_classes[0])].type();
  ir::Tensor t = ir::filled({root.dtype, ir::Shape(root.rank(), ir::Dim(1))}, number);
  return scope.mutable_graph->add(language_.constant(t));
}

void RuleProgram::build_operands(Scope& scope, const Expr& e, size_t count, std::vector<ClassId>& out) const {
  for (size_t i = 0; i < count; ++i) {
    const Expr& c = e.children[i];
    if (c.kind != Expr::Kind::sequence) {
      out.push_back(build(scope, c));
      continue;
    }
    std::string_view sequence = c.name.empty() ? std::string_view(sequence_names[0]) : c.name;
    int number = index(sequence_names, sequence);
    if (number < 0) throw RuleRefusal{"no sequence is named " + c.name};
    std::span<const ClassId> bound = scope.match.sequence(static_cast<uint32_t>(number));
    std::vector<ClassId> elements(bound.begin(), bound.end());
    for (ClassId element : elements) {
      Scope inner{scope.graph, scope.mutable_graph, scope.match, scope.lets, scope.class_lets, sequence, element};
      out.push_back(c.name.empty() ? build(inner, c.children[0]) : element);
    }
  }
}

ir::Attributes RuleProgram::build_attributes(Scope& scope, const Expr& e, const ir::OpInfo& info,
                                             size_t operands) const {
  ir::Attributes attributes;
  size_t next = 0;
  for (size_t i = operands; i < e.children.size(); ++i) {
    const Expr& c = e.children[i];
    if (c.kind == Expr::Kind::sequence) {
      int slot_number = index(slot_names, c.name);
      if (slot_number < 0) throw RuleRefusal{"no attributes are named " + c.name};
      egraph::SymbolId from(scope.match.attributes[slot_number]);
      for (const auto& [name, v] : language_.attributes_of(from)->entries())
        if (!attributes.find(name)) attributes.set(name, v);
    } else {
      if (next >= info.attributes.size()) throw RuleRefusal{"too many attributes"};
      attributes.set(info.attributes[next++].name, attribute(scope, c));
    }
  }
  for (const auto& [name, value_expr] : e.named) attributes.set(name, attribute(scope, value_expr));
  return attributes;
}

ClassId RuleProgram::build_op(Scope& scope, const Expr& e) const {
  std::vector<ClassId> children;
  if (is_op_variable(e.name)) {
    build_operands(scope, e, e.children.size(), children);
    return scope.mutable_graph->add(egraph::SymbolId(scope.match.attributes[index(slot_names, e.name)]), children);
  }
  if (e.name == "slice" && e.children.size() > 1 && e.children[1].kind == Expr::Kind::range)
    return build_slice(scope, e);
  auto op = ir::op_from_string(e.name);
  if (!op) {  // a function of attributes: its number, as a value
    ir::AttributeValue v = attribute(scope, e);
    if (auto* real = std::get_if<double>(&v)) return build_number(scope, *real);
    if (auto* integer = std::get_if<int64_t>(&v)) return build_number(scope, static_cast<double>(*integer));
    throw RuleRefusal{"no number"};
  }
  const ir::OpInfo& info = ir::info(*op);
  size_t operands = operand_count(e, info);
  build_operands(scope, e, operands, children);
  std::vector<ir::TensorType> types;  // infer before adding, so that an ill-typed right side is refused, not half built
  for (ClassId c : children) types.push_back(facts_[scope.graph.find(c)].type());
  ir::Attributes attributes = ir::complete(info.op, build_attributes(scope, e, info, operands), types);
  ir::infer(info.op, types, attributes);
  return scope.mutable_graph->add(language_.symbol(info.op, attributes), children);
}

/// x[a:b, :, n:]: axes not named are taken whole.
ClassId RuleProgram::build_slice(Scope& scope, const Expr& e) const {
  ClassId x = build(scope, e.children[0]);
  std::vector<int64_t> dims = ir::to_ints(facts_[scope.graph.find(x)].type().shape), starts(dims.size(), 0),
                       ends = dims;
  if (e.children.size() - 1 > dims.size()) throw RuleRefusal{"more ranges than axes"};
  auto bound = [&](const Expr& b, int64_t fallback, int64_t size) {
    if (b.kind == Expr::Kind::name && b.name.empty()) return fallback;
    ir::AttributeValue v = attribute(scope, b);
    const int64_t* n = std::get_if<int64_t>(&v);
    if (!n) throw RuleRefusal{"a bound is no integer"};
    return std::clamp<int64_t>(*n < 0 ? *n + size : *n, 0, size);
  };
  for (size_t i = 1; i < e.children.size(); ++i) {
    const Expr& range = e.children[i];
    if (range.kind != Expr::Kind::range || range.children.size() != 2) throw RuleRefusal{"expected a range a:b"};
    starts[i - 1] = bound(range.children[0], 0, dims[i - 1]);
    ends[i - 1] = bound(range.children[1], dims[i - 1], dims[i - 1]);
  }
  return add_op(*scope.mutable_graph, language_, ir::Op::slice, std::span(&x, 1),
                {{"starts", ir::to_shape(starts)},
                 {"ends", ir::to_shape(ends)},
                 {"steps", std::vector<int64_t>(dims.size(), 1)}});
}

}  // namespace weft::passes
