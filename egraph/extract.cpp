#include "egraph/extract.hpp"

#include <algorithm>
#include <chrono>

#include "egraph/extraction/answer.hpp"
#include "egraph/extraction/problem.hpp"
#include "egraph/extraction/search.hpp"
#include "egraph/extraction/upper.hpp"
#include "ir/support/error.hpp"
#include "ir/support/log.hpp"

namespace weft::egraph {

namespace {

using extraction::Answer;
using extraction::Budget;
using extraction::BundleId;
using extraction::Bundles;
using extraction::Index;
using extraction::Offer;
using extraction::Problem;

constexpr uint64_t kMostCost = uint64_t{1} << 62;

/// The e-graph below the roots as a problem; node i of it is the e-node picks[i].
struct Poured {
  Problem problem;
  Bundles bundles;
  std::vector<NodeId> picks;
  std::vector<ClassId> classes;
};

Poured pour(const FrozenGraph& graph, std::span<const ClassId> roots, const NodeCost& cost) {
  Poured out;
  std::vector<uint32_t> number(graph.id_bound(), kNone);
  const auto reach = [&](ClassId id) {
    uint32_t& n = number[id.value];
    if (n == kNone) n = static_cast<uint32_t>(out.classes.size()), out.classes.push_back(id);
    return n;
  };
  for (ClassId root : roots) {
    if (root.value >= graph.id_bound())
      fail(ErrorCode::out_of_range, "root {} is not a class of the graph", root.value);
    reach(graph.find(root));
  }
  const size_t root_count = out.classes.size();
  uint64_t total = 0;
  for (size_t i = 0; i < out.classes.size(); ++i) {
    for (NodeId node : graph.nodes(out.classes[i])) {
      const std::optional<uint64_t> own = cost(node);
      if (!own) continue;
      if (*own > kMostCost || (total += *own) > kMostCost)
        fail(ErrorCode::limit, "the costs of the nodes add up to more than 2^62");
      Problem::Node n;
      n.cost = *own, n.owner = static_cast<uint32_t>(i);
      n.bundle = out.bundles.leaf(static_cast<uint32_t>(out.picks.size()));
      for (ClassId child : graph.children(node)) n.children.push_back(reach(child));
      out.problem.nodes.push_back(std::move(n));
      out.problem.normalise(static_cast<uint32_t>(out.problem.nodes.size() - 1));
      out.picks.push_back(node);
    }
  }
  out.problem.required.assign(out.classes.size(), 0);
  std::fill_n(out.problem.required.begin(), root_count, 1);
  return out;
}

/// Throws where a root has no finite choice; fills in the costs that need no search.
extraction::Upper first_answers(const FrozenGraph& graph, const Poured& poured, Budget& budget, ExtractStats& stats) {
  const Index index(poured.problem);
  const extraction::Trees trees = tree_optimum(poured.problem, index, {}, budget);
  for (uint32_t id = 0; id < poured.problem.class_count(); ++id) {
    if (trees.position[id] != kNone) ++stats.classes;
    if (!poured.problem.required[id] || trees.position[id] != kNone) continue;
    const std::span<const NodeId> nodes = graph.nodes(poured.classes[id]);
    fail(ErrorCode::unsupported, "class {} ({} nodes, first {}) has no choice of finite cost", poured.classes[id].value,
         nodes.size(), nodes.empty() ? "none" : graph.symbols().name(graph.symbol(nodes[0])));
  }
  for (const Problem::Node& node : poured.problem.nodes)
    stats.nodes += std::none_of(node.children.begin(), node.children.end(),
                                [&](uint32_t c) { return trees.position[c] == kNone; });
  extraction::Upper upper = tree_choice(poured.problem, trees);
  stats.tree_cost = upper.cost;
  const extraction::Upper greedy = greedy_choice(poured.problem, index, trees, budget);
  stats.greedy_cost = greedy.cost;
  upper.offer(greedy.cost, greedy.choice);
  return upper;
}

}  // namespace

ExtractResult extract(const FrozenGraph& graph, std::span<const ClassId> roots, const NodeCost& cost,
                      const ExtractOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Poured poured = pour(graph, roots, cost);
  ExtractResult result;
  Budget budget(options.fuel, options.milliseconds);
  Budget first(UINT64_MAX, 0);  // the greedy answers are always given
  const extraction::Upper upper = first_answers(graph, poured, first, result.stats);
  extraction::Outcome outcome = solve(poured.problem, poured.bundles, upper.cost, options, budget, result.stats);
  const auto offer = [&](BundleId picks, uint64_t said) {
    Offer made{{}, said};
    for (uint32_t pick : poured.bundles.collect(picks)) made.picks.push_back(poured.picks[pick]);
    return made;
  };
  const Offer first_answer = offer(picks_of(poured.problem, upper.choice, poured.bundles), upper.cost);
  const Offer found = outcome.cost < upper.cost ? offer(outcome.picks, outcome.cost) : first_answer;
  Answer answer = checked_answer(graph, roots, cost, found, first_answer);
  result.choice = std::move(answer.choice);
  result.cost = answer.cost;
  result.lower_bound = std::min({outcome.lower, outcome.cost, upper.cost});
  if (answer.fault.empty() && result.lower_bound > result.cost) answer.fault = "the lower bound is above the cost";
  if (!answer.fault.empty()) {
    log(LogLevel::warning, "extraction: a greedy answer of cost {} stands in for a wrong one of cost {}: {}",
        result.cost, outcome.cost, answer.fault);
    result.stats.repairs = 1;
    result.lower_bound = 0;  // no bound of a search that went wrong is believed
  }
  result.proven = answer.fault.empty() && result.cost == result.lower_bound;
  result.stats.fuel = budget.used();
  result.stats.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

namespace {

/// Visits the chosen nodes below the roots, children first. Throws where the choice is cyclic or has a hole.
template <typename Visit>
void walk_choice(const FrozenGraph& graph, std::span<const ClassId> roots, std::span<const NodeId> choice,
                 Visit&& visit) {
  enum : char { kNew, kOpen, kDone };
  std::vector<char> state(graph.id_bound(), kNew);
  std::vector<std::pair<ClassId, uint32_t>> stack;
  for (ClassId root : roots) {
    if (state[graph.find(root).value] == kNew) stack.push_back({graph.find(root), 0});
    while (!stack.empty()) {
      auto& [id, next] = stack.back();
      const NodeId node = choice[id.value];
      WEFT_CHECK(node.valid(), "class {} is needed but has no choice", id.value);
      WEFT_CHECK(graph.class_of(node) == id, "the choice of class {} is node {} of class {}", id.value, node.value,
                 graph.class_of(node).value);
      state[id.value] = kOpen;
      const std::span<const ClassId> children = graph.children(node);
      if (next == children.size()) {
        state[id.value] = kDone;
        visit(node);
        stack.pop_back();
        continue;
      }
      const ClassId child = children[next++];
      WEFT_CHECK(state[child.value] != kOpen, "the choice is cyclic at class {}", child.value);
      if (state[child.value] == kNew) stack.push_back({child, 0});
    }
  }
}

}  // namespace

std::vector<NodeId> chosen_order(const FrozenGraph& graph, std::span<const ClassId> roots,
                                 std::span<const NodeId> choice) {
  std::vector<NodeId> order;
  walk_choice(graph, roots, choice, [&](NodeId node) { order.push_back(node); });
  return order;
}

uint64_t choice_cost(const FrozenGraph& graph, std::span<const ClassId> roots, std::span<const NodeId> choice,
                     const NodeCost& cost) {
  uint64_t total = 0;
  walk_choice(graph, roots, choice, [&](NodeId node) {
    const std::optional<uint64_t> own = cost(node);
    WEFT_CHECK(own, "node {} was chosen but has no finite cost", node.value);
    total += *own;
  });
  return total;
}

}  // namespace weft::egraph
