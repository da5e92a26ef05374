#include "egraph/extraction/search.hpp"

#include <algorithm>

#include "egraph/extraction/landmarks.hpp"
#include "egraph/extraction/reduce.hpp"
#include "egraph/extraction/upper.hpp"

namespace weft::egraph::extraction {

namespace {

constexpr size_t kDeepest = 200;  // decisions on one path; each keeps a copy of the rest of the problem
constexpr size_t kLookAhead = 6;  // classes tried before one is branched on

class Solver {
 public:
  Solver(Bundles& bundles, const ExtractOptions& options, Budget& budget, ExtractStats& stats)
      : bundles_(bundles), options_(options), budget_(budget), stats_(stats) {}

  Outcome solve(Problem problem, uint64_t below, size_t depth) {
    Outcome best = look(std::move(problem), below, depth);
    // Bounds hold for what is left after nodes of no better answer were dropped; the best answer may be of those nodes.
    best.lower = std::min(best.lower, best.cost);
    return best;
  }

 private:
  Outcome look(Problem problem, uint64_t below, size_t depth) {
    Outcome best;
    ++stats_.search_nodes;
    for (bool falls = true; falls;) {
      if (!reduce(problem, bundles_, true, budget_)) {  // no answer, or none better than the best
        best.lower = kInfinite;
        return best;
      }
      if (problem.nodes.empty()) {
        best.lower = problem.paid;
        offer(best, below, problem.paid, problem.settled);
        return best;
      }
      falls = bound(problem, below, best, depth);
      if (best.lower >= below) return best;
      if (!falls && depth <= 1 && options_.search) falls = improve(problem, below, best);
    }
    if (depth == 0) note_reduced(problem);
    if (!options_.search || budget_.exhausted() || depth >= kDeepest) return best;
    std::vector<Problem> parts = split(problem);
    if (parts.size() > 1) return solve_parts(std::move(parts), below, best, depth);
    return branch(problem, below, best, depth);
  }

  /// Keeps an answer that is cheaper than asked for, and asks for cheaper ones from now on.
  static void offer(Outcome& best, uint64_t& below, uint64_t cost, BundleId picks) {
    if (cost >= below) return;
    best.cost = below = cost;
    best.picks = picks;
  }

  void note_reduced(const Problem& problem) {
    stats_.reduced_nodes = problem.nodes.size();
    stats_.reduced_classes = problem.class_count();
    const std::vector<Problem> parts = split(problem);
    stats_.components = parts.size();
    for (const Problem& part : parts) stats_.largest_component = std::max(stats_.largest_component, part.nodes.size());
  }

  /// Upper and lower bound; drops the nodes that no better answer uses. True where some were dropped.
  bool bound(Problem& problem, uint64_t& below, Outcome& best, size_t depth) {
    const Index index(problem);
    const Trees trees = tree_optimum(problem, index, {}, budget_);
    Upper upper = tree_choice(problem, trees);
    const auto take = [&] { offer_choice(problem, upper, below, best); };
    take();
    const Upper greedy = greedy_choice(problem, index, trees, budget_);
    upper.offer(greedy.cost, greedy.choice);
    if (depth == 0) share_prices(problem, index, 8, upper, budget_);
    take();
    if (below <= problem.paid) return best.lower = std::max(best.lower, below), false;
    const Landmarks marks = landmark_cut(problem, index, below - problem.paid, budget_);
    stats_.landmarks += marks.count;
    best.lower = std::max(best.lower, add_costs(problem.paid, marks.bound));
    if (best.lower >= below) return false;
    const Trees cheap = tree_optimum(problem, index, marks.reduced, budget_);
    Upper second = tree_choice(problem, cheap);
    const Upper third = greedy_choice(problem, index, cheap, budget_);
    second.offer(third.cost, third.choice);
    if (second.cost < upper.cost) {
      upper = std::move(second);
      take();
    }
    bool dropped = false;
    const uint64_t slack = below - add_costs(problem.paid, marks.bound);
    for (uint32_t node = 0; node < problem.nodes.size(); ++node)
      if (marks.reduced[node] >= slack) problem.nodes[node].alive = false, dropped = true;
    return dropped;
  }

  /// Local search with a part of the budget, once per problem that is about to be searched. True where it found better.
  bool improve(const Problem& problem, uint64_t& below, Outcome& best) {
    const Index index(problem);
    const Trees trees = tree_optimum(problem, index, {}, budget_);
    Upper upper = greedy_choice(problem, index, trees, budget_);
    const Upper tree = tree_choice(problem, trees);
    upper.offer(tree.cost, tree.choice);
    Budget part = budget_.share(4);
    switch_nodes(problem, index, upper, part);
    budget_.spend(part.used());
    const uint64_t before = below;
    offer_choice(problem, upper, below, best);
    return below < before;
  }

  void offer_choice(const Problem& problem, const Upper& upper, uint64_t& below, Outcome& best) {
    const uint64_t cost = add_costs(problem.paid, upper.cost);
    if (cost < below) offer(best, below, cost, picks_of(problem, upper.choice, bundles_));
  }

  uint64_t quick_lower(const Problem& problem, uint64_t enough) {
    const Index index(problem);
    const Landmarks marks = landmark_cut(problem, index, enough, budget_);
    stats_.landmarks += marks.count;
    return add_costs(problem.paid, marks.bound);
  }

  /// Parts that share nothing are solved one after another, the small ones first.
  Outcome solve_parts(std::vector<Problem> parts, uint64_t below, Outcome best, size_t depth) {
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Problem& a, const Problem& b) { return a.nodes.size() < b.nodes.size(); });
    std::vector<uint64_t> lower;
    uint64_t total = 0;
    for (const Problem& part : parts) {
      lower.push_back(quick_lower(part, kInfinite));
      total = add_costs(total, lower.back());
    }
    uint64_t cost = 0;
    BundleId picks = kNone;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (total >= below) {  // not all parts have picks
        cost = kInfinite;
        break;
      }
      const Outcome part = solve(std::move(parts[i]), below - (total - lower[i]), depth + 1);
      total = add_costs(total - lower[i], std::max(lower[i], part.lower));
      cost = add_costs(cost, part.cost);
      picks = part.cost < kInfinite ? bundles_.join(picks, part.picks) : picks;
      if (part.cost >= kInfinite) {  // nothing cheap enough below this part, or the budget ended
        cost = kInfinite;
        break;
      }
    }
    best.lower = std::max(best.lower, std::min(total, below));
    offer(best, below, cost, picks);
    return best;
  }

  /// A way to branch: the nodes of one required class, each with the bound of the problem in which it is chosen.
  struct Branching {
    uint32_t id = kNone;
    std::vector<std::pair<uint64_t, uint32_t>> order;  // bound, node; least bound first
  };

  Outcome branch(const Problem& problem, uint64_t below, Outcome best, size_t depth) {
    const Index index(problem);
    const Branching branching = choose_branching(problem, index, below);
    if (branching.id == kNone) return best;
    uint64_t lower = kInfinite;
    for (const auto& [bound, node] : branching.order) {
      if (bound >= below) {
        lower = std::min(lower, bound);
        continue;
      }
      if (budget_.exhausted()) {
        lower = std::min(lower, std::max(bound, best.lower));
        continue;
      }
      const Outcome outcome = solve(with_choice(problem, index, branching.id, node), below, depth + 1);
      lower = std::min(lower, std::max(outcome.lower, bound));
      offer(best, below, outcome.cost, outcome.picks);
    }
    best.lower = std::max(best.lower, std::min(lower, below));
    return best;
  }

  /// Looks ahead into the required classes with the fewest nodes (but more than one) and takes the one whose branches
  /// have the highest bounds.
  Branching choose_branching(const Problem& problem, const Index& index, uint64_t below) {
    std::vector<std::pair<size_t, uint32_t>> candidates;
    for (uint32_t id = 0; id < problem.class_count(); ++id)
      if (problem.required[id] && index.members(id).size() > 1) candidates.push_back({index.members(id).size(), id});
    std::sort(candidates.begin(), candidates.end());
    if (candidates.size() > kLookAhead) candidates.resize(kLookAhead);
    Branching best;
    uint64_t best_score = 0;
    for (const auto& [size, id] : candidates) {
      Branching branching{id, {}};
      for (uint32_t node : index.members(id)) {
        Problem child = with_choice(problem, index, id, node);
        branching.order.push_back({feasible(child) ? quick_lower(child, below) : kInfinite, node});
      }
      std::sort(branching.order.begin(), branching.order.end());
      const uint64_t score = score_of(branching, below);
      if (best.id == kNone || score > best_score) best = std::move(branching), best_score = score;
      if (best.order.front().first >= below || budget_.exhausted()) break;
    }
    return best;
  }

  static uint64_t score_of(const Branching& branching, uint64_t below) {
    uint64_t sum = 0;
    for (const auto& [bound, node] : branching.order) sum = add_costs(sum, below - std::min(bound, below));
    return kInfinite - sum;
  }

  static Problem with_choice(const Problem& problem, const Index& index, uint32_t id, uint32_t node) {
    Problem child = problem;
    for (uint32_t other : index.members(id))
      if (other != node) child.nodes[other].alive = false;
    for (uint32_t needed : child.nodes[node].children) child.required[needed] = 1;
    return child;
  }

  /// Drops what cannot be derived any more.
  bool feasible(Problem& problem) {
    const Trees trees = tree_optimum(problem, Index(problem), {}, budget_);
    for (uint32_t id = 0; id < problem.class_count(); ++id)
      if (problem.required[id] && trees.position[id] == kNone) return false;
    for (Problem::Node& node : problem.nodes)
      if (std::any_of(node.children.begin(), node.children.end(),
                      [&](uint32_t c) { return trees.position[c] == kNone; }))
        node.alive = false;
    return true;
  }

  Bundles& bundles_;
  const ExtractOptions& options_;
  Budget& budget_;
  ExtractStats& stats_;
};

}  // namespace

Outcome solve(Problem problem, Bundles& bundles, uint64_t below, const ExtractOptions& options, Budget& budget,
              ExtractStats& stats) {
  return Solver(bundles, options, budget, stats).solve(std::move(problem), below, 0);
}

}  // namespace weft::egraph::extraction
