// Every workload gives one graph, bit for bit: again and again, on any number of threads, with or without a host that
// must be asked, and after a rollback.
#include <fmt/format.h>
#include <tbb/task_arena.h>

#include "tests/catch.hpp"
#include "tests/egraph/math_workload.hpp"

using namespace weft::egraph;
using namespace weft::egraph::test;

namespace {

/// Everything there is to see in a graph, in the order of ids.
std::string dump(const EGraph& graph) {
  std::string text;
  for (uint32_t id = 0; id < graph.id_bound(); ++id) {
    const NodeId node(id);
    text += fmt::format("{}:{}:{}:{}", id, graph.symbol(node).value, graph.class_of(node).value, graph.live(node));
    for (ClassId child : graph.children(node)) text += fmt::format(",{}", child.value);
    text += '\n';
  }
  return text;
}

std::string run_math(size_t iterations) {
  MathWorkload w;
  for (const char* term : kStartTerms) w.terms.add(w.graph, term);
  w.run({.iterations = iterations});
  w.graph.check();
  return dump(w.graph);
}

std::string run(std::unique_ptr<Workload> work, size_t iterations) {
  work->run(iterations);
  work->graph.check();
  return dump(work->graph);
}

struct Named {
  const char* name;
  std::function<std::string()> run;
};

const Named kWorkloads[] = {{"micro 7", [] { return run(micro(), 7); }},
                            {"ac 7", [] { return run(ac(7), 0); }},
                            {"mm 16", [] { return run(mm(16), 0); }},
                            {"math 5", [] { return run_math(5); }}};

}  // namespace

TEST_CASE("twenty runs of every workload give one graph", "[egraph][determinism]") {
  for (const Named& workload : kWorkloads) {
    INFO(workload.name);
    const std::string first = workload.run();
    for (int again = 1; again < 20; ++again) REQUIRE(workload.run() == first);
  }
}

TEST_CASE("every workload gives one graph on 1, 2 and 8 threads", "[egraph][determinism][threads]") {
  for (const Named& workload : kWorkloads) {
    INFO(workload.name);
    std::string expected;
    for (int threads : {1, 2, 8}) {
      tbb::task_arena arena(threads);
      const std::string got = arena.execute([&] { return workload.run(); });
      if (threads == 1) expected = got;
      REQUIRE(got == expected);
    }
  }
}

TEST_CASE("a host that must be asked changes nothing where it refuses nothing", "[egraph][determinism]") {
  struct Asked : RuleHost {
    explicit Asked(Terms& of) : terms(of) {}
    bool match(uint32_t matcher, SymbolId symbol, AttributeBindings& slots) const override {
      return terms.match(matcher, symbol, slots);
    }
    std::optional<Refusal> can_merge(const EGraph&, ClassId, ClassId) override { return ++times, std::nullopt; }
    Terms& terms;
    size_t times = 0;
  };
  for (auto* start : {+[] { return micro(); }, +[] { return ac(7); }, +[] { return mm(16); }}) {
    const std::unique_ptr<Workload> direct = start(), asked = start();
    const PhaseReport report = direct->run(7);
    Asked host(asked->terms);
    const PhaseReport other = Runner(asked->graph, asked->rules, &host).run(all_rules(asked->rules.size(), 7));
    CHECK(host.times > 100);
    CHECK(dump(direct->graph) == dump(asked->graph));
    for (size_t i = 0; i < report.rules.size(); ++i) {
      CHECK(report.rules[i].applied == other.rules[i].applied);
      CHECK(report.rules[i].nodes_grown == other.rules[i].nodes_grown);
    }
    for (size_t i = 0; i < report.iterations.size(); ++i)
      CHECK(report.iterations[i].merges == other.iterations[i].merges);
  }
}

TEST_CASE("a graph rolled back is as it was, and a run from there is the run again", "[egraph][snapshot]") {
  const std::unique_ptr<Workload> work = micro();
  work->run(4);
  const EGraph snapshot = work->graph;
  const std::string before = dump(snapshot);
  work->run(3);
  const std::string after = dump(work->graph);
  CHECK(after != before);
  CHECK(dump(snapshot) == before);
  work->graph = snapshot;
  work->graph.check();
  CHECK(dump(work->graph) == before);
  CHECK(work->graph.node_count() == snapshot.node_count());
  CHECK(work->graph.class_count() == snapshot.class_count());
  work->run(3);
  work->graph.check();
  CHECK(dump(work->graph) == after);
}

TEST_CASE("facts that contradict are undone by a rollback of graph and analysis", "[egraph][snapshot]") {
  MathWorkload w;
  const ClassId sum = w.terms.add(w.graph, "(+ 1 2)"), x = w.terms.add(w.graph, "(* x y)");
  w.run({.iterations = 3});
  const EGraph snapshot = w.graph;
  const MathFacts facts = w.facts;
  const std::string before = dump(w.graph);
  w.graph.merge(x, sum);
  w.graph.rebuild();
  CHECK(w.facts.value(w.graph.find(x)) == 3.0);
  w.graph = snapshot, w.facts.restore(facts);
  CHECK(dump(w.graph) == before);
  CHECK_FALSE(w.facts.value(w.graph.find(x)).has_value());
  CHECK(w.facts.value(w.graph.find(sum)) == 3.0);
  w.graph.check();
}

TEST_CASE("the report names the rule that grew the graph", "[egraph][report]") {
  Workload w;
  w.rule("(f ?x) => (once ?x)");
  w.rule("(g ?x) => (g (h ?x))");
  w.rule("(once ?x) => (f ?x)");
  w.start("(f a)"), w.start("(g a)");
  const PhaseReport report = w.run(10);
  REQUIRE(report.grower() != nullptr);
  CHECK(report.grower()->name == "(g ?x) => (g (h ?x))");
  CHECK(report.grower()->nodes_grown == 20);
  CHECK(report.rules[0].nodes_grown == 1);
  CHECK(report.rules[2].nodes_grown == 0);
  CHECK(report.text().find("grown most by (g ?x) => (g (h ?x))") != std::string::npos);
}
