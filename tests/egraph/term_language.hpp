#pragma once
// A small language of terms for tests: symbols by name, numbers as constants, rules as s-expressions.
#include <bit>
#include <cctype>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "egraph/runner.hpp"

namespace weft::egraph::test {

/// "(+ a (* 2 ?x))": names are ops, numbers are constants (op "num", attributes = index of the value), ?x a variable.
class Terms : public SymbolTable, public RuleHost {
 public:
  Terms() { op("num"); }
  static constexpr uint32_t kNumber = 0;

  uint32_t op(const std::string& name) {
    const auto [at, fresh] = ops_.try_emplace(name, static_cast<uint32_t>(names_.size()));
    if (fresh) names_.push_back(name);
    return at->second;
  }
  const std::string& op_name(uint32_t op) const { return names_[op]; }
  uint32_t number_id(double value) {
    const auto [at, fresh] =
        number_ids_.try_emplace(std::bit_cast<uint64_t>(value), static_cast<uint32_t>(numbers_.size()));
    if (fresh) numbers_.push_back(value);
    return at->second;
  }
  SymbolId number(double value) { return intern(kNumber, number_id(value)); }
  double value(SymbolId id) const { return numbers_[attributes(id)]; }
  std::string name(SymbolId id) const override {
    if (SymbolTable::op(id) != kNumber) return names_[SymbolTable::op(id)];
    std::string text = std::to_string(value(id));
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text;
  }
  bool may_refuse() const override { return false; }
  /// A pattern's number is an attribute matcher: the index of the value.
  bool match(uint32_t matcher, SymbolId symbol, AttributeBindings&) const override {
    return attributes(symbol) == matcher;
  }

  ClassId add(EGraph& graph, std::string_view text) {
    return term<ClassId>(
        text, [](uint32_t) -> ClassId { throw std::runtime_error("a variable in a term"); },
        [&](const std::string& head, const std::vector<ClassId>& children) {
          return graph.add(symbol(head), children);
        });
  }
  ClassId lookup(const EGraph& graph, std::string_view text) {
    return term<ClassId>(
        text, [](uint32_t) -> ClassId { throw std::runtime_error("a variable in a term"); },
        [&](const std::string& head, const std::vector<ClassId>& children) {
          for (ClassId child : children)
            if (!child.valid()) return ClassId();
          return graph.lookup(symbol(head), children);
        });
  }
  /// "left => right", several roots separated by ";".
  Rule rule(const std::string& name, const std::string& text, Guard guard = {}) {
    variables_.clear();
    const size_t arrow = text.find("=>");
    Rule rule;
    rule.name = name, rule.origin = "test:" + name, rule.guard = std::move(guard);
    for (std::string_view part : split(std::string_view(text).substr(0, arrow)))
      rule.pattern.root(term<Pattern::Part>(
          part, [&](uint32_t v) { return rule.pattern.variable(v); },
          [&](const std::string& head, const std::vector<Pattern::Part>& children) {
            const SymbolId id = symbol(head);
            return rule.pattern.apply(SymbolTable::op(id), children,
                                      SymbolTable::op(id) == kNumber ? attributes(id) : kNone);
          }));
    Template right;
    for (std::string_view part : split(std::string_view(text).substr(arrow + 2)))
      right.root(term<Template::Part>(
          part, [&](uint32_t v) { return right.variable(v); },
          [&](const std::string& head, const std::vector<Template::Part>& children) {
            return right.apply(symbol(head), children);
          }));
    rule.applier = std::move(right);
    return rule;
  }
  /// The number of the variable ?name in the rule parsed last.
  uint32_t variable(const std::string& name) { return variables_.at("?" + name); }

 private:
  static bool numeric(const std::string& s) {
    return std::isdigit(static_cast<unsigned char>(s[0])) || (s[0] == '-' && s.size() > 1);
  }
  SymbolId symbol(const std::string& head) { return numeric(head) ? number(std::stod(head)) : intern(op(head)); }
  static std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> parts;
    for (size_t at; (at = text.find(';')) != std::string_view::npos; text.remove_prefix(at + 1))
      parts.push_back(text.substr(0, at));
    parts.push_back(text);
    return parts;
  }

  /// Builds bottom up with an explicit stack: terms may be deep.
  template <typename T, typename Variable, typename Apply>
  T term(std::string_view text, Variable&& on_variable, Apply&& on_apply) {
    struct Open {
      std::string head;
      std::vector<T> children;
    };
    std::vector<Open> stack(1);
    for (size_t i = 0; i < text.size();) {
      if (std::isspace(static_cast<unsigned char>(text[i]))) {
        ++i;
      } else if (text[i] == '(') {
        const size_t end = text.find_first_of(" )", i);
        stack.push_back({std::string(text.substr(i + 1, end - i - 1)), {}});
        i = end;
      } else if (text[i] == ')') {
        Open done = std::move(stack.back());
        stack.pop_back();
        stack.back().children.push_back(on_apply(done.head, done.children));
        ++i;
      } else {
        const size_t end = std::min(text.find_first_of(" )", i), text.size());
        const std::string token(text.substr(i, end - i));
        stack.back().children.push_back(
            token[0] == '?'
                ? on_variable(variables_.try_emplace(token, static_cast<uint32_t>(variables_.size())).first->second)
                : on_apply(token, {}));
        i = end;
      }
    }
    if (stack.size() != 1 || stack[0].children.size() != 1)
      throw std::runtime_error("malformed term " + std::string(text));
    return stack[0].children[0];
  }

  std::map<std::string, uint32_t> ops_, variables_;
  std::vector<std::string> names_;
  std::map<uint64_t, uint32_t> number_ids_;
  std::vector<double> numbers_;
};

/// All rules in one phase without limits but the iterations (0 = to saturation).
inline Phase all_rules(size_t rules, size_t iterations = 0) {
  Phase phase;
  phase.name = "all";
  for (uint32_t i = 0; i < rules; ++i) phase.rules.push_back(i);
  phase.limits.iterations = iterations;
  return phase;
}

}  // namespace weft::egraph::test
