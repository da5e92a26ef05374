// The live form: adding, merging, rebuilding, analysis, limits; random graphs with every invariant checked.
#include "egraph/egraph.hpp"

#include <random>

#include "egraph/frozen.hpp"
#include "ir/support/error.hpp"
#include "tests/catch.hpp"
#include "tests/egraph/term_language.hpp"

using namespace weft::egraph;
using test::Terms;

namespace {

/// Interval analysis over sums of numbers; two different constants in one class are an error.
class Constants : public Analysis {
 public:
  explicit Constants(Terms& terms) : terms_(terms) {}
  std::vector<std::optional<double>> value;
  int updates = 0;

  void make(EGraph& graph, NodeId node, ClassId id) override {
    value.resize(std::max<size_t>(value.size(), id.value + 1));
    value[id.value] = compute(graph, node);
  }
  bool join(EGraph&, ClassId into, ClassId from) override {
    std::optional<double>&a = value[into.value], &b = value[from.value];
    if (a && b && *a != *b) weft::fail(weft::ErrorCode::type_mismatch, "{} and {} in one class", *a, *b);
    const bool changed = a.has_value() != b.has_value();
    if (!a) a = b;
    return changed;
  }
  bool update(EGraph& graph, NodeId node, ClassId id) override {
    ++updates;
    if (value[id.value]) return false;
    value[id.value] = compute(graph, node);
    return value[id.value].has_value();
  }
  void modify(EGraph& graph, ClassId id) override {
    if (!value[id.value]) return;
    const double v = *value[id.value];
    graph.merge(id, graph.add(terms_.number(v)));
  }

 private:
  std::optional<double> compute(EGraph& graph, NodeId node) {
    if (graph.op(node) == Terms::kNumber) return terms_.value(graph.symbol(node));
    if (terms_.op_name(graph.op(node)) != "+") return std::nullopt;
    double sum = 0;
    for (ClassId child : graph.children(node)) {
      const auto& v = value[graph.find(child).value];
      if (!v) return std::nullopt;
      sum += *v;
    }
    return sum;
  }
  Terms& terms_;
};

}  // namespace

TEST_CASE("equal terms are one class, and lookup inserts nothing", "[egraph]") {
  Terms terms;
  EGraph graph(terms);
  const ClassId a = terms.add(graph, "(+ x (* 2 y))");
  CHECK(terms.add(graph, "(+ x (* 2 y))") == a);
  CHECK(graph.node_count() == 5);
  CHECK_FALSE(terms.lookup(graph, "(+ y x)").valid());
  CHECK(terms.lookup(graph, "(* 2 y)") != a);
  CHECK(graph.node_count() == 5);
}

TEST_CASE("congruence reaches the top after a merge at the leaves", "[egraph]") {
  Terms terms;
  EGraph graph(terms);
  const ClassId left = terms.add(graph, "(f (g (h x)) (h x))"), right = terms.add(graph, "(f (g (h y)) (h y))");
  CHECK(graph.find(left) != graph.find(right));
  graph.merge(terms.add(graph, "x"), terms.add(graph, "y"));
  CHECK(graph.rebuild() == 3);
  CHECK(graph.find(left) == graph.find(right));
  CHECK(graph.node_count() == 5);
  CHECK(graph.class_count() == 4);
  graph.check();
}

TEST_CASE("x merged with f(x) is a finite cycle", "[egraph]") {
  Terms terms;
  EGraph graph(terms);
  const ClassId x = terms.add(graph, "x"), fx = terms.add(graph, "(f (f (f x)))");
  graph.merge(x, terms.add(graph, "(f x)"));
  graph.rebuild();
  graph.check();
  CHECK(graph.find(x) == graph.find(fx));
  CHECK(graph.class_count() == 1);
  CHECK(graph.node_count() == 2);
}

TEST_CASE("uses and members are found again after merges", "[egraph]") {
  Terms terms;
  EGraph graph(terms);
  const ClassId x = terms.add(graph, "x");
  terms.add(graph, "(f x x)"), terms.add(graph, "(g x y)"), terms.add(graph, "(f y z)");
  CHECK(graph.uses(x).size() == 2);
  graph.merge(x, terms.add(graph, "y"));
  graph.rebuild();
  CHECK(graph.uses(x).size() == 3);
  CHECK(graph.nodes(x).size() == 2);
  const FrozenGraph frozen(graph);
  CHECK(frozen.uses(graph.find(x)).size() == 3);
  CHECK(frozen.uses(graph.find(x), terms.op("f")).size() == 2);
  CHECK(frozen.nodes_of_op(terms.op("f")).size() == 2);
  graph.check();
}

TEST_CASE("an analysis folds constants upwards, also after later merges", "[egraph][analysis]") {
  Terms terms;
  Constants constants(terms);
  EGraph graph(terms, &constants);
  CHECK(terms.add(graph, "(+ 1 (+ 2 3))") == terms.add(graph, "6"));
  const ClassId deep = terms.add(graph, "(+ 1 (+ x (+ 2 2)))");
  CHECK_FALSE(constants.value[graph.find(deep).value]);
  graph.merge(terms.add(graph, "x"), terms.add(graph, "10"));
  graph.rebuild();
  CHECK(graph.find(deep) == graph.find(terms.add(graph, "15")));
  graph.check();
}

TEST_CASE("two facts that contradict in one class are an error of the merge", "[egraph][analysis]") {
  Terms terms;
  Constants constants(terms);
  EGraph graph(terms, &constants);
  CHECK_THROWS_AS(graph.merge(terms.add(graph, "1"), terms.add(graph, "2")), weft::Error);
}

TEST_CASE("facts climb a chain of 100,000 without recursion", "[egraph][analysis]") {
  Terms terms;
  Constants constants(terms);
  EGraph graph(terms, &constants);
  const SymbolId plus = terms.intern(terms.op("+"));
  const ClassId one = terms.add(graph, "1");
  ClassId top = terms.add(graph, "x");
  for (int i = 0; i < 100'000; ++i) top = graph.add(plus, std::vector<ClassId>{top, one});
  graph.merge(terms.add(graph, "x"), terms.add(graph, "0"));
  graph.rebuild();
  CHECK(constants.value[graph.find(top).value] == 100'000.0);
  graph.check();
}

TEST_CASE("pruned nodes leave search and counts, but adding them again finds their class", "[egraph]") {
  Terms terms;
  EGraph graph(terms);
  const ClassId sum = terms.add(graph, "(+ x y)");
  graph.merge(sum, terms.add(graph, "z"));
  graph.rebuild();
  graph.prune(sum, [&](NodeId node) { return graph.arity(node) == 0; });
  CHECK(graph.node_count() == 3);
  CHECK(FrozenGraph(graph).nodes_of_op(terms.op("+")).empty());
  CHECK(graph.find(terms.add(graph, "(+ x y)")) == graph.find(sum));
  CHECK(graph.node_count() == 3);
  graph.merge(terms.add(graph, "x"), terms.add(graph, "y"));
  graph.rebuild();
  graph.check();
}

TEST_CASE("the node limit is never exceeded", "[egraph]") {
  Terms terms;
  EGraph graph(terms);
  graph.set_limits(4, 0);
  CHECK_THROWS_AS(terms.add(graph, "(f a b c d e)"), weft::Error);
  CHECK(graph.node_count() == 4);
  CHECK(graph.full());
  graph.check();
}

TEST_CASE("a copy is a snapshot", "[egraph]") {
  Terms terms;
  EGraph graph(terms);
  const ClassId fx = terms.add(graph, "(f x)"), fy = terms.add(graph, "(f y)");
  const EGraph before = graph;
  graph.merge(terms.add(graph, "x"), terms.add(graph, "y"));
  graph.rebuild();
  CHECK(graph.find(fx) == graph.find(fy));
  graph = before;
  CHECK(graph.find(fx) != graph.find(fy));
  graph.check();
}

// --- properties -------------------------------------------------------------------------------------------------

namespace {

/// Congruence by brute force over all nodes ever made: the reference for rebuild.
class NaiveCongruence {
 public:
  uint32_t find(uint32_t id) {
    while (parent[id] != id) id = parent[id];
    return id;
  }
  void close() {
    for (bool changed = true; changed;) {
      changed = false;
      std::map<std::vector<uint32_t>, uint32_t> seen;
      for (uint32_t i = 0; i < terms.size(); ++i) {
        std::vector<uint32_t> key{terms[i].first};
        for (uint32_t child : terms[i].second) key.push_back(find(child));
        const auto [at, fresh] = seen.try_emplace(key, i);
        if (fresh || find(at->second) == find(i)) continue;
        parent[find(i)] = find(at->second);
        changed = true;
      }
    }
  }
  std::vector<uint32_t> parent;
  std::vector<std::pair<uint32_t, std::vector<uint32_t>>> terms;
};

}  // namespace

TEST_CASE("random adds and merges: invariants hold and congruence equals brute force", "[egraph][property]") {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    Terms terms;
    EGraph graph(terms);
    NaiveCongruence naive;
    std::vector<ClassId> ids;
    for (int step = 0; step < 120; ++step) {
      const uint32_t what = random() % 10;
      if (ids.size() < 3 || what < 6) {
        const uint32_t op = random() % 4, arity = ids.empty() ? 0 : op % 3;
        std::vector<ClassId> children;
        std::vector<uint32_t> raw;
        for (uint32_t i = 0; i < arity; ++i) raw.push_back(random() % ids.size()), children.push_back(ids[raw.back()]);
        ids.push_back(EGraph::class_alias(graph.add_node(terms.intern(op, arity ? 0 : random() % 5), children)));
        naive.parent.push_back(static_cast<uint32_t>(naive.parent.size()));
        naive.terms.push_back({op * 100 + (arity ? 0 : terms.attributes(graph.symbol(NodeId(ids.back().value)))), raw});
      } else if (what < 8) {
        const uint32_t a = random() % ids.size(), b = random() % ids.size();
        graph.merge(ids[a], ids[b]);
        naive.parent[naive.find(a)] = naive.find(b);
      } else {
        graph.rebuild();
        graph.check();
      }
    }
    graph.rebuild();
    graph.check();
    naive.close();
    for (uint32_t a = 0; a < ids.size(); ++a)
      for (uint32_t b = 0; b < a; ++b)
        REQUIRE((graph.find(ids[a]) == graph.find(ids[b])) == (naive.find(a) == naive.find(b)));
    const FrozenGraph frozen(graph);
    REQUIRE(frozen.node_count() == graph.node_count());
    REQUIRE(frozen.class_count() == graph.class_count());
    for (ClassId id : frozen.classes()) {
      std::vector<NodeId> members(frozen.nodes(id).begin(), frozen.nodes(id).end()),
          uses(frozen.uses(id).begin(), frozen.uses(id).end());
      std::sort(members.begin(), members.end());
      std::sort(uses.begin(), uses.end());
      REQUIRE(members == graph.nodes(id));
      REQUIRE(uses == graph.uses(id));
    }
  }
}
