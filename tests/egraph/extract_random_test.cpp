// Extraction on random cyclic graphs with views in cycles, many nodes without cost, many ties and several roots:
// against the oracle where it ends, against what every answer must satisfy where it does not.
#include <cstdlib>
#include <random>

#include "egraph/extract.hpp"
#include "ir/support/error.hpp"
#include "tests/catch.hpp"
#include "tests/egraph/puzzle.hpp"

using namespace weft::egraph;
using test::costs_of;
using test::Puzzle;

namespace {

constexpr uint64_t kOracleSteps = 20'000;

/// 5 to 40 classes in one to four groups that share little, so that reduced problems fall into parts.
class Maker {
 public:
  explicit Maker(uint32_t seed) : random_(seed) {}

  Puzzle make() {
    puzzle_.classes = 5 + below(below(3) ? 8 : 28);
    groups_ = 1 + below(4);
    scale_ = below(2) ? 12 : 6000;
    free_ = below(7);
    const uint32_t most_members = 1 + below(4), most_arity = 2 + below(3);
    for (uint32_t id = 0; id < puzzle_.classes; ++id)
      for (uint32_t i = 1 + below(most_members); i > 0; --i) add_node(id, most_arity);
    for (uint32_t views = below(1 + puzzle_.classes / 3); views > 0; --views) add_views();
    for (uint32_t roots = 1 + below(4); roots > 0; --roots)
      puzzle_.roots.push_back(below(2) ? below(puzzle_.classes) : below(groups_));
    for (uint32_t covers = below(4); covers > 0; --covers) add_cover();
    return std::move(puzzle_);
  }

 private:
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

  uint64_t some_cost() {
    if (below(10) < free_) return 0;
    return below(4) == 0 ? 1 : below(scale_);
  }

  void add_node(uint32_t id, uint32_t most_arity) {
    Puzzle::Node node{id, {}, some_cost()};
    if (below(14) == 0) node.cost.reset();
    const bool low = id >= puzzle_.classes - puzzle_.classes / 3;
    for (uint32_t arity = low ? below(2) : below(most_arity + 1); arity > 0; --arity)
      node.children.push_back(some_child(id));
    puzzle_.nodes.push_back(std::move(node));
  }

  /// Mostly further down in the same group, sometimes anywhere.
  uint32_t some_child(uint32_t id) {
    if (below(10) == 0) return below(puzzle_.classes);
    const uint32_t steps = 1 + below(4), child = id + steps * groups_;
    return child < puzzle_.classes ? child : puzzle_.classes - 1 - below(std::min(puzzle_.classes, groups_));
  }

  /// A ring of two to four classes that are views of each other: no node on it costs anything.
  void add_views() {
    const uint32_t start = below(puzzle_.classes);
    uint32_t at = start;
    for (uint32_t length = 1 + below(3); length > 0; --length) {
      const uint32_t next = some_child(at);
      puzzle_.nodes.push_back({at, {next}, 0});
      if (below(2)) puzzle_.nodes.push_back({next, {at}, below(3) == 0 ? 1u : 0u});
      at = next;
    }
    puzzle_.nodes.push_back({at, {start}, 0});
  }

  /// A root that needs all edges of a small graph, each by one of its ends, which cost: bounds leave a gap here, so it
  /// is searched, beside other covers as a part of its own.
  void add_cover() {
    const uint32_t ends = 3 + below(3), edges = ends + below(3), first = puzzle_.classes, root = first + ends + edges;
    const uint32_t dearest = below(2) ? 2 : scale_;
    Puzzle::Node top{root, {}, 0};
    for (uint32_t i = 0; i < ends; ++i) {
      puzzle_.nodes.push_back({first + i, {}, 1 + below(dearest)});
      if (below(4) == 0) puzzle_.nodes.push_back({first + i, {below(first + ends)}, below(dearest)});
    }
    for (uint32_t i = 0; i < edges; ++i) {
      const uint32_t a = first + i % ends, b = first + (i < ends ? (i + 1) % ends : below(ends)),
                     edge = first + ends + i;
      puzzle_.nodes.push_back({edge, {a}, below(5) ? 0u : 1u});
      puzzle_.nodes.push_back({edge, {b}, below(5) ? 0u : 1u});
      if (below(8) == 0) puzzle_.nodes.push_back({edge, {}, below(3 * dearest)});
      top.children.push_back(edge);
    }
    puzzle_.nodes.push_back(top);
    puzzle_.classes = root + 1;
    puzzle_.roots.push_back(root);
  }

  std::mt19937 random_;
  Puzzle puzzle_;
  uint32_t groups_ = 1, scale_ = 12, free_ = 0;
};

bool solvable(const Puzzle& puzzle) {
  std::vector<char> built(puzzle.classes);
  const auto all_built = [&](const std::vector<uint32_t>& ids) {
    return std::all_of(ids.begin(), ids.end(), [&](uint32_t id) { return built[id]; });
  };
  for (bool grown = true; grown;) {
    grown = false;
    for (const Puzzle::Node& node : puzzle.nodes)
      if (node.cost && !built[node.owner] && all_built(node.children)) built[node.owner] = grown = true;
  }
  return all_built(puzzle.roots);
}

/// What every answer satisfies, whatever the budget; the choice is read back by names and added up by the puzzle.
void check_answer(const Puzzle& puzzle, const JsonGraph& graph, const ExtractResult& result) {
  std::vector<uint32_t> choice(puzzle.classes, kNone);
  for (uint32_t id = 0; id < puzzle.classes; ++id) {
    const auto named = graph.classes.find(std::to_string(id));
    if (named == graph.classes.end()) continue;
    const NodeId node = result[named->second];
    if (node.valid()) choice[id] = static_cast<uint32_t>(std::stoul(graph.node_names[node.value].substr(1)));
  }
  const std::optional<uint64_t> cost = puzzle.cost_of(choice);  // nothing where it is cyclic or has a hole
  REQUIRE(cost);
  REQUIRE(*cost == result.cost);
  REQUIRE(result.cost <= std::min(result.stats.tree_cost, result.stats.greedy_cost));
  REQUIRE(result.lower_bound <= result.cost);
  REQUIRE(result.proven == (result.lower_bound == result.cost));
  REQUIRE(result.stats.repairs == 0);
}

struct Tally {
  int solved = 0, against_oracle = 0, beyond_oracle = 0, shared_pays = 0, split = 0, unproven = 0;
};

void check_seed(uint32_t seed, Tally& tally) {
  const Puzzle puzzle = Maker(seed).make();
  const JsonGraph graph = puzzle.graph();
  const FrozenGraph frozen(*graph.graph);
  INFO("seed " << seed << ": " << write_json(frozen, graph.roots, costs_of(graph)));
  if (!solvable(puzzle)) {
    REQUIRE_THROWS_AS(extract(frozen, graph.roots, costs_of(graph)), weft::Error);
    return;
  }
  ++tally.solved;
  const Puzzle::Oracle oracle = puzzle.oracle(kOracleSteps);
  const ExtractOptions most{.fuel = 3'000'000};
  const ExtractOptions budgets[] = {
      most, {.fuel = 0}, {.fuel = 200 + seed % 20'000}, {.fuel = 3'000'000, .search = false}};
  uint64_t lower = 0, upper = UINT64_MAX;
  for (const ExtractOptions& options : budgets) {
    const ExtractResult result = extract(frozen, graph.roots, costs_of(graph), options);
    check_answer(puzzle, graph, result);
    lower = std::max(lower, result.lower_bound), upper = std::min(upper, result.cost);
    if (&options == budgets) {
      tally.split += result.stats.components > 1, tally.unproven += !result.proven;
      tally.shared_pays += result.stats.tree_cost > result.cost;
      if (oracle.complete) REQUIRE((result.proven && result.cost == *oracle.best));
    }
  }
  REQUIRE(lower <= upper);  // also across budgets
  if (oracle.best) REQUIRE(lower <= *oracle.best);
  if (oracle.complete) REQUIRE(upper >= *oracle.best);
  ++(oracle.complete ? tally.against_oracle : tally.beyond_oracle);
}

Tally check_seeds(uint32_t first, uint32_t count) {
  Tally tally;
  for (uint32_t seed = first; seed < first + count; ++seed) check_seed(seed, tally);
  UNSCOPED_INFO("solved " << tally.solved << ", against the oracle " << tally.against_oracle << ", beyond it "
                          << tally.beyond_oracle << ", sharing pays " << tally.shared_pays << ", split " << tally.split
                          << ", unproven " << tally.unproven);
  CHECK(tally.against_oracle > static_cast<int>(count / 4));  // else the test sees too little
  CHECK(tally.beyond_oracle > static_cast<int>(count / 100));
  CHECK(tally.shared_pays > static_cast<int>(count / 50));
  CHECK(tally.split > static_cast<int>(count / 200));
  return tally;
}

}  // namespace

TEST_CASE("answers on random cyclic graphs with views are whole, and least where the oracle ends",
          "[egraph][extract]") {
  check_seeds(1, 4'000);
}

TEST_CASE("answers on a hundred thousand random cyclic graphs", "[.][nightly]") {
  const char* given = std::getenv("WEFT_SEED");
  check_seeds(given ? static_cast<uint32_t>(std::stoul(given)) : 1'000'000, 100'000);
}
