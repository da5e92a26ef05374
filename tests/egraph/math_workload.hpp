#pragma once
// The math workload: rules with conditions, and an analysis that folds constants and prunes a folded class to its
// leaves.
#include <cmath>
#include <memory>
#include <optional>

#include "tests/egraph/workloads.hpp"

namespace weft::egraph::test {

class MathFacts : public Analysis {
 public:
  explicit MathFacts(Terms& terms) : terms_(terms) {}
  std::optional<double> value(ClassId id) const { return values_[id.value]; }
  void restore(const MathFacts& snapshot) { values_ = snapshot.values_; }

  void make(EGraph& graph, NodeId node, ClassId id) override {
    if (id.value >= values_.size()) values_.resize(2 * id.value + 1);
    values_[id.value] = compute(graph, node);
  }
  bool join(EGraph&, ClassId into, ClassId from) override {
    auto &a = values_[into.value], &b = values_[from.value];
    const bool changed = a.has_value() != b.has_value();
    if (!a) a = b;
    return changed;
  }
  bool update(EGraph& graph, NodeId node, ClassId id) override {
    if (values_[id.value]) return false;
    values_[id.value] = compute(graph, node);
    return values_[id.value].has_value();
  }
  void modify(EGraph& graph, ClassId id) override {
    if (!values_[id.value]) return;
    graph.merge(id, graph.add(terms_.number(*values_[id.value])));
    graph.prune(id, [&](NodeId node) { return graph.arity(node) == 0; });
  }

 private:
  std::optional<double> compute(EGraph& graph, NodeId node) const {
    if (graph.op(node) == Terms::kNumber) return terms_.value(graph.symbol(node));
    const auto children = graph.children(node);
    if (children.size() != 2) return std::nullopt;
    const auto a = values_[graph.find(children[0]).value], b = values_[graph.find(children[1]).value];
    if (!a || !b) return std::nullopt;
    const std::string& op = terms_.op_name(graph.op(node));
    if (op == "+") return *a + *b;
    if (op == "-") return *a - *b;
    if (op == "*") return *a * *b;
    if (op == "/" && *b != 0) return *a / *b;
    return std::nullopt;
  }
  Terms& terms_;
  std::vector<std::optional<double>> values_;
};

struct MathWorkload {
  Terms terms;
  MathFacts facts{terms};
  EGraph graph{terms, &facts};
  std::vector<Rule> rules;

  MathWorkload() {
    for (const char* text : {"(+ ?a ?b) => (+ ?b ?a)", "(* ?a ?b) => (* ?b ?a)", "(+ ?a (+ ?b ?c)) => (+ (+ ?a ?b) ?c)",
                             "(* ?a (* ?b ?c)) => (* (* ?a ?b) ?c)", "(- ?a ?b) => (+ ?a (* -1 ?b))"})
      rule(text);
    rule("(/ ?a ?b) => (* ?a (pow ?b -1))", nz("b"));
    for (const char* text :
         {"(+ ?a 0) => ?a", "(* ?a 0) => 0", "(* ?a 1) => ?a", "?a => (+ ?a 0)", "?a => (* ?a 1)", "(- ?a ?a) => 0"})
      rule(text);
    rule("(/ ?a ?a) => 1", nz("a"));
    for (const char* text :
         {"(* ?a (+ ?b ?c)) => (+ (* ?a ?b) (* ?a ?c))", "(+ (* ?a ?b) (* ?a ?c)) => (* ?a (+ ?b ?c))",
          "(* (pow ?a ?b) (pow ?a ?c)) => (pow ?a (+ ?b ?c))"})
      rule(text);
    rule("(pow ?x 0) => 1", nz("x"));
    rule("(pow ?x 1) => ?x");
    rule("(pow ?x 2) => (* ?x ?x)");
    rule("(pow ?x -1) => (/ 1 ?x)", nz("x"));
    rule("(* ?x (/ 1 ?x)) => 1", nz("x"));
    rule("(d ?x ?x) => 1", symbol("x"));
    rule("(d ?x ?c) => 0", both(symbol("x"), constant_or_other("c", "x")));
    for (const char* text : kCalculusRules) rule(text);
    rule("(d ?x (ln ?x)) => (/ 1 ?x)", nz("x"));
    rule("(d ?x (pow ?f ?g)) => (* (pow ?f ?g) (+ (* (d ?x ?f) (/ ?g ?f)) (* (d ?x ?g) (ln ?f))))",
         both(nz("f"), nz("g")));
    rule("(i (pow ?x ?c) ?x) => (/ (pow ?x (+ ?c 1)) (+ ?c 1))", constant("c"));
  }

  using Condition = std::function<Guard(Terms&)>;
  void rule(const std::string& text, const Condition& condition = {}) {
    Rule made = terms.rule(text, text);
    if (condition) made.guard = condition(terms);
    rules.push_back(std::move(made));
  }
  Condition nz(const std::string& name) {
    return [this, name](Terms& t) -> Guard {
      return [this, v = t.variable(name)](const EGraph&, const Substitution& match) {
        return facts.value(match.classes[v]) != 0.0;
      };
    };
  }
  Condition constant(const std::string& name) {
    return [this, name](Terms& t) -> Guard {
      return [this, v = t.variable(name)](const EGraph&, const Substitution& match) {
        return facts.value(match.classes[v]).has_value();
      };
    };
  }
  Condition symbol(const std::string& name) {
    return [this, name](Terms& t) -> Guard {
      return [this, v = t.variable(name)](const EGraph& g, const Substitution& match) {
        return has_symbol(g, match.classes[v]);
      };
    };
  }
  Condition constant_or_other(const std::string& c, const std::string& x) {
    return [this, c, x](Terms& t) -> Guard {
      return [this, a = t.variable(c), b = t.variable(x)](const EGraph& g, const Substitution& match) {
        return match.classes[a] != match.classes[b] &&
               (facts.value(match.classes[a]) || has_symbol(g, match.classes[a]));
      };
    };
  }
  static Condition both(Condition a, Condition b) {
    return [a, b](Terms& t) -> Guard {
      return [x = a(t), y = b(t)](const EGraph& g, const Substitution& match) { return x(g, match) && y(g, match); };
    };
  }
  bool has_symbol(const EGraph& g, ClassId id) const {
    bool found = false;
    g.for_each_node(id, [&](NodeId node) { found |= g.arity(node) == 0 && g.op(node) != Terms::kNumber; });
    return found;
  }

  PhaseReport run(const Limits& limits, Backoff backoff = {}) {
    Phase phase = all_rules(rules.size());
    phase.limits = limits, phase.backoff = backoff;
    return Runner(graph, rules, &terms).run(phase);
  }

  /// The number of symbols in the smallest term of a class.
  uint64_t ast_size(ClassId root) const {
    std::vector<uint64_t> best(graph.id_bound(), UINT64_MAX);
    for (bool changed = true; changed;) {
      changed = false;
      for (ClassId id : graph.classes())
        graph.for_each_node(id, [&](NodeId node) {
          uint64_t size = 1;
          for (ClassId child : graph.children(node))
            size = best[child.value] == UINT64_MAX ? UINT64_MAX : size == UINT64_MAX ? size : size + best[child.value];
          if (size < best[id.value]) best[id.value] = size, changed = true;
        });
    }
    return best[graph.find(root).value];
  }
};

}  // namespace weft::egraph::test
