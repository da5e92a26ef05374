// The left side: names to variables, attributes to matchers. The right side is in rule_apply.cpp.
#include "passes/rule_compile.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ir/support/error.hpp"
#include "passes/rule_functions.hpp"
#include "passes/rule_program.hpp"

namespace weft::passes {

using egraph::Pattern;
using ir::Expr;

namespace {

/// What a pattern says about the symbol of one application.
struct AttributeMatcher {
  struct Field {
    std::string name;
    uint32_t literal = egraph::kNone;  ///< value id to equal, or
    uint32_t slot = egraph::kNone;     ///< slot to bind
  };
  uint32_t op = egraph::kNone;  ///< for op variables: kNone, and
  const OpSet* set = nullptr;
  uint32_t symbol_slot = egraph::kNone;  ///< binds the whole symbol (op variables)
  uint32_t rest_slot = egraph::kNone;    ///< binds the id of the symbol (a...)
  std::vector<Field> fields;
};

}  // namespace

struct RuleCompiler::State {
  TensorLanguage& language;
  const TensorAnalysis& facts;
  std::vector<AttributeMatcher> matchers;
};

RuleCompiler::RuleCompiler(TensorLanguage& language, const TensorAnalysis& facts)
    : state_(new State{language, facts, {}}) {}
RuleCompiler::~RuleCompiler() = default;

namespace {

class LeftSide {
 public:
  LeftSide(const RuleSource& source, TensorLanguage& language, std::vector<AttributeMatcher>& matchers)
      : source_(source), language_(language), matchers_(matchers) {}

  void compile(Pattern& pattern, RuleProgram& program) {
    program_ = &program;
    for (const Expr& root : source_.left) pattern.root(part(pattern, root));
    pattern.attribute_slots = program.slots;
  }

 private:
  Pattern::Part part(Pattern& pattern, const Expr& e) {
    switch (e.kind) {
      case Expr::Kind::name:
        return pattern.variable(program_->class_variable(e.name));
      case Expr::Kind::number: {
        uint32_t variable = program_->class_variable(fmt::format("{}#{}", e.name, program_->class_names.size()));
        program_->literals.emplace_back(variable, e.number);
        return pattern.variable(variable);
      }
      case Expr::Kind::call:
        return application(pattern, e);
      default:
        error(e, "expected a variable, a number or an op in a pattern");
    }
  }

  Pattern::Part application(Pattern& pattern, const Expr& e) {
    AttributeMatcher matcher;
    const ir::OpInfo* info = nullptr;
    uint32_t op = Pattern::kAnyOp;
    if (source_.op_variable && e.name == source_.op_variable->first) {
      matcher.set = find_op_set(source_.op_variable->second);
      if (!matcher.set) error(e, fmt::format("unknown set of ops '{}'", source_.op_variable->second));
      matcher.symbol_slot = program_->slot(e.name);
    } else {
      auto found = ir::op_from_string(e.name);
      if (!found) error(e, fmt::format("unknown op '{}'", e.name));
      info = &ir::info(*found);
      op = op_number(*found);
    }
    const bool sequence = !e.children.empty() && e.children[0].kind == Expr::Kind::sequence &&
                          !e.children[0].name.empty() && (!info || info->operands[0].variadic);
    const size_t operands = sequence ? 1 : operand_count(e, info);
    if (info)
      attributes(e, *info, operands, matcher);
    else if (!e.named.empty() || operands != e.children.size())
      error(e, "an op variable takes no attributes");
    uint32_t index = static_cast<uint32_t>(matchers_.size());
    matchers_.push_back(std::move(matcher));
    if (sequence) return pattern.apply_sequence(op, program_->sequence_variable(e.children[0].name), index);
    std::vector<Pattern::Part> children;
    for (size_t i = 0; i < operands; ++i) children.push_back(part(pattern, e.children[i]));
    return pattern.apply(op, std::move(children), index);
  }

  size_t operand_count(const Expr& e, const ir::OpInfo* info) {
    if (!info) return e.children.size();
    size_t count = info->operands.size();
    bool variadic = count && info->operands.back().variadic;
    if (variadic) {  // all leading positional arguments that are patterns
      count = 0;
      while (count < e.children.size() &&
             (e.children[count].kind == Expr::Kind::name || e.children[count].kind == Expr::Kind::call))
        ++count;
    }
    if (e.children.size() < count) error(e, fmt::format("{} takes {} operands", info->name, count));
    return count;
  }

  void attributes(const Expr& e, const ir::OpInfo& info, size_t operands, AttributeMatcher& matcher) {
    std::vector<std::string_view> mentioned;
    auto field = [&](const ir::AttributeSpec& spec, const Expr& value) {
      mentioned.push_back(spec.name);
      AttributeMatcher::Field f{std::string(spec.name)};
      if (value.kind == Expr::Kind::name && value.name != "true" && value.name != "false")
        f.slot = program_->slot(value.name);
      else
        f.literal = language_.intern_value(ir::attribute_from_expression(value, spec.kind, source_.file));
      matcher.fields.push_back(std::move(f));
    };
    for (size_t i = operands, next = 0; i < e.children.size(); ++i) {
      const Expr& argument = e.children[i];
      if (argument.kind == Expr::Kind::sequence)
        matcher.rest_slot = program_->slot(argument.name);
      else if (next < info.attributes.size())
        field(info.attributes[next++], argument);
      else
        error(argument, fmt::format("{} has no further attribute", info.name));
    }
    for (const auto& [name, value] : e.named) {
      auto spec = std::find_if(info.attributes.begin(), info.attributes.end(),
                               [&name = name](auto& s) { return s.name == name; });
      if (spec == info.attributes.end()) error(value, fmt::format("{} has no attribute '{}'", info.name, name));
      field(*spec, value);
    }
    if (matcher.rest_slot != egraph::kNone) return;
    for (const ir::AttributeSpec& spec : info.attributes) {
      if (std::find(mentioned.begin(), mentioned.end(), spec.name) != mentioned.end()) continue;
      if (!spec.fallback)
        error(e, fmt::format("{} needs its attribute '{}' (or a... for all others)", info.name, spec.name));
      matcher.fields.push_back({std::string(spec.name), language_.intern_value(*spec.fallback)});
    }
  }

  [[noreturn]] void error(const Expr& at, std::string message) const {
    throw Error(ErrorCode::parse, fmt::format("{} in rule '{}': {}", message, source_.name, source_.text),
                fmt::format("{}:{}:{}", source_.file, at.at.line, at.at.column));
  }

  const RuleSource& source_;
  TensorLanguage& language_;
  std::vector<AttributeMatcher>& matchers_;
  RuleProgram* program_ = nullptr;
};

}  // namespace

egraph::Rule RuleCompiler::compile(const RuleSource& source) {
  auto program = std::make_shared<RuleProgram>(source, state_->language, state_->facts);
  egraph::Rule rule;
  rule.name = source.name;
  rule.origin = source.origin();
  LeftSide(source, state_->language, state_->matchers).compile(rule.pattern, *program);
  program->check_names();
  if (!program->literals.empty() || !source.conditions.empty())
    rule.guard = [program](const egraph::EGraph& graph, const egraph::Substitution& match) {
      return program->holds(graph, match);
    };
  rule.applier = egraph::ApplyFunction(
      [program](egraph::EGraph& graph, const egraph::Substitution& match) { return program->apply(graph, match); });
  return rule;
}

bool RuleCompiler::match(uint32_t index, egraph::SymbolId symbol, egraph::AttributeBindings& slots) const {
  const AttributeMatcher& m = state_->matchers[index];
  if (m.set) {
    uint32_t op = state_->language.op(symbol);
    if (op >= ir::kOpCount || !m.set->contains(ir::info(static_cast<ir::Op>(op)))) return false;
  }
  if (m.symbol_slot != egraph::kNone && !slots.bind(m.symbol_slot, symbol.value)) return false;
  if (m.rest_slot != egraph::kNone && !slots.bind(m.rest_slot, symbol.value)) return false;
  for (const AttributeMatcher::Field& field : m.fields) {
    uint32_t value = state_->language.attribute_value(symbol, field.name);
    if (value == egraph::kNone) return false;
    if (field.slot != egraph::kNone ? !slots.bind(field.slot, value) : value != field.literal) return false;
  }
  return true;
}

std::optional<egraph::Refusal> RuleCompiler::can_merge(const egraph::EGraph& graph, egraph::ClassId root,
                                                       egraph::ClassId made) {
  const Facts &a = state_->facts[graph.find(root)], &b = state_->facts[graph.find(made)];
  if (a.types == b.types) return std::nullopt;
  return egraph::Refusal{
      fmt::format("the left side is {}, the right side {}", to_string(a.type()), to_string(b.type()))};
}

}  // namespace weft::passes
