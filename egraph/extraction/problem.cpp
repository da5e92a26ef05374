#include "egraph/extraction/problem.hpp"

#include <algorithm>
#include <numeric>
#include <queue>
#include <utility>

namespace weft::egraph::extraction {

// --- Budget and Bundles ---------------------------------------------------------------------------------------

Budget::Budget(uint64_t fuel, uint64_t milliseconds)
    : fuel_(fuel),
      deadline_(milliseconds ? std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds)
                             : std::chrono::steady_clock::time_point::max()) {}

Budget Budget::share(uint64_t parts) const {
  Budget part = *this;
  part.used_ = part.looked_ = 0;
  part.fuel_ = (fuel_ - std::min(fuel_, used_)) / parts;
  return part;
}

bool Budget::exhausted() {
  if (used_ - looked_ > 100'000 && deadline_ != std::chrono::steady_clock::time_point::max()) {
    looked_ = used_;
    late_ |= std::chrono::steady_clock::now() > deadline_;
  }
  return late_ || used_ >= fuel_;
}

BundleId Bundles::leaf(uint32_t pick) {
  cells_.push_back({pick, kNone});
  return static_cast<BundleId>(cells_.size() - 1);
}

BundleId Bundles::join(BundleId a, BundleId b) {
  if (a == kNone) return b;
  if (b == kNone) return a;
  cells_.push_back({a, b});
  return static_cast<BundleId>(cells_.size() - 1);
}

std::vector<uint32_t> Bundles::collect(BundleId id) const {
  std::vector<uint32_t> picks, stack;
  std::vector<char> seen(cells_.size());
  if (id != kNone) stack.push_back(id);
  while (!stack.empty()) {
    const BundleId at = stack.back();
    stack.pop_back();
    if (std::exchange(seen[at], 1)) continue;
    const Cell& cell = cells_[at];
    if (cell.right == kNone) {
      picks.push_back(cell.left);
    } else {
      stack.push_back(cell.right);
      stack.push_back(cell.left);
    }
  }
  return picks;
}

// --- Problem --------------------------------------------------------------------------------------------------

void Problem::normalise(uint32_t node) {
  auto& children = nodes[node].children;
  std::sort(children.begin(), children.end());
  children.erase(std::unique(children.begin(), children.end()), children.end());
}

void Problem::compact() {
  const Index index(*this);
  std::vector<uint32_t> number(class_count(), kNone), reached;
  const auto reach = [&](uint32_t id) {
    if (number[id] != kNone) return;
    number[id] = 0;
    reached.push_back(id);
  };
  for (uint32_t id = 0; id < class_count(); ++id)
    if (required[id]) reach(id);
  for (size_t i = 0; i < reached.size(); ++i)
    for (uint32_t node : index.members(reached[i]))
      for (uint32_t child : nodes[node].children) reach(child);
  std::sort(reached.begin(), reached.end());
  for (uint32_t i = 0; i < reached.size(); ++i) number[reached[i]] = i;
  std::vector<Node> kept;
  std::vector<char> kept_required;
  for (uint32_t id : reached) {
    kept_required.push_back(required[id]);
    for (uint32_t node : index.members(id)) {
      kept.push_back(std::move(nodes[node]));
      kept.back().owner = number[id];
      for (uint32_t& child : kept.back().children) child = number[child];
    }
  }
  nodes = std::move(kept), required = std::move(kept_required);
}

Index::Index(const Problem& problem) : member_begin(problem.class_count() + 1), user_begin(problem.class_count() + 1) {
  for (const Problem::Node& node : problem.nodes) {
    if (!node.alive) continue;
    ++member_begin[node.owner + 1];
    for (uint32_t child : node.children) ++user_begin[child + 1];
  }
  std::partial_sum(member_begin.begin(), member_begin.end(), member_begin.begin());
  std::partial_sum(user_begin.begin(), user_begin.end(), user_begin.begin());
  member.resize(member_begin.back()), user.resize(user_begin.back());
  std::vector<uint32_t> next_member(member_begin.begin(), member_begin.end() - 1);
  std::vector<uint32_t> next_user(user_begin.begin(), user_begin.end() - 1);
  for (uint32_t i = 0; i < problem.nodes.size(); ++i) {
    const Problem::Node& node = problem.nodes[i];
    if (!node.alive) continue;
    member[next_member[node.owner]++] = i;
    for (uint32_t child : node.children) user[next_user[child]++] = i;
  }
}

// --- trees and choices ----------------------------------------------------------------------------------------

Trees tree_optimum(const Problem& problem, const Index& index, std::span<const uint64_t> price, Budget& budget) {
  const uint32_t classes = problem.class_count();
  Trees trees{{},
              std::vector<uint32_t>(classes, kNone),
              std::vector<uint64_t>(classes, kInfinite),
              std::vector<uint32_t>(classes, kNone)};
  std::vector<uint32_t> waiting(problem.nodes.size());
  std::vector<uint64_t> sum(problem.nodes.size());
  using Entry = std::pair<uint64_t, uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap;
  const auto offer = [&](uint32_t node) {
    const uint32_t owner = problem.nodes[node].owner;
    if (trees.position[owner] != kNone || sum[node] >= trees.cost[owner]) return;
    trees.cost[owner] = sum[node], trees.best[owner] = node;
    heap.push({sum[node], owner});
  };
  for (uint32_t node = 0; node < problem.nodes.size(); ++node) {
    if (!problem.nodes[node].alive) continue;
    waiting[node] = static_cast<uint32_t>(problem.nodes[node].children.size());
    sum[node] = price.empty() ? problem.nodes[node].cost : price[node];
    if (waiting[node] == 0) offer(node);
  }
  while (!heap.empty()) {
    const auto [cost, id] = heap.top();
    heap.pop();
    if (trees.position[id] != kNone || cost != trees.cost[id]) continue;
    trees.position[id] = static_cast<uint32_t>(trees.order.size());
    trees.order.push_back(id);
    const std::span<const uint32_t> users = index.users(id);
    budget.spend(users.size() + 1);
    for (uint32_t user : users) {
      // A term written out as a tree grows exponentially with the depth of its sharing: large is not infinite.
      if (sum[user] < kInfinite) sum[user] = std::min(add_costs(sum[user], cost), kInfinite - 1);
      if (--waiting[user] == 0) offer(user);
    }
  }
  return trees;
}

uint64_t dag_cost(const Problem& problem, Choice& choice) {
  enum : char { kNew, kOpen, kDone };
  std::vector<char> state(problem.class_count(), kNew);
  std::vector<std::pair<uint32_t, uint32_t>> stack;  // class, next child
  uint64_t cost = 0;
  for (uint32_t root = 0; root < problem.class_count(); ++root) {
    if (!problem.required[root] || state[root] == kDone) continue;
    stack.push_back({root, 0});
    while (!stack.empty()) {
      auto& [id, next] = stack.back();
      if (next == 0) {
        if (choice[id] == kNone) return kInfinite;
        state[id] = kOpen;
      }
      const Problem::Node& node = problem.nodes[choice[id]];
      if (next == node.children.size()) {
        state[id] = kDone;
        cost = add_costs(cost, node.cost);
        stack.pop_back();
        continue;
      }
      const uint32_t child = node.children[next++];
      if (state[child] == kOpen) return kInfinite;
      if (state[child] == kNew) stack.push_back({child, 0});
    }
  }
  for (uint32_t id = 0; id < problem.class_count(); ++id)
    if (state[id] != kDone) choice[id] = kNone;
  return cost;
}

BundleId picks_of(const Problem& problem, const Choice& choice, Bundles& bundles) {
  BundleId picks = problem.settled;
  for (uint32_t node : choice)
    if (node != kNone) picks = bundles.join(picks, problem.nodes[node].bundle);
  return picks;
}

}  // namespace weft::egraph::extraction
