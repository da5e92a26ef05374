#pragma once
// The public e-graph workloads with exact answers: micro, ac, mm (egraph/README.md tells the sizes).
#include <memory>
#include <string>
#include <vector>

#include "tests/egraph/term_language.hpp"

namespace weft::egraph::test {

struct Workload {
  Terms terms;
  EGraph graph{terms};
  std::vector<Rule> rules;
  std::vector<ClassId> roots;

  void rule(const std::string& text, Guard guard = {}) { rules.push_back(terms.rule(text, text, std::move(guard))); }
  void start(const std::string& text) { roots.push_back(terms.add(graph, text)); }
  PhaseReport run(size_t iterations = 0) {
    const Phase phase = all_rules(rules.size(), iterations);
    return Runner(graph, rules, &terms).run(phase);
  }
};

inline const char* const kCalculusRules[] = {
    "(d ?x (+ ?a ?b)) => (+ (d ?x ?a) (d ?x ?b))",
    "(d ?x (* ?a ?b)) => (+ (* ?a (d ?x ?b)) (* ?b (d ?x ?a)))",
    "(d ?x (sin ?x)) => (cos ?x)",
    "(d ?x (cos ?x)) => (* -1 (sin ?x))",
    "(i 1 ?x) => ?x",
    "(i (cos ?x) ?x) => (sin ?x)",
    "(i (sin ?x) ?x) => (* -1 (cos ?x))",
    "(i (+ ?f ?g) ?x) => (+ (i ?f ?x) (i ?g ?x))",
    "(i (- ?f ?g) ?x) => (- (i ?f ?x) (i ?g ?x))",
    "(i (* ?a ?b) ?x) => (- (* ?a (i ?b ?x)) (i (* (d ?x ?a) (i ?b ?x)) ?x))",
};

inline const char* const kStartTerms[] = {
    "(i (ln x) x)",
    "(i (+ x (cos x)) x)",
    "(i (* (cos x) x) x)",
    "(d x (+ 1 (* 2 x)))",
    "(d x (- (pow x 3) (* 7 (pow x 2))))",
    "(+ (* y (+ x y)) (- (+ x 2) (+ x x)))",
    "(/ 1 (- (/ (+ 1 (sqrt five)) 2) (/ (- 1 (sqrt five)) 2)))",
};

inline std::unique_ptr<Workload> micro() {
  auto work = std::make_unique<Workload>();
  Workload& w = *work;
  for (const char* text :
       {"(+ ?a ?b) => (+ ?b ?a)", "(* ?a ?b) => (* ?b ?a)", "(+ ?a (+ ?b ?c)) => (+ (+ ?a ?b) ?c)",
        "(* ?a (* ?b ?c)) => (* (* ?a ?b) ?c)", "(- ?a ?b) => (+ ?a (* -1 ?b))", "(+ ?a 0) => ?a", "(* ?a 0) => 0",
        "(* ?a 1) => ?a", "(- ?a ?a) => 0", "(* ?a (+ ?b ?c)) => (+ (* ?a ?b) (* ?a ?c))",
        "(+ (* ?a ?b) (* ?a ?c)) => (* ?a (+ ?b ?c))", "(* (pow ?a ?b) (pow ?a ?c)) => (pow ?a (+ ?b ?c))",
        "(pow ?x 1) => ?x", "(pow ?x 2) => (* ?x ?x)"})
    w.rule(text);
  for (const char* text : kCalculusRules) w.rule(text);
  for (const char* text : kStartTerms) w.start(text);
  return work;
}

inline std::string chain(const std::string& op, int n, bool left) {
  std::string text = left ? "x1" : "x" + std::to_string(n);
  for (int i = 2; i <= n; ++i)
    text = left ? "(" + op + " " + text + " x" + std::to_string(i) + ")"
                : "(" + op + " x" + std::to_string(n + 1 - i) + " " + text + ")";
  return text;
}

inline std::unique_ptr<Workload> ac(int n) {
  auto work = std::make_unique<Workload>();
  Workload& w = *work;
  w.rule("(+ ?a ?b) => (+ ?b ?a)");
  w.rule("(+ ?a (+ ?b ?c)) => (+ (+ ?a ?b) ?c)");
  w.start(chain("+", n, false));
  return work;
}

inline std::unique_ptr<Workload> mm(int n) {
  auto work = std::make_unique<Workload>();
  Workload& w = *work;
  w.rule("(@ (@ ?a ?b) ?c) => (@ ?a (@ ?b ?c))");
  w.rule("(@ ?a (@ ?b ?c)) => (@ (@ ?a ?b) ?c)");
  w.start(chain("@", n, true));
  return work;
}

}  // namespace weft::egraph::test
