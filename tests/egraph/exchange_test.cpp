// What leaves and enters the engine: JSON, pictures, explanations, Boost.Graph.
#include <boost/graph/strong_components.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "egraph/boost_graph.hpp"
#include "egraph/dot.hpp"
#include "egraph/explain.hpp"
#include "egraph/json.hpp"
#include "ir/support/error.hpp"
#include "tests/catch.hpp"
#include "tests/egraph/workloads.hpp"

using namespace weft::egraph;
using test::Workload;

TEST_CASE("JSON is read back as it was written", "[egraph][json]") {
  const auto work = test::ac(4);
  work->run();
  const FrozenGraph frozen(work->graph);
  const std::string text = write_json(frozen, work->roots);
  const JsonGraph read = read_json(text);
  CHECK(read.graph->node_count() == work->graph.node_count());
  CHECK(read.graph->class_count() == work->graph.class_count());
  CHECK(read.roots.size() == 1);
  read.graph->check();
  const FrozenGraph again(*read.graph);
  const auto one = [](NodeId) { return std::optional<uint64_t>(1); };
  CHECK(extract(again, read.roots, one).cost == extract(frozen, work->roots, one).cost);
  const JsonGraph congruent = read_json(text, true);
  CHECK(congruent.graph->node_count() == work->graph.node_count());
}

TEST_CASE("malformed JSON is an error that names the place", "[egraph][json]") {
  const auto refuses = [](const char* text, const char* what) {
    CHECK_THROWS_WITH(read_json(text), Catch::Contains(what));
  };
  refuses("", "parse error");
  refuses("[1]", "expected an object");
  refuses("{}", "'nodes'");
  refuses(R"({"nodes":[]})", "object of nodes");
  refuses(R"({"nodes":{"a":3}})", "node 'a'");
  refuses(R"({"nodes":{"a":{"op":"x"}}})", "'eclass'");
  refuses(R"({"nodes":{"a":{"eclass":"0"}}})", "'op'");
  refuses(R"({"nodes":{"a":{"op":"x","eclass":"0","children":["b"]}}})", "child 'b'");
  refuses(R"({"nodes":{"a":{"op":"x","eclass":"0","cost":"high"}}})", "'cost'");
  refuses(R"({"nodes":{"a":{"op":"x","eclass":"0"}},"root_eclasses":["7"]})", "class '7'");
  CHECK_THROWS_AS(read_json(std::string(200'000, '[')), weft::Error);
}

namespace {

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

/// Graphviz's own verdict, where it is installed.
bool graphviz_accepts(const std::string& dot) {
  if (std::system("dot -V > /dev/null 2>&1") != 0) return true;
  const std::string path = std::string(std::tmpnam(nullptr)) + ".dot";
  std::ofstream(path) << dot;
  const int result = std::system(("dot -Tsvg " + path + " > /dev/null 2> " + path + ".err").c_str());
  std::ifstream err(path + ".err");
  const std::string complaints((std::istreambuf_iterator<char>(err)), {});
  std::remove(path.c_str()), std::remove((path + ".err").c_str());
  INFO(complaints);
  CHECK(complaints.empty());
  return result == 0;
}

}  // namespace

TEST_CASE("a picture holds every class, node and operand, and Graphviz reads it", "[egraph][dot]") {
  Workload w;
  w.rule("(+ ?a ?b) => (+ ?b ?a)");
  w.start("(+ x (* y y))");
  w.run();
  w.graph.merge(w.terms.add(w.graph, "(f x)"), w.terms.add(w.graph, "x"));
  w.graph.rebuild();
  const FrozenGraph frozen(w.graph);
  DotOptions options;
  options.roots = w.roots;
  const ExtractResult result = extract(frozen, w.roots, [](NodeId) { return std::optional<uint64_t>(1); });
  options.extraction = &result;
  options.facts = [](ClassId) { return std::string("f32[2x3] \"quoted\""); };
  const std::string dot = write_dot(frozen, options);
  CHECK(count(dot, "PORT=\"c\"") == frozen.class_count());
  CHECK(count(dot, "PORT=\"n") == frozen.node_count());
  CHECK(count(dot, "->") == 7);
  CHECK(count(dot, "BGCOLOR=\"#fde68a\"") == 4);
  CHECK(count(dot, "taillabel") == 6);  // f has one operand: no need to say which
  CHECK(count(dot, "more") == 0);
  CHECK(graphviz_accepts(dot));
}

TEST_CASE("what a picture leaves out is counted in it", "[egraph][dot]") {
  const auto work = test::ac(5);
  work->run();
  const FrozenGraph frozen(work->graph);
  DotOptions options;
  options.roots = work->roots, options.max_nodes = 20;
  std::string dot = write_dot(frozen, options);
  CHECK(count(dot, "PORT=\"n") == 20);
  CHECK(count(dot, "PORT=\"c\"") == 20);                     // one of each class, breadth first
  CHECK(dot.find(">+29 more<") != std::string::npos);        // 30 forms of the sum
  CHECK(dot.find("+11 more classes") != std::string::npos);  // of 31
  CHECK(graphviz_accepts(dot));
  options.max_nodes = 1000, options.depth = 0;
  dot = write_dot(frozen, options);
  CHECK(count(dot, "PORT=\"c\"") == 1);
  CHECK(dot.find("+30 more classes") != std::string::npos);
  options.roots = {ClassId(1u << 30)};
  CHECK_THROWS_AS(write_dot(frozen, options), weft::Error);
}

TEST_CASE("hostile names do not break a picture", "[egraph][dot]") {
  struct Hostile : SymbolTable {
    std::string text;
    std::string name(SymbolId) const override { return text; }
  } symbols;
  for (std::string text : {std::string("a\"]; evil [label=\"{x|<p0>\\\n}"), std::string("</TD></TABLE>>]; x"),
                           std::string("&amp; &nope; &#0;"), std::string("\0\x01\x1b\x7f\xff\xc0\x80\xed\xa0\x80", 10),
                           std::string("\xef\xbf\xbf\xef\xbf\xbe"), std::string(), std::string(" "),
                           std::string("]]>-->\\N\\G\xe2\x80\xa8"), std::string(5000, '<')}) {
    symbols.text = text;
    EGraph graph(symbols);
    graph.add(symbols.intern(1), std::vector<ClassId>{graph.add(symbols.intern(0))});
    DotOptions options;
    options.facts = [&](ClassId) { return text; };
    const std::string dot = write_dot(FrozenGraph(graph), options);
    INFO(dot);
    CHECK(count(dot, "->") == 1);
    CHECK(count(dot, "PORT=\"c\"") == 2);
    CHECK(graphviz_accepts(dot));
  }
}

TEST_CASE("a chain of rewrites is explained with its rules", "[egraph][explain]") {
  Workload w;
  w.graph.record_merges();
  w.rule("(id ?x) => ?x");
  w.rule("(* ?x 2) => (+ ?x ?x)");
  w.start("(f (* (id a) 2))");
  const ClassId goal = w.terms.add(w.graph, "(f (+ a a))");
  w.run();
  REQUIRE(w.graph.find(w.roots[0]) == w.graph.find(goal));
  const std::vector<ExplainStep> steps = explain(w.graph, w.roots[0], goal);
  const std::string text = explanation_text(w.graph, steps, w.rules);
  INFO(text);
  CHECK(text.find("f(*(id(a), 2)) = f(+(a, a))  by equal operands") == 0);
  CHECK(text.find("by (* ?x 2) => (+ ?x ?x) (test:") != std::string::npos);
  const NodeId id_a =
      w.graph.lookup_node(w.terms.intern(w.terms.op("id")), std::vector<ClassId>{w.terms.lookup(w.graph, "a")});
  const NodeId a = w.graph.lookup_node(w.terms.intern(w.terms.op("a")));
  const auto given = explain(w.graph, EGraph::class_alias(id_a), EGraph::class_alias(a));
  CHECK(explanation_text(w.graph, given, w.rules).find("id(a) = a  by (id ?x) => ?x (test:") == 0);
  CHECK_THROWS_AS(explain(w.graph, w.roots[0], w.terms.add(w.graph, "a")), weft::Error);
}

TEST_CASE("explanations are chains: each step begins where the last one ended", "[egraph][explain]") {
  auto work = test::micro();
  EGraph graph(work->terms);
  graph.record_merges();
  std::vector<ClassId> roots;
  for (const char* term : test::kStartTerms) roots.push_back(work->terms.add(graph, term));
  Runner(graph, work->rules, &work->terms).run(test::all_rules(work->rules.size(), 5));
  graph.check();
  size_t explained = 0;
  for (ClassId root : roots)
    for (NodeId node : graph.nodes(root)) {
      const std::vector<ExplainStep> steps = explain(graph, root, EGraph::class_alias(node));
      NodeId at(root.value);
      for (const ExplainStep& step : steps) {
        REQUIRE(graph.class_of(step.left) == graph.class_of(step.right));
        if (step.depth) continue;
        REQUIRE(step.left == at);
        at = step.right;
      }
      REQUIRE(at == node);
      ++explained;
    }
  CHECK(explained > 30);
}

TEST_CASE("Boost.Graph's algorithms run on a frozen graph", "[egraph][boost]") {
  Workload w;
  w.start("(f (g x))");
  w.graph.merge(w.terms.add(w.graph, "x"), w.terms.add(w.graph, "(h (g x))"));  // x and g(x) form a cycle
  w.graph.rebuild();
  const FrozenGraph frozen(w.graph);
  const ClassGraph view(frozen);
  std::vector<int> component(num_vertices(view));
  const auto map = boost::make_iterator_property_map(component.begin(), get(boost::vertex_index, view));
  CHECK(boost::strong_components(view, map) == 2);
}
