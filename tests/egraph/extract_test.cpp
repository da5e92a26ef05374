// Extraction against brute force on small random graphs, on known shapes, and on extraction-gym's files where they are.
#include "egraph/extract.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <sstream>

#include "egraph/extraction/answer.hpp"
#include "egraph/json.hpp"
#include "ir/support/error.hpp"
#include "ir/support/log.hpp"
#include "tests/catch.hpp"
#include "tests/egraph/puzzle.hpp"
#include "tests/egraph/workloads.hpp"

using namespace weft::egraph;
using test::costs_of;
using test::Puzzle;

namespace {

Puzzle random_puzzle(std::mt19937& random) {
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  Puzzle puzzle;
  puzzle.classes = 2 + below(6);
  const uint32_t most_cost = below(3) == 0 ? 2 : 12;
  for (uint32_t id = 0; id < puzzle.classes; ++id) {
    const uint32_t members = 1 + below(3);
    for (uint32_t i = 0; i < members; ++i) {
      Puzzle::Node node{id, {}, below(most_cost)};
      if (below(12) == 0) node.cost.reset();
      const uint32_t arity = id + 1 == puzzle.classes ? below(2) : below(4);
      for (uint32_t c = 0; c < arity; ++c)  // mostly down, sometimes up or to itself
        node.children.push_back(below(4) == 0 || id + 1 == puzzle.classes ? below(puzzle.classes)
                                                                          : id + 1 + below(puzzle.classes - id - 1));
      puzzle.nodes.push_back(std::move(node));
    }
  }
  const uint32_t roots = 1 + below(3);
  for (uint32_t i = 0; i < roots; ++i) puzzle.roots.push_back(below(puzzle.classes));
  return puzzle;
}

}  // namespace

TEST_CASE("extraction equals brute force on random cyclic graphs", "[egraph][extract]") {
  std::mt19937 random(7);
  int solvable = 0, shared_pays = 0;
  for (int round = 0; round < 4000; ++round) {
    const Puzzle puzzle = random_puzzle(random);
    const std::optional<uint64_t> best = puzzle.oracle().best;
    const JsonGraph graph = puzzle.graph();
    const FrozenGraph frozen(*graph.graph);
    INFO("round " << round << ": " << write_json(frozen, graph.roots));
    if (!best) {
      CHECK_THROWS_AS(extract(frozen, graph.roots, costs_of(graph)), weft::Error);
      continue;
    }
    ++solvable;
    const ExtractResult result = extract(frozen, graph.roots, costs_of(graph));
    REQUIRE(result.cost == *best);
    REQUIRE(result.proven);
    REQUIRE(result.stats.repairs == 0);
    REQUIRE(choice_cost(frozen, graph.roots, result.choice, costs_of(graph)) == *best);
    shared_pays += result.stats.tree_cost > *best;
    const ExtractResult hasty = extract(frozen, graph.roots, costs_of(graph), {.fuel = 0});
    REQUIRE(hasty.cost >= *best);
    REQUIRE(hasty.lower_bound <= *best);
  }
  CHECK(solvable > 2000);
  CHECK(shared_pays > 50);  // otherwise the test would not see sharing at all
}

TEST_CASE("a shared class is paid once", "[egraph][extract]") {
  // root = pair(a, b); a = 3 or via s (1), b = 3 or via s (1), s = 3: two times 3 costs 6, sharing costs 5.
  Puzzle puzzle{4, {{0, {1, 2}, 0}, {1, {}, 3}, {1, {3}, 1}, {2, {}, 3}, {2, {3}, 1}, {3, {}, 3}}, {0}};
  const JsonGraph graph = puzzle.graph();
  const ExtractResult result = extract(FrozenGraph(*graph.graph), graph.roots, costs_of(graph));
  CHECK(result.cost == 5);
  CHECK(result.proven);
  CHECK(result.stats.tree_cost == 6);
}

TEST_CASE("an answer that a part found before its bound rose counts", "[egraph][extract]") {
  // Each root needs the three edges of a triangle, each by one of its corners; two corners of three are the least.
  Puzzle triangles{14, {}, {0, 1}};
  const auto triangle = [&](uint32_t root, uint32_t edges, uint32_t corners, const std::vector<uint64_t>& costs) {
    for (uint32_t i = 0; i < 3; ++i) {
      triangles.nodes.push_back({corners + i, {}, costs[i]});
      triangles.nodes.push_back({edges + i, {corners + i}, 0});
      triangles.nodes.push_back({edges + i, {corners + (i + 1) % 3}, 0});
    }
    triangles.nodes.push_back({root, {edges, edges + 1, edges + 2}, 0});
  };
  triangle(0, 2, 8, {7, 7, 1});
  triangle(1, 5, 11, {5, 1, 5});
  // The second part is left with a bound above its best answer, which lies among the nodes dropped on the way.
  Puzzle covers{
      14,
      {{9, {}, 1},   {10, {}, 4},  {11, {}, 4},       {2, {9}, 0}, {2, {10}, 0}, {3, {10}, 0}, {3, {11}, 0},
       {4, {11}, 0}, {4, {9}, 0},  {0, {2, 3, 4}, 0}, {12, {}, 2}, {13, {}, 2},  {5, {}, 1},   {5, {12}, 0},
       {6, {12}, 0}, {6, {13}, 0}, {7, {13}, 0},      {7, {}, 1},  {8, {}, 1},   {8, {13}, 0}, {1, {5, 6, 7, 8}, 0}},
      {0, 1}};
  for (const Puzzle* puzzle : {&triangles, &covers}) {
    const JsonGraph graph = puzzle->graph();
    const ExtractResult result = extract(FrozenGraph(*graph.graph), graph.roots, costs_of(graph));
    CHECK(result.cost == *puzzle->oracle().best);
    CHECK(result.proven);
    CHECK(result.stats.repairs == 0);
  }
  CHECK(triangles.oracle().best == 14);
}

TEST_CASE("what the search found is refused where it is no choice", "[egraph][extract]") {
  // 0 = f(1, 2), 1 = 3 or g(2), 2 = 4 or g(1); the safe answer takes both leaves.
  Puzzle puzzle{3, {{0, {1, 2}, 0}, {1, {}, 3}, {1, {2}, 1}, {2, {}, 4}, {2, {1}, 1}}, {0}};
  const JsonGraph graph = puzzle.graph();
  const FrozenGraph frozen(*graph.graph);
  const auto offer = [&](std::initializer_list<const char*> names, uint64_t cost) {
    extraction::Offer made{{}, cost};
    for (const char* name : names)
      for (uint32_t i = 0; i < graph.node_names.size(); ++i)
        if (graph.node_names[i] == name) made.picks.push_back(NodeId(i));
    return made;
  };
  const extraction::Offer safe = offer({"n0", "n1", "n3"}, 7);
  const auto answer = [&](const extraction::Offer& found) {
    return extraction::checked_answer(frozen, graph.roots, costs_of(graph), found, safe);
  };
  CHECK(answer(offer({"n0", "n1", "n4"}, 4)).cost == 4);
  CHECK(answer(offer({"n0", "n1", "n4"}, 4)).fault.empty());
  for (const extraction::Offer& wrong :
       {offer({}, 0), offer({"n0", "n1"}, 3), offer({"n0", "n2", "n4"}, 2), offer({"n0", "n1", "n4"}, 3)}) {
    const extraction::Answer repaired = answer(wrong);
    CHECK_FALSE(repaired.fault.empty());
    CHECK(repaired.cost == 7);
    CHECK(choice_cost(frozen, graph.roots, repaired.choice, costs_of(graph)) == 7);
  }
  CHECK_THROWS_AS(extraction::checked_answer(frozen, graph.roots, costs_of(graph), offer({}, 0), offer({}, 0)),
                  weft::Error);
}

TEST_CASE("an extraction that goes wrong is repaired, counted and told", "[egraph][extract]") {
  // Tree and greedy pay 3 twice, the search shares s. The fault is injected through the costs: when the answer is added
  // up again, s costs more than the search was told, or may not be chosen at all.
  Puzzle puzzle{4, {{0, {1, 2}, 0}, {1, {}, 3}, {1, {3}, 1}, {2, {}, 3}, {2, {3}, 1}, {3, {}, 3}}, {0}};
  const JsonGraph graph = puzzle.graph();
  const FrozenGraph frozen(*graph.graph);
  const NodeCost honest = costs_of(graph);
  for (const std::optional<uint64_t> later : {std::optional<uint64_t>(4), std::optional<uint64_t>()}) {
    int asked = 0;
    const NodeCost faulty = [&](NodeId node) -> std::optional<uint64_t> {
      return graph.node_names[node.value] == "n5" && asked++ > 0 ? later : honest(node);
    };
    std::vector<std::string> warnings;
    weft::set_log_sink([&](weft::LogLevel, std::string_view line) { warnings.emplace_back(line); });
    const ExtractResult result = extract(frozen, graph.roots, faulty);
    weft::set_log_sink({});
    CHECK(asked == 2);  // the search's answer was tried, the repaired one lacks s
    CHECK(result.stats.repairs == 1);
    CHECK(result.cost == 6);
    CHECK(choice_cost(frozen, graph.roots, result.choice, honest) == 6);
    CHECK_FALSE(result.proven);
    CHECK(result.lower_bound == 0);
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].find("a greedy answer of cost 6 stands in for a wrong one of cost 5") != std::string::npos);
  }
  CHECK(extract(frozen, graph.roots, honest).stats.repairs == 0);
}

TEST_CASE("zero-cost cycles are not taken for an answer", "[egraph][extract]") {
  Puzzle puzzle{2, {{0, {1}, 0}, {1, {0}, 0}, {1, {}, 9}}, {0}};
  const JsonGraph graph = puzzle.graph();
  CHECK(extract(FrozenGraph(*graph.graph), graph.roots, costs_of(graph)).cost == 9);
}

TEST_CASE("a root without a finite choice is an error that names it", "[egraph][extract]") {
  Puzzle puzzle{2, {{0, {1}, 0}, {1, {0}, 0}}, {0}};
  const JsonGraph graph = puzzle.graph();
  CHECK_THROWS_WITH(extract(FrozenGraph(*graph.graph), graph.roots, costs_of(graph)),
                    Catch::Contains("no choice of finite cost"));
}

TEST_CASE("costs that overflow are refused", "[egraph][extract]") {
  Puzzle puzzle{2, {{0, {1}, 0}, {1, {}, 0}}, {0}};
  const JsonGraph graph = puzzle.graph();
  const NodeCost huge = [](NodeId) { return uint64_t{1} << 62; };
  CHECK_THROWS_AS(extract(FrozenGraph(*graph.graph), graph.roots, huge), weft::Error);
}

TEST_CASE("a chain of 100,000 classes is extracted", "[egraph][extract]") {
  test::Terms terms;
  EGraph graph(terms);
  const SymbolId f = terms.intern(terms.op("f")), g = terms.intern(terms.op("g"));
  ClassId top = graph.add(terms.intern(terms.op("x")));
  for (int i = 0; i < 100'000; ++i) {
    const ClassId other = graph.add(g, std::vector<ClassId>{top, top});
    top = graph.merge(graph.add(f, std::vector<ClassId>{top}), other);
    if (i % 1000 == 0) graph.rebuild();
  }
  graph.rebuild();
  const std::vector<ClassId> roots{graph.find(top)};
  const ExtractResult result =
      extract(FrozenGraph(graph), roots, [&](NodeId node) { return graph.op(node) == terms.op("g") ? 5u : 2u; });
  CHECK(result.cost == 200'002);
  CHECK(result.proven);
}

TEST_CASE("the best matrix chain equals dynamic programming", "[egraph][extract]") {
  constexpr int n = 12;
  std::mt19937 random(3);
  std::vector<uint64_t> dim(n + 1);
  for (uint64_t& d : dim) d = 1 + random() % 50;
  const auto work = test::mm(n);
  work->run();
  // The interval of each class: leaves by name, products by their children.
  const FrozenGraph frozen(work->graph);
  std::map<uint32_t, std::pair<int, int>> interval;
  for (int i = 0; i < n; ++i)
    interval[work->graph.lookup(work->terms.intern(work->terms.op("x" + std::to_string(i + 1)))).value] = {i, i + 1};
  for (bool grown = true; grown;) {
    grown = false;
    for (NodeId node : frozen.nodes()) {
      const auto children = frozen.children(node);
      if (children.empty() || interval.count(frozen.class_of(node).value)) continue;
      if (!interval.count(children[0].value) || !interval.count(children[1].value)) continue;
      interval[frozen.class_of(node).value] = {interval[children[0].value].first, interval[children[1].value].second};
      grown = true;
    }
  }
  const std::vector<ClassId> roots{work->graph.find(work->roots[0])};
  const ExtractResult result = extract(frozen, roots, [&](NodeId node) -> std::optional<uint64_t> {
    const auto children = frozen.children(node);
    if (children.empty()) return 0;
    return dim[interval[children[0].value].first] * dim[interval[children[0].value].second] *
           dim[interval[children[1].value].second];
  });
  std::vector<std::vector<uint64_t>> best(n + 1, std::vector<uint64_t>(n + 1));
  for (int length = 2; length <= n; ++length)
    for (int i = 0; i + length <= n; ++i) {
      uint64_t& b = best[i][i + length] = UINT64_MAX;
      for (int k = i + 1; k < i + length; ++k)
        b = std::min(b, best[i][k] + best[k][i + length] + dim[i] * dim[k] * dim[i + length]);
    }
  CHECK(result.cost == best[0][n]);
  CHECK(result.proven);
}

// --- extraction-gym ---------------------------------------------------------------------------------------------

namespace {

/// The slow ones wait for the nightly run.
bool slow(const std::string& name) {
  for (const char* part : {"bench007_it10", "14.02.03--bench000_it0", "herbie/2953", "herbie/356", "box_filter_3",
                           "box_filter_4", "fir_8_tap"})
    if (name.find(part) != std::string::npos) return true;
  return false;
}

void check_gym(bool nightly) {
  const char* given = std::getenv("WEFT_EXTRACTION_GYM");
  const std::string folder = given ? given : "build/extraction-gym";
  std::ifstream optima("tests/egraph/extraction_optima.txt");
  REQUIRE(optima.good());
  int checked = 0;
  for (std::string line; std::getline(optima, line);) {
    std::istringstream fields(line);
    std::string name, kind;
    double known = 0;
    if (!(fields >> name >> kind >> known) || name == "#" || (slow(name) && !nightly)) continue;
    std::ifstream in(folder + "/data/" + name + ".json");
    if (!in.good()) {
      WARN("skipped: " << folder << "/data/" << name
                       << ".json is absent; unpack extraction-gym there or set WEFT_EXTRACTION_GYM");
      return;
    }
    INFO(name);
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    const JsonGraph graph = read_json(text);
    bool whole = true;
    for (double cost : graph.cost) whole &= cost == std::floor(cost);
    const double scale = whole ? 1 : 1e9;
    ExtractOptions options;
    options.fuel = nightly ? 600'000'000 : 100'000'000;
    const ExtractResult result = extract(FrozenGraph(*graph.graph), graph.roots, costs_of(graph, scale), options);
    CHECK(result.stats.repairs == 0);
    CHECK(result.cost <= std::min(result.stats.tree_cost, result.stats.greedy_cost));
    CHECK(static_cast<double>(result.cost) / scale <= known + 1e-6);
    if (kind == "OPT") {
      CHECK(static_cast<double>(result.cost) / scale >= known - 1e-6);
      CHECK(result.proven);
    }
    ++checked;
  }
  CHECK(checked > 90);
}

}  // namespace

TEST_CASE("extraction-gym: proven optima", "[egraph][extract]") { check_gym(false); }
TEST_CASE("extraction-gym: all files", "[.][nightly]") { check_gym(true); }
