#include "egraph/extraction/landmarks.hpp"

#include <algorithm>
#include <queue>
#include <utility>

namespace weft::egraph::extraction {

namespace {

/// h(class) = min over its nodes of (cost left + max over children h); a node's supporter is its child of largest h.
/// The goal is the conjunction of the required classes, so its supporter is the hardest of them.
class LandmarkCut {
 public:
  LandmarkCut(const Problem& problem, const Index& index, Budget& budget)
      : problem_(problem),
        index_(index),
        budget_(budget),
        h_(problem.class_count(), kInfinite),
        supporter_(problem.nodes.size(), kNone),
        zone_(problem.class_count(), 0),
        reached_(problem.class_count(), 0) {
    result_.reduced.resize(problem.nodes.size());
    for (uint32_t node = 0; node < problem.nodes.size(); ++node) result_.reduced[node] = problem.nodes[node].cost;
    for (uint32_t id = 0; id < problem.class_count(); ++id)
      if (problem.required[id]) goals_.push_back(id);
  }

  Landmarks run(uint64_t enough) {
    first_sweep();
    while (result_.bound < enough && !budget_.exhausted()) {
      const uint32_t goal = hardest_goal();
      if (goal == kNone || h_[goal] == 0) break;
      mark_zone(goal);
      find_cut(goal);
      if (!pay_cut()) break;
      update();
    }
    return std::move(result_);
  }

 private:
  using Entry = std::pair<uint64_t, uint32_t>;
  using Heap = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;

  uint64_t value(uint32_t node) const {
    return add_costs(result_.reduced[node], supporter_[node] == kNone ? 0 : h_[supporter_[node]]);
  }

  void first_sweep() {
    std::vector<uint32_t> waiting(problem_.nodes.size());
    Heap heap;
    const auto offer = [&](uint32_t node) {
      const uint32_t owner = problem_.nodes[node].owner;
      const uint64_t v = value(node);
      if (v < h_[owner]) heap.push({h_[owner] = v, owner});
    };
    for (uint32_t node = 0; node < problem_.nodes.size(); ++node) {
      if (!problem_.nodes[node].alive) continue;
      waiting[node] = static_cast<uint32_t>(problem_.nodes[node].children.size());
      if (waiting[node] == 0) leaves_.push_back(node), offer(node);
    }
    std::vector<char> done(problem_.class_count());
    while (!heap.empty()) {
      const uint32_t id = heap.top().second;
      heap.pop();
      if (std::exchange(done[id], 1)) continue;
      budget_.spend(index_.users(id).size() + 1);
      for (uint32_t user : index_.users(id)) {
        if (--waiting[user]) continue;
        supporter_[user] = id;
        offer(user);
      }
    }
  }

  uint32_t hardest_goal() const {
    uint32_t best = kNone;
    for (uint32_t id : goals_)
      if (best == kNone || h_[id] > h_[best]) best = id;
    return best;
  }

  /// The classes from which the goal is reached at no cost along supporters; the nodes that may enter from outside.
  void mark_zone(uint32_t goal) {
    ++round_;
    cut_.clear();
    stack_.assign(1, goal);
    zone_[goal] = round_;
    while (!stack_.empty()) {
      const uint32_t id = stack_.back();
      stack_.pop_back();
      budget_.spend(index_.members(id).size());
      for (uint32_t node : index_.members(id)) {
        const uint32_t supporter = supporter_[node];
        if (supporter == kNone) {
          if (problem_.nodes[node].children.empty()) cut_.push_back(node);
        } else if (zone_[supporter] != round_) {
          if (result_.reduced[node] != 0) {
            cut_.push_back(node);
          } else {
            zone_[supporter] = round_;
            stack_.push_back(supporter);
          }
        }
      }
    }
  }

  /// The nodes that enter the zone from a supporter that is reached from the leaves outside it. A class of the zone has
  /// at least the goal's h, so a supporter of less is reached through classes of less, which are all outside; only
  /// where there are others is it walked.
  void find_cut(uint32_t goal) {
    const auto entered = [&](uint32_t node) { return supporter_[node] != kNone && zone_[supporter_[node]] == round_; };
    cut_.erase(std::remove_if(cut_.begin(), cut_.end(), entered), cut_.end());
    const auto doubtful = [&](uint32_t node) { return supporter_[node] != kNone && h_[supporter_[node]] >= h_[goal]; };
    if (std::none_of(cut_.begin(), cut_.end(), doubtful)) return;
    walk_from_leaves();
    const auto unreached = [&](uint32_t node) { return doubtful(node) && reached_[supporter_[node]] != round_; };
    cut_.erase(std::remove_if(cut_.begin(), cut_.end(), unreached), cut_.end());
  }

  void walk_from_leaves() {
    stack_.clear();
    const auto visit = [&](uint32_t node) {
      const uint32_t owner = problem_.nodes[node].owner;
      if (zone_[owner] == round_ || std::exchange(reached_[owner], round_) == round_) return;
      stack_.push_back(owner);
    };
    for (uint32_t leaf : leaves_) visit(leaf);
    while (!stack_.empty()) {
      const uint32_t id = stack_.back();
      stack_.pop_back();
      budget_.spend(index_.users(id).size() + 1);
      for (uint32_t user : index_.users(id))
        if (supporter_[user] == id) visit(user);
    }
  }

  bool pay_cut() {
    uint64_t least = kInfinite;
    for (uint32_t node : cut_) least = std::min(least, result_.reduced[node]);
    if (cut_.empty() || least == 0 || least >= kInfinite) return false;
    for (uint32_t node : cut_) result_.reduced[node] -= least;
    result_.bound = add_costs(result_.bound, least);
    ++result_.count;
    return true;
  }

  /// h only falls where the cut became cheaper: a second sweep from there.
  void update() {
    Heap heap;
    const auto offer = [&](uint32_t node) {
      const uint32_t owner = problem_.nodes[node].owner;
      const uint64_t v = value(node);
      if (v < h_[owner]) heap.push({h_[owner] = v, owner});
    };
    for (uint32_t node : cut_) offer(node);
    while (!heap.empty()) {
      const auto [v, id] = heap.top();
      heap.pop();
      if (v != h_[id]) continue;
      budget_.spend(index_.users(id).size() + 1);
      for (uint32_t user : index_.users(id)) {
        if (supporter_[user] != id) continue;
        for (uint32_t child : problem_.nodes[user].children)
          if (h_[child] > h_[supporter_[user]]) supporter_[user] = child;
        offer(user);
      }
    }
  }

  const Problem& problem_;
  const Index& index_;
  Budget& budget_;
  Landmarks result_;
  std::vector<uint64_t> h_;
  std::vector<uint32_t> supporter_, leaves_, goals_, stack_, cut_;
  std::vector<uint32_t> zone_, reached_;
  uint32_t round_ = 0;
};

}  // namespace

Landmarks landmark_cut(const Problem& problem, const Index& index, uint64_t enough, Budget& budget) {
  return LandmarkCut(problem, index, budget).run(enough);
}

}  // namespace weft::egraph::extraction
