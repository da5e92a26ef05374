#include "egraph/extraction/search.hpp"

#include <algorithm>
#include <utility>

#include "egraph/extraction/landmarks.hpp"
#include "egraph/extraction/reduce.hpp"
#include "egraph/extraction/upper.hpp"

namespace weft::egraph::extraction {

namespace {

constexpr size_t kDeepest = 200;   // decisions on one path; each keeps a copy of the rest of the problem
constexpr size_t kLookAhead = 24;  // classes tried before one is branched on
constexpr size_t kLookCloser = 6;  // of them bounded from the start

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
    for (bool noted = depth != 0;;) {
      if (!settle(problem, below, best, depth)) return best;
      if (!std::exchange(noted, true)) note_reduced(problem);
      if (!options_.search || budget_.exhausted() || depth >= kDeepest) return best;
      std::vector<Problem> parts = split(problem);
      if (parts.size() > 1) return solve_parts(std::move(parts), below, best, depth);
      const Index index(problem);
      const Branching branching = choose_branching(problem, index, below);
      if (branching.id == kNone) return best;
      if (branching.hopeless.empty()) return branch(problem, index, branching, below, best, depth);
      for (uint32_t node : branching.hopeless) problem.nodes[node].alive = false;
    }
  }

  /// Reduces and bounds until nothing falls. False where the outcome is known.
  bool settle(Problem& problem, uint64_t& below, Outcome& best, size_t depth) {
    for (bool falls = true; falls;) {
      if (!reduce(problem, bundles_, true, budget_)) {  // no answer, or none better than the best
        best.lower = kInfinite;
        return false;
      }
      if (problem.nodes.empty()) {
        best.lower = problem.paid;
        offer(best, below, problem.paid, problem.settled);
        return false;
      }
      falls = bound(problem, below, best, depth);
      if (best.lower >= below) return false;
      if (!falls && depth <= 1 && options_.search) falls = improve(problem, below, best);
    }
    return true;
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

  /// A way to branch: the nodes of one required class, each with a bound of the problem in which it is chosen.
  struct Branching {
    uint32_t id = kNone;
    std::vector<std::pair<uint64_t, uint32_t>> order;  // bound, node; least bound first
    std::vector<uint32_t> hopeless;                    // nodes of any class tried that no better answer uses
  };

  Outcome branch(const Problem& problem, const Index& index, const Branching& branching, uint64_t below, Outcome best,
                 size_t depth) {
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
  /// have the highest bounds. What the landmarks of the problem have paid stays paid in every branch, so many classes
  /// can be looked at by the few landmarks that a branch adds; the best of them are bounded from the start.
  Branching choose_branching(const Problem& problem, const Index& index, uint64_t below) {
    const Problem left = what_landmarks_leave(problem, index, below);
    Branching best;
    std::vector<std::pair<uint64_t, Branching>> looked;  // score, highest first
    for (uint32_t id : fewest_nodes_first(problem, index)) {
      Branching branching{id, {}, {}};
      for (uint32_t node : index.members(id)) branching.order.push_back({0, node});
      const uint64_t score = look_ahead(left, index, below, branching, best.hopeless);
      looked.push_back({score, std::move(branching)});
      if (looked.back().second.order.front().first >= below || budget_.exhausted()) break;
    }
    if (looked.empty()) return best;
    best.id = looked.front().second.id;
    if (!best.hopeless.empty()) return best;
    std::stable_sort(looked.begin(), looked.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    if (looked.size() == 1) return looked.front().second;
    if (looked.size() > kLookCloser) looked.resize(kLookCloser);
    uint64_t best_score = 0;
    for (auto& [_, branching] : looked) {
      const uint64_t score = look_ahead(problem, index, below, branching, best.hopeless);
      if (best.order.empty() || score > best_score)
        best.id = branching.id, best.order = branching.order, best_score = score;
      if (best.order.front().first >= below || budget_.exhausted()) break;
    }
    return best;
  }

  static std::vector<uint32_t> fewest_nodes_first(const Problem& problem, const Index& index) {
    std::vector<uint32_t> ids;
    for (uint32_t id = 0; id < problem.class_count(); ++id)
      if (problem.required[id] && index.members(id).size() > 1) ids.push_back(id);
    std::stable_sort(ids.begin(), ids.end(),
                     [&](uint32_t a, uint32_t b) { return index.members(a).size() < index.members(b).size(); });
    if (ids.size() > kLookAhead) ids.resize(kLookAhead);
    return ids;
  }

  /// Raises the bounds of the branches by those in `problem`, and gives the score.
  uint64_t look_ahead(const Problem& problem, const Index& index, uint64_t below, Branching& branching,
                      std::vector<uint32_t>& hopeless) {
    for (auto& [bound, node] : branching.order) {
      Problem child = with_choice(problem, index, branching.id, node);
      bound = std::max(bound, feasible(child) ? quick_lower(child, below) : kInfinite);
      if (bound >= below) hopeless.push_back(node);
    }
    std::sort(branching.order.begin(), branching.order.end());
    return score_of(branching, below);
  }

  /// The problem with the costs that the landmarks leave, and the bound as paid.
  Problem what_landmarks_leave(const Problem& problem, const Index& index, uint64_t below) {
    const Landmarks marks = landmark_cut(problem, index, below - problem.paid, budget_);
    stats_.landmarks += marks.count;
    Problem left = problem;
    for (uint32_t node = 0; node < left.nodes.size(); ++node) left.nodes[node].cost = marks.reduced[node];
    left.paid = add_costs(left.paid, marks.bound);
    return left;
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
