// Search and saturation: patterns of every kind, incremental search, limits, backoff, determinism, the peers' bugs.
#include "egraph/runner.hpp"

#include <fmt/format.h>
#include <tbb/task_arena.h>

#include <random>

#include "ir/support/error.hpp"
#include "tests/catch.hpp"
#include "tests/egraph/workloads.hpp"

using namespace weft::egraph;
using test::Terms;
using test::Workload;

TEST_CASE("a variable that stands twice binds one class, also one that becomes equal later",
          "[egraph][rules][C07][peer-bugs]") {
  Workload w;
  w.rule("(- ?x ?x) => 0");
  w.rule("(max ?x ?x) => ?x");
  w.start("(- a b)"), w.start("(max a b)"), w.start("(- a a)"), w.start("(* (sqrt a) (sqrt b))"),
      w.start("(* (sqrt a) (sqrt a))");
  w.rule("(* (sqrt ?x) (sqrt ?x)) => ?x");
  CHECK(w.run().stop == StopReason::saturated);
  const ClassId zero = w.terms.add(w.graph, "0"), a = w.terms.add(w.graph, "a");
  CHECK(w.graph.find(w.roots[0]) != w.graph.find(zero));
  CHECK(w.graph.find(w.roots[1]) != w.graph.find(a));
  CHECK(w.graph.find(w.roots[2]) == w.graph.find(zero));
  CHECK(w.graph.find(w.roots[3]) != w.graph.find(a));
  CHECK(w.graph.find(w.roots[4]) == w.graph.find(a));
  w.graph.merge(a, w.terms.add(w.graph, "b"));
  w.run();
  CHECK(w.graph.find(w.roots[0]) == w.graph.find(zero));
  CHECK(w.graph.find(w.roots[1]) == w.graph.find(a));
  CHECK(w.graph.find(w.roots[3]) == w.graph.find(a));
  w.graph.check();
}

TEST_CASE("a union made by another rule lets a repeated variable match in the same run",
          "[egraph][rules][C07][peer-bugs]") {
  Workload w;
  w.rule("(- ?x ?x) => 0");
  w.rule("(id ?x) => ?x");
  w.start("(- a (id (id (id a))))");
  w.run();
  CHECK(w.graph.find(w.roots[0]) == w.graph.find(w.terms.add(w.graph, "0")));
}

TEST_CASE("associativity and commutativity on 200 terms stop at the limits, twice alike",
          "[egraph][rules][C01][peer-bugs]") {
  std::string reports[2];
  size_t sizes[2][2];
  for (int again = 0; again < 2; ++again) {
    Workload w;
    for (const char* text :
         {"(+ ?a ?b) => (+ ?b ?a)", "(+ ?a (+ ?b ?c)) => (+ (+ ?a ?b) ?c)", "(+ (+ ?a ?b) ?c) => (+ ?a (+ ?b ?c))",
          "(+ ?x 0) => ?x", "(* ?x 1) => ?x", "(* ?x 0) => 0"})
      w.rule(text);
    w.start(test::chain("+", 200, false));
    Phase phase = test::all_rules(w.rules.size());
    phase.limits = {.nodes = 50'000, .bytes = 256 << 20, .iterations = 30};
    const PhaseReport report = Runner(w.graph, w.rules, &w.terms).run(phase);
    CHECK(report.stop == StopReason::nodes);
    CHECK(w.graph.node_count() <= 50'000);
    REQUIRE(report.grower() != nullptr);
    CHECK(report.text().find("stopped by node limit") != std::string::npos);
    CHECK(report.text().find(report.grower()->name) != std::string::npos);
    w.graph.check();
    sizes[again][0] = w.graph.node_count(), sizes[again][1] = w.graph.class_count();
  }
  CHECK(sizes[0][0] == sizes[1][0]);
  CHECK(sizes[0][1] == sizes[1][1]);
}

TEST_CASE("x*0 and x+0 with ac saturate or stop, never claim what is not so", "[egraph][rules]") {
  Workload w;
  w.rule("(+ ?a ?b) => (+ ?b ?a)");
  w.rule("?x => (+ ?x 0)");
  w.start("(+ a b)");
  Phase phase = test::all_rules(2, 50);
  const PhaseReport report = Runner(w.graph, w.rules, &w.terms).run(phase);
  CHECK(report.stop == StopReason::saturated);
  CHECK(w.graph.find(w.terms.lookup(w.graph, "(+ 0 (+ a b))")) == w.graph.find(w.roots[0]));
  w.graph.check();
}

TEST_CASE("multi-patterns reach later roots through shared variables", "[egraph][rules]") {
  Workload w;
  w.rule("(@ ?x ?a) ; (@ ?x ?b) => (left (@ ?x (cat ?a ?b))) ; (right (@ ?x (cat ?a ?b)))");
  w.start("(@ x a)"), w.start("(@ x b)"), w.start("(@ y c)");
  Phase phase = test::all_rules(1, 1);
  const PhaseReport report = Runner(w.graph, w.rules, &w.terms).run(phase);
  CHECK(report.rules[0].matches == 5);  // (a,a) (a,b) (b,a) (b,b) on x, (c,c) on y
  CHECK(w.graph.find(w.terms.lookup(w.graph, "(left (@ x (cat a b)))")) == w.graph.find(w.roots[0]));
  CHECK(w.graph.find(w.terms.lookup(w.graph, "(right (@ x (cat a b)))")) == w.graph.find(w.roots[1]));
  CHECK_FALSE(w.terms.lookup(w.graph, "(@ x (cat a c))").valid());
  w.graph.check();
}

TEST_CASE("a multi-pattern climbs several levels", "[egraph][rules]") {
  Workload w;
  w.rule("(f ?x) ; (h (g ?x) ?y) => ?y ; (f ?x)");
  w.start("(f a)"), w.start("(h (g a) b)"), w.start("(h (g c) d)");
  w.run();
  CHECK(w.graph.find(w.roots[0]) == w.graph.find(w.roots[1]));
  CHECK(w.graph.find(w.roots[0]) == w.graph.find(w.terms.lookup(w.graph, "b")));
  CHECK(w.graph.find(w.roots[2]) != w.graph.find(w.terms.lookup(w.graph, "d")));
}

namespace {

/// transpose(f(xs...), p) => f(transpose(x, p) for x in xs), for any f of an elementwise op; p is an attribute.
struct Movement : Terms {
  uint32_t transpose = op("transpose"), add_op = op("add"), relu = op("relu"), cat = op("cat");
  bool match(uint32_t matcher, SymbolId symbol, AttributeBindings& slots) const override {
    if (matcher == 0) return SymbolTable::op(symbol) == add_op || SymbolTable::op(symbol) == relu;
    return slots.bind(0, attributes(symbol));
  }
  BuildResult build(uint32_t builder, EGraph& graph, const Substitution& match, const BuildPosition& at) override {
    if (builder == 0) return intern(transpose, match.attributes[0]);
    if (at.children.size() > 2) return Refusal{"too many operands"};
    return graph.symbol(match.sequence_nodes[0]);
  }
  Rule rule() {
    Rule rule;
    rule.name = "transpose-elementwise", rule.origin = "here:1";
    Pattern& p = rule.pattern;
    p.attribute_slots = 1;
    p.root(p.apply(transpose, {p.apply_sequence(Pattern::kAnyOp, 0, 0)}, 1));
    Template t;
    t.root(t.build(1, {t.map(0, t.build(0, {t.element()}))}));
    rule.applier = t;
    return rule;
  }
};

}  // namespace

TEST_CASE("a sequence variable takes all children, and a map builds for each", "[egraph][rules]") {
  Movement terms;
  EGraph graph(terms);
  const ClassId x = graph.add(terms.intern(terms.op("x"))), y = graph.add(terms.intern(terms.op("y")));
  const auto node = [&](uint32_t op, uint32_t attributes, std::vector<ClassId> children) {
    return graph.add(terms.intern(op, attributes), children);
  };
  const ClassId sum = node(terms.transpose, 7, {node(terms.add_op, 0, {x, y})});
  const ClassId one = node(terms.transpose, 9, {node(terms.relu, 3, {x})});
  const ClassId no = node(terms.transpose, 7, {node(terms.cat, 0, {x, y})});
  const ClassId three = node(terms.transpose, 7, {node(terms.add_op, 0, {x, y, x})});
  Runner runner(graph, {terms.rule()}, &terms);
  const PhaseReport report = runner.run(test::all_rules(1));
  CHECK(report.stop == StopReason::saturated);
  CHECK(report.rules[0].applied == 2);
  CHECK(report.rules[0].refused == 1);
  CHECK(report.rules[0].refusals == std::vector<std::string>{"too many operands"});
  CHECK(graph.find(sum) ==
        graph.find(node(terms.add_op, 0, {node(terms.transpose, 7, {x}), node(terms.transpose, 7, {y})})));
  CHECK(graph.find(one) == graph.find(node(terms.relu, 3, {node(terms.transpose, 9, {x})})));
  CHECK(graph.nodes(no).size() == 1);
  CHECK(graph.nodes(three).size() == 1);
}

TEST_CASE("an attribute slot bound twice must agree", "[egraph][rules]") {
  Movement terms;
  EGraph graph(terms);
  const ClassId x = graph.add(terms.intern(terms.op("x")));
  const auto t = [&](uint32_t p, ClassId child) {
    return graph.add(terms.intern(terms.transpose, p), std::vector<ClassId>{child});
  };
  const ClassId same = t(1, t(1, x)), other = t(1, t(2, x));
  Rule rule;
  rule.name = "involution", rule.origin = "here:2";
  rule.pattern.attribute_slots = 1;
  rule.pattern.root(
      rule.pattern.apply(terms.transpose, {rule.pattern.apply(terms.transpose, {rule.pattern.variable(0)}, 1)}, 1));
  Template right;
  right.root(right.variable(0));
  rule.applier = right;
  Runner(graph, {rule}, &terms).run(test::all_rules(1));
  CHECK(graph.find(same) == graph.find(x));
  CHECK(graph.find(other) != graph.find(x));
}

TEST_CASE("C++ appliers, guards, vetoes and native rules", "[egraph][rules]") {
  struct Host : Terms {
    bool may_refuse() const override { return true; }
    std::optional<Refusal> can_merge(const EGraph& graph, ClassId root, ClassId) override {
      for (NodeId node : graph.nodes(root))
        if (name(graph.symbol(node)) == "locked") return Refusal{"locked"};
      return std::nullopt;
    }
  } host;
  EGraph graph(host);
  const ClassId a = host.add(graph, "(f a)"), b = host.add(graph, "(f b)"), locked = host.add(graph, "locked");
  graph.merge(locked, host.add(graph, "(f c)"));
  Rule plain = host.rule("guarded", "(f ?x) => (g ?x)", [&](const EGraph& g, const Substitution& match) {
    return host.name(g.symbol(g.nodes(match.classes[0])[0])) != "b";
  });
  Rule code = host.rule("code", "(g ?x) => ?x");
  code.applier = [&](EGraph& g, const Substitution& match) -> ApplyResult {
    if (!host.lookup(g, "(f a)").valid()) return Refusal{"no a"};
    return std::vector<ClassId>{g.add(host.intern(host.op("h")), std::vector<ClassId>{match.classes[0]})};
  };
  int runs = 0;
  Rule native;
  native.name = "native", native.origin = "here:3";
  native.applier = [&](NativeContext& context) {
    ++runs;
    for (NodeId node : context.frozen().nodes_of_op(host.op("h")))
      if (context.frozen().changed(node) > context.since() && context.proceed())
        context.merge(context.frozen().class_of(node), host.add(context.graph(), "seen"));
  };
  Runner runner(graph, {plain, code, native}, &host);
  const PhaseReport report = runner.run(test::all_rules(3));
  CHECK(report.stop == StopReason::saturated);
  CHECK(graph.find(a) == graph.find(host.lookup(graph, "seen")));
  CHECK(graph.find(b) != graph.find(a));
  CHECK_FALSE(host.lookup(graph, "(g b)").valid());
  CHECK(report.rules[0].refused == 1);
  CHECK(report.rules[0].refusals[0] == "locked");
  CHECK(runs >= 3);
  CHECK(report.rules[2].applied == 2);  // h(a), and h(c) of the g(c) that was made but not merged
  graph.check();
}

TEST_CASE("malformed rules are refused with their names", "[egraph][rules]") {
  Terms terms;
  EGraph graph(terms);
  const auto refuses = [&](Rule rule, const char* text) {
    CHECK_THROWS_WITH(Runner(graph, {std::move(rule)}, &terms), Catch::Contains(text) && Catch::Contains("test:r"));
  };
  refuses(terms.rule("r", "(f ?x) => (g ?y)"), "variable 1");
  refuses(terms.rule("r", "(f ?x) ; (g ?y) => ?x ; ?y"), "shares no variable");
  refuses(terms.rule("r", "(f ?x) ; (g ?x) => ?x"), "2 left roots but 1 right roots");
  Rule empty;
  empty.name = "r", empty.origin = "test:r", empty.applier = Template();
  refuses(empty, "without roots");
  Phase phase = test::all_rules(3);
  CHECK_THROWS_AS(Runner(graph, {}, &terms).run(phase), weft::Error);
}

TEST_CASE("an error in an applier names the rule", "[egraph][rules]") {
  Terms terms;
  EGraph graph(terms);
  terms.add(graph, "(f x)");
  Rule rule = terms.rule("bad", "(f ?x) => ?x");
  rule.applier = [](EGraph&, const Substitution&) -> ApplyResult {
    weft::fail(weft::ErrorCode::type_mismatch, "shapes differ");
  };
  CHECK_THROWS_WITH(Runner(graph, {rule}, &terms).run(test::all_rules(1)),
                    Catch::Contains("bad") && Catch::Contains("shapes differ"));
}

// --- limits and backoff -------------------------------------------------------------------------------------------

TEST_CASE("every limit stops, says so, and holds", "[egraph][limits]") {
  const auto run = [](Limits limits) {
    auto work = test::micro();
    Phase phase = test::all_rules(work->rules.size());
    phase.limits = limits;
    const PhaseReport report = Runner(work->graph, work->rules, &work->terms).run(phase);
    work->graph.check();
    CHECK(work->graph.node_limit() == 0);
    return std::tuple(report, work->graph.node_count(), work->graph.bytes());
  };
  {
    const auto [report, nodes, bytes] = run({.nodes = 5000, .iterations = 20});
    CHECK(report.stop == StopReason::nodes);
    CHECK(nodes <= 5000);
    CHECK(nodes > 2000);
  }
  {
    const auto [report, nodes, bytes] = run({.bytes = 1 << 20, .iterations = 20});
    CHECK(report.stop == StopReason::bytes);
    CHECK(bytes <= (1 << 20) + 4096);
  }
  {
    const auto [report, nodes, bytes] = run({.iterations = 3});
    CHECK(report.stop == StopReason::iterations);
    CHECK(report.iterations.size() == 3);
  }
  {
    const auto [report, nodes, bytes] = run({.iterations = 20, .fuel = 30'000});
    const auto [again, nodes_again, bytes_again] = run({.iterations = 20, .fuel = 30'000});
    CHECK(report.stop == StopReason::fuel);
    CHECK(nodes == nodes_again);
    CHECK(report.fuel == again.fuel);
  }
  {
    const auto [report, nodes, bytes] = run({.milliseconds = 1});
    CHECK(report.stop == StopReason::time);
    CHECK(report.seconds < 5);
  }
}

TEST_CASE("backoff bans, and never claims saturation while a rule is banned", "[egraph][limits]") {
  const auto run = [](Backoff backoff, Limits limits) {
    auto work = test::ac(6);
    Phase phase = test::all_rules(work->rules.size());
    phase.backoff = backoff, phase.limits = limits;
    const PhaseReport report = Runner(work->graph, work->rules, &work->terms).run(phase);
    return std::pair(report, work->graph.node_count());
  };
  const auto [report, nodes] = run({20, 2}, {});
  CHECK(report.stop == StopReason::saturated);
  CHECK(report.rules[0].times_banned + report.rules[1].times_banned > 0);
  CHECK(nodes == 729 - 128 + 1 + 6);  // bans delay, they lose nothing
  const auto [early, fewer] = run({20, 1000}, {.iterations = 6});
  CHECK(early.stop != StopReason::saturated);
  CHECK(fewer < nodes);
}

TEST_CASE("phases run one after another with their own rules", "[egraph]") {
  Workload w;
  w.rule("(f ?x) => (g ?x)");
  w.rule("(g ?x) => (h ?x)");
  w.start("(f x)");
  Phase first = test::all_rules(2), second = first;
  first.rules = {1}, second.rules = {0};
  const Report report = Runner(w.graph, w.rules, &w.terms).run({first, second});
  CHECK(report.phases.size() == 2);
  CHECK(w.terms.lookup(w.graph, "(g x)").valid());
  CHECK_FALSE(w.terms.lookup(w.graph, "(h x)").valid());
}

// --- determinism and incremental search ----------------------------------------------------------------------------

namespace {

std::string picture(const EGraph& graph) {
  std::string text;
  for (uint32_t id = 0; id < graph.id_bound(); ++id) {
    const NodeId node(id);
    text += fmt::format("{}:{}:{}", id, graph.class_of(node).value, graph.live(node));
    for (ClassId child : graph.children(node)) text += fmt::format(",{}", child.value);
    text += '\n';
  }
  return text;
}

}  // namespace

TEST_CASE("the graph is the same on 1, 2 and 8 threads", "[egraph][threads]") {
  std::string expected;
  for (int threads : {1, 2, 8}) {
    tbb::task_arena arena(threads);
    const std::string got = arena.execute([] {
      auto work = test::micro();
      work->run(8);
      return picture(work->graph);
    });
    if (expected.empty()) expected = got;
    CHECK(got == expected);
  }
}

TEST_CASE("random graphs and rules: incremental search finds what full search finds, invariants hold",
          "[egraph][property]") {
  std::mt19937 random(23);
  const std::vector<std::string> pool = {"(a ?x ?y) => (a ?y ?x)",
                                         "(a ?x (a ?y ?z)) => (a (a ?x ?y) ?z)",
                                         "(b (a ?x ?y)) => (a (b ?x) (b ?y))",
                                         "(a (b ?x) (b ?y)) => (b (a ?x ?y))",
                                         "(b (b ?x)) => ?x",
                                         "(a ?x ?x) => (b ?x)",
                                         "(a ?x c) => ?x",
                                         "(a (b ?x) ?x) => c",
                                         "(b ?x) ; (a ?x ?y) => (a c ?x) ; (a ?y ?x)",
                                         "(a (a ?x ?y) (a ?x ?z)) => (a ?x (a ?y ?z))",
                                         "(b c) => c",
                                         "(a ?x (b ?y)) ; (b ?x) => (a (b ?y) ?x) ; (b (b (b ?x)))"};
  for (int round = 0; round < 60; ++round) {
    const uint32_t seed = random();
    std::vector<size_t> sizes;
    for (const bool incremental : {true, false}) {
      std::mt19937 local(seed);
      Workload w;
      const size_t count = 2 + local() % 4;
      for (size_t i = 0; i < count; ++i) w.rule(pool[local() % pool.size()]);
      for (Rule& rule : w.rules) rule.incremental = incremental;
      std::vector<std::string> terms = {"c", "d", "e"};
      for (int i = 0; i < 8; ++i) {
        const auto any = [&] { return terms[local() % terms.size()]; };
        const std::string x = any(), y = any();
        terms.push_back(local() % 3 ? "(a " + x + " " + y + ")" : "(b " + x + ")");
      }
      w.start(terms.back()), w.start(terms[terms.size() - 2]);
      for (int iteration = 0; iteration < 5; ++iteration) {
        Phase phase = test::all_rules(w.rules.size(), iteration + 1);
        phase.limits.nodes = 4000;
        EGraph graph = w.graph;
        const PhaseReport report = Runner(graph, w.rules, &w.terms).run(phase);
        graph.check();
        if (report.stop == StopReason::nodes) break;
        sizes.push_back(graph.node_count()), sizes.push_back(graph.class_count());
      }
    }
    INFO("round " << round);
    REQUIRE(sizes.size() % 2 == 0);
    const size_t half = sizes.size() / 2;
    REQUIRE(std::vector<size_t>(sizes.begin(), sizes.begin() + half) ==
            std::vector<size_t>(sizes.begin() + half, sizes.end()));
  }
}
