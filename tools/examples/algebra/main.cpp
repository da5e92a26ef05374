// algebra: simplifies formulas over the integers with nothing but weft's e-graph engine. Shows what a host language
// brings: symbols with names, an analysis (constants), rules, a cost.
//   algebra '(a*2)/2 + 0' 'x*y + x*z'
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "egraph/extract.hpp"
#include "egraph/runner.hpp"
#include "ir/support/error.hpp"

using namespace weft::egraph;

namespace {

/// Ops are single characters; a number's or variable's attributes tell which.
class Algebra : public SymbolTable {
 public:
  SymbolId number(int64_t value) { return intern('#', id_of(std::to_string(value))); }
  SymbolId variable(const std::string& name) { return intern('v', id_of(name)); }
  std::optional<int64_t> value(SymbolId id) const {
    return op(id) == '#' ? std::optional<int64_t>(std::stoll(texts_[attributes(id)])) : std::nullopt;
  }
  std::string name(SymbolId id) const override {
    return op(id) == '#' || op(id) == 'v' ? texts_[attributes(id)] : std::string(1, static_cast<char>(op(id)));
  }

 private:
  uint32_t id_of(const std::string& text) {
    const auto [at, fresh] = ids_.try_emplace(text, static_cast<uint32_t>(texts_.size()));
    if (fresh) texts_.push_back(text);
    return at->second;
  }
  std::map<std::string, uint32_t> ids_;
  std::vector<std::string> texts_;
};

/// The analysis: what is known to be a constant. Overflow is not known.
class Constants : public Analysis {
 public:
  explicit Constants(Algebra& algebra) : algebra_(algebra) {}
  std::optional<int64_t> of(ClassId id) const { return known_[id.value]; }

  void make(EGraph& graph, NodeId node, ClassId id) override {
    known_.resize(std::max<size_t>(known_.size(), id.value + 1));
    known_[id.value] = fold(graph, node);
  }
  bool join(EGraph&, ClassId into, ClassId from) override {
    auto &a = known_[into.value], &b = known_[from.value];
    if (a && b && *a != *b) weft::fail(weft::ErrorCode::internal, "{} = {}: a rule is wrong", *a, *b);
    const bool changed = a.has_value() != b.has_value();
    if (!a) a = b;
    return changed;
  }
  bool update(EGraph& graph, NodeId node, ClassId id) override {
    if (known_[id.value]) return false;
    known_[id.value] = fold(graph, node);
    return known_[id.value].has_value();
  }
  void modify(EGraph& graph, ClassId id) override {
    if (known_[id.value]) graph.merge(id, graph.add(algebra_.number(*known_[id.value])));
  }

 private:
  std::optional<int64_t> fold(const EGraph& graph, NodeId node) const {
    if (graph.arity(node) != 2) return algebra_.value(graph.symbol(node));
    const auto a = of(graph.find(graph.children(node)[0])), b = of(graph.find(graph.children(node)[1]));
    int64_t result = 0;
    if (!a || !b) return std::nullopt;
    switch (graph.op(node)) {
      case '+':
        return __builtin_add_overflow(*a, *b, &result) ? std::nullopt : std::optional(result);
      case '-':
        return __builtin_sub_overflow(*a, *b, &result) ? std::nullopt : std::optional(result);
      case '*':
        return __builtin_mul_overflow(*a, *b, &result) ? std::nullopt : std::optional(result);
      default:
        return std::nullopt;
    }
  }
  Algebra& algebra_;
  std::vector<std::optional<int64_t>> known_;
};

/// Reads sums of products of primaries, and builds each part through `Build` (leaf(text), apply(op, left, right)).
template <typename Build>
class Parser {
 public:
  using Value = decltype(std::declval<Build>().leaf(std::string()));
  Parser(std::string text, Build& build) : text_(std::move(text)), build_(build) {}
  Value parse() {
    const Value value = level(0, 0);
    if (peek()) fail("an operator or the end");
    return value;
  }

 private:
  Value level(int precedence, int depth) {
    static const std::string_view kOperators[] = {"+-", "*/"};
    if (depth > 500) fail("no deeper nesting");
    if (precedence == 2) return primary(depth);
    Value left = level(precedence + 1, depth);
    while (peek() && kOperators[precedence].find(peek()) != std::string_view::npos) {
      const char op = text_[at_++];
      left = build_.apply(op, left, level(precedence + 1, depth));
    }
    return left;
  }
  Value primary(int depth) {
    if (peek() == '(') {
      ++at_;
      const Value inner = level(0, depth + 1);
      if (peek() != ')') fail("')'");
      ++at_;
      return inner;
    }
    const size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
    if (start == at_ || at_ - start > 15) fail("a name or number of at most 15 letters");
    return build_.leaf(text_.substr(start, at_ - start));
  }
  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  [[noreturn]] void fail(const char* expected) {
    weft::fail(weft::ErrorCode::parse, "'{}' at {}: expected {}", text_, at_, expected);
  }
  std::string text_;
  size_t at_ = 0;
  Build& build_;
};

bool is_number(const std::string& text) { return text.find_first_not_of("0123456789") == std::string::npos; }

struct TermBuild {
  Algebra& algebra;
  EGraph& graph;
  ClassId leaf(const std::string& text) {
    return graph.add(is_number(text) ? algebra.number(std::stoll(text)) : algebra.variable(text));
  }
  ClassId apply(char op, ClassId a, ClassId b) { return graph.add(algebra.intern(op), std::vector<ClassId>{a, b}); }
};
/// In rules, names are variables of the pattern; a number must be that very number.
struct PatternBuild {
  Algebra& algebra;
  Pattern& pattern;
  std::map<std::string, uint32_t>& names;
  Pattern::Part leaf(const std::string& text) {
    if (is_number(text)) return pattern.apply('#', {}, algebra.attributes(algebra.number(std::stoll(text))));
    return pattern.variable(names.try_emplace(text, static_cast<uint32_t>(names.size())).first->second);
  }
  Pattern::Part apply(char op, Pattern::Part a, Pattern::Part b) { return pattern.apply(op, {a, b}); }
};
struct TemplateBuild {
  Algebra& algebra;
  Template& right;
  std::map<std::string, uint32_t>& names;
  Template::Part leaf(const std::string& text) {
    return is_number(text) ? right.apply(algebra.number(std::stoll(text))) : right.variable(names.at(text));
  }
  Template::Part apply(char op, Template::Part a, Template::Part b) { return right.apply(algebra.intern(op), {a, b}); }
};

struct Host : RuleHost {
  explicit Host(const Algebra& a) : algebra(a) {}
  bool match(uint32_t matcher, SymbolId symbol, AttributeBindings&) const override {
    return algebra.attributes(symbol) == matcher;
  }
  const Algebra& algebra;
};

std::vector<Rule> rules_of(Algebra& algebra) {
  const char* const lines[][2] = {{"a + b", "b + a"},
                                  {"a * b", "b * a"},
                                  {"a + (b + c)", "(a + b) + c"},
                                  {"a * (b * c)", "(a * b) * c"},
                                  {"a - b", "a + (0 - 1) * b"},
                                  {"a + 0", "a"},
                                  {"a * 0", "0"},
                                  {"a * 1", "a"},
                                  {"a - a", "0"},
                                  {"a * b + a * c", "a * (b + c)"},
                                  {"a + a", "a * 2"},
                                  {"(a * 2) / 2", "a"}};
  std::vector<Rule> rules;
  for (const auto& [left, right] : lines) {
    Rule rule;
    std::map<std::string, uint32_t> names;
    rule.name = fmt::format("{} => {}", left, right), rule.origin = fmt::format("algebra:{}", rules.size() + 1);
    PatternBuild pattern{algebra, rule.pattern, names};
    rule.pattern.root(Parser(left, pattern).parse());
    Template made;
    TemplateBuild build{algebra, made, names};
    made.root(Parser(right, build).parse());
    rule.applier = std::move(made);
    rules.push_back(std::move(rule));
  }
  return rules;
}

std::string print(const FrozenGraph& graph, const ExtractResult& result, ClassId id) {
  std::map<uint32_t, std::string> text;
  for (NodeId node : chosen_order(graph, std::vector<ClassId>{id}, result)) {
    const auto children = graph.children(node);
    const std::string name = graph.symbols().name(graph.symbol(node));
    text[graph.class_of(node).value] =
        children.empty() ? name : fmt::format("({} {} {})", text[children[0].value], name, text[children[1].value]);
  }
  return text[graph.find(id).value];
}

void simplify(const std::string& formula) {
  Algebra algebra;
  Constants constants(algebra);
  EGraph graph(algebra, &constants);
  Host host(algebra);
  TermBuild build{algebra, graph};
  const ClassId root = Parser(formula, build).parse();
  Runner runner(graph, rules_of(algebra), &host);
  Phase phase{"all", {}, {.nodes = 20'000, .iterations = 12}, {}, {}};
  for (uint32_t i = 0; i < runner.rules().size(); ++i) phase.rules.push_back(i);
  const PhaseReport report = runner.run(phase);
  const FrozenGraph frozen(graph);
  const std::vector<ClassId> roots{graph.find(root)};
  const ExtractResult result = extract(frozen, roots, [&](NodeId node) -> std::optional<uint64_t> {
    return graph.arity(node) == 0 ? 1 : graph.op(node) == '/' ? 20 : graph.op(node) == '*' ? 4 : 2;
  });
  fmt::print("{}  =>  {}  ({}, cost {}{})\n", formula, print(frozen, result, roots[0]), to_string(report.stop),
             result.cost, result.proven ? ", proven" : "");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    for (int i = 1; i < argc; ++i) simplify(argv[i]);
    if (argc == 1)
      for (const char* formula : {"(a * 2) / 2 + 0", "x * y + x * z", "2 + 3 * 4 - (a - a)", "(a + b) - b"})
        simplify(formula);
  } catch (const weft::Error& error) {
    fmt::print(stderr, "algebra: {}\n", error.what());
    return 1;
  }
}
