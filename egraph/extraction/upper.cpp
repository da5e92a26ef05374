#include "egraph/extraction/upper.hpp"

#include <algorithm>
#include <utility>

namespace weft::egraph::extraction {

Upper tree_choice(const Problem& problem, const Trees& trees) {
  Upper upper;
  upper.choice = trees.best;
  upper.cost = dag_cost(problem, upper.choice);
  return upper;
}

namespace {

/// The cost of a node with all that its children need is found by a walk over the choices made so far, latest in the
/// order first: where only one class is left to visit, nothing below it has been visited, and its total is known. So a
/// node with one child needs no walk, and in a chain whose links are small graphs each walk ends at the next link.
class Greedy {
 public:
  Greedy(const Problem& problem, const Index& index, const Trees& trees, Budget& budget)
      : problem_(problem),
        index_(index),
        trees_(trees),
        budget_(budget),
        total_(problem.class_count()),
        mark_(problem.class_count()) {}

  Upper run() {
    upper_.choice.assign(problem_.class_count(), kNone);
    for (uint32_t id : trees_.order) choose(id);
    upper_.cost = dag_cost(problem_, upper_.choice);
    return std::move(upper_);
  }

 private:
  void choose(uint32_t id) {
    uint32_t& best = upper_.choice[id];
    best = trees_.best[id];
    if (budget_.exhausted()) return;  // no alternative is looked at from here on, so no total is needed
    total_[id] = cost_of(best, kInfinite);
    for (uint32_t node : index_.members(id)) {
      const auto& children = problem_.nodes[node].children;
      const auto later = [&](uint32_t c) { return trees_.position[c] >= trees_.position[id]; };
      if (node == trees_.best[id] || std::any_of(children.begin(), children.end(), later)) continue;
      const uint64_t cost = cost_of(node, total_[id]);
      if (cost < total_[id]) best = node, total_[id] = cost;
    }
  }

  uint64_t cost_of(uint32_t node, uint64_t enough) {
    const auto& children = problem_.nodes[node].children;
    uint64_t cost = problem_.nodes[node].cost;
    ++round_;
    heap_.clear();
    const auto earlier = [&](uint32_t a, uint32_t b) { return trees_.position[a] < trees_.position[b]; };
    const auto push = [&](uint32_t id) {
      if (std::exchange(mark_[id], round_) == round_) return;
      heap_.push_back(id);
      std::push_heap(heap_.begin(), heap_.end(), earlier);
    };
    for (uint32_t child : children) push(child);
    while (heap_.size() > 1 && cost < enough) {
      std::pop_heap(heap_.begin(), heap_.end(), earlier);
      const Problem::Node& chosen = problem_.nodes[upper_.choice[heap_.back()]];
      heap_.pop_back();
      budget_.spend(1 + chosen.children.size());
      cost = add_costs(cost, chosen.cost);
      for (uint32_t child : chosen.children) push(child);
    }
    return heap_.size() == 1 ? add_costs(cost, total_[heap_[0]]) : cost;
  }

  const Problem& problem_;
  const Index& index_;
  const Trees& trees_;
  Budget& budget_;
  Upper upper_;
  std::vector<uint64_t> total_;
  std::vector<uint32_t> mark_, heap_;
  uint32_t round_ = 0;
};

}  // namespace

Upper greedy_choice(const Problem& problem, const Index& index, const Trees& trees, Budget& budget) {
  return Greedy(problem, index, trees, budget).run();
}

void share_prices(const Problem& problem, const Index& index, size_t rounds, Upper& upper, Budget& budget) {
  constexpr uint64_t kScale = 16;  // prices keep fractions
  Choice choice = upper.choice;
  std::vector<uint64_t> price(problem.nodes.size());
  std::vector<uint32_t> users(problem.class_count());
  for (size_t round = 0; round < rounds && !budget.exhausted(); ++round) {
    users.assign(problem.class_count(), 0);
    for (uint32_t node : choice)
      if (node != kNone)
        for (uint32_t child : problem.nodes[node].children) ++users[child];
    for (uint32_t node = 0; node < problem.nodes.size(); ++node) {
      const Problem::Node& n = problem.nodes[node];
      price[node] = std::min(n.cost, kInfinite / kScale / 2) * kScale;
      if (choice[n.owner] == node) price[node] /= std::max<uint32_t>(1, users[n.owner] + problem.required[n.owner]);
    }
    const Trees trees = tree_optimum(problem, index, price, budget);
    const Upper greedy = greedy_choice(problem, index, trees, budget);
    Upper next = tree_choice(problem, trees);
    next.offer(greedy.cost, greedy.choice);
    upper.offer(next.cost, next.choice);
    if (next.choice == choice) return;
    choice = std::move(next.choice);
  }
}

namespace {

/// Which classes are used how often in a choice, so that the saving of a switch is found by walking what falls away.
class Switcher {
 public:
  Switcher(const Problem& problem, const Index& index, Upper& upper, Budget& budget)
      : problem_(problem), index_(index), upper_(upper), budget_(budget) {}

  void run() {
    bool better = true;
    while (better && !budget_.exhausted()) {
      better = false;
      for (uint32_t id = 0; id < problem_.class_count() && !budget_.exhausted(); ++id) {
        if (upper_.choice[id] == kNone) continue;
        better |= try_class(id);
      }
    }
  }

 private:
  bool try_class(uint32_t id) {
    const std::span<const uint32_t> members = index_.members(id);
    if (members.size() < 2) return false;
    // Everything chosen is free, but for what only this class keeps alive.
    Choice without = upper_.choice;
    const uint64_t fixed = cost_without(id, without);
    std::vector<uint64_t> price(problem_.nodes.size());
    for (uint32_t node = 0; node < price.size(); ++node) {
      const Problem::Node& n = problem_.nodes[node];
      price[node] = without[n.owner] == kNone || n.owner == id ? n.cost : without[n.owner] == node ? 0 : kInfinite;
    }
    const Trees trees = tree_optimum(problem_, index_, price, budget_);
    if (add_costs(fixed, 0) >= upper_.cost || trees.best[id] == kNone) return false;
    Choice choice = without;
    for (uint32_t c = 0; c < choice.size(); ++c)
      if (choice[c] == kNone || c == id) choice[c] = trees.best[c];
    const uint64_t cost = dag_cost(problem_, choice);
    const bool better = cost < upper_.cost;
    upper_.offer(cost, choice);
    return better;
  }

  /// The cost of the choice if class `id` cost nothing and needed nothing; clears what falls away.
  uint64_t cost_without(uint32_t id, Choice& choice) {
    std::vector<uint32_t> stack;
    std::vector<char> seen(problem_.class_count());
    uint64_t cost = 0;
    const auto visit = [&](uint32_t c) {
      if (!std::exchange(seen[c], 1)) stack.push_back(c);
    };
    for (uint32_t c = 0; c < problem_.class_count(); ++c)
      if (problem_.required[c]) visit(c);
    while (!stack.empty()) {
      const uint32_t c = stack.back();
      stack.pop_back();
      if (c == id) continue;
      cost = add_costs(cost, problem_.nodes[choice[c]].cost);
      for (uint32_t child : problem_.nodes[choice[c]].children) visit(child);
    }
    budget_.spend(problem_.class_count());
    for (uint32_t c = 0; c < problem_.class_count(); ++c)
      if (!seen[c] || c == id) choice[c] = kNone;
    return cost;
  }

  const Problem& problem_;
  const Index& index_;
  Upper& upper_;
  Budget& budget_;
};

}  // namespace

void switch_nodes(const Problem& problem, const Index& index, Upper& upper, Budget& budget) {
  if (upper.cost >= kInfinite) return;
  Switcher(problem, index, upper, budget).run();
}

}  // namespace weft::egraph::extraction
