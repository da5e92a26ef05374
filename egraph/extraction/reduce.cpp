#include "egraph/extraction/reduce.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "egraph/extraction/must_sets.hpp"

namespace weft::egraph::extraction {

std::vector<uint32_t> strong_components(const Problem& problem, const Index& index) {
  // Tarjan with an explicit stack; the successors of a class are the children of its members.
  const uint32_t classes = problem.class_count();
  struct Frame {
    uint32_t id, member, child;
  };
  std::vector<uint32_t> number(classes, kNone), low(classes), component(classes, kNone), open;
  std::vector<Frame> stack;
  uint32_t next = 0, components = 0;
  const auto enter = [&](uint32_t id) {
    number[id] = low[id] = next++;
    open.push_back(id);
    stack.push_back({id, 0, 0});
  };
  for (uint32_t start = 0; start < classes; ++start) {
    if (number[start] != kNone) continue;
    enter(start);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const std::span<const uint32_t> members = index.members(frame.id);
      if (frame.member == members.size()) {
        const uint32_t id = frame.id;
        stack.pop_back();
        if (!stack.empty()) low[stack.back().id] = std::min(low[stack.back().id], low[id]);
        if (low[id] != number[id]) continue;
        for (uint32_t member = kNone; member != id; open.pop_back()) component[member = open.back()] = components;
        ++components;
        continue;
      }
      const auto& children = problem.nodes[members[frame.member]].children;
      if (frame.child == children.size()) {
        ++frame.member, frame.child = 0;
        continue;
      }
      const uint32_t child = children[frame.child++];
      if (number[child] == kNone)
        enter(child);
      else if (component[child] == kNone)
        low[frame.id] = std::min(low[frame.id], number[child]);
    }
  }
  return component;
}

std::vector<Problem> split(const Problem& problem) {
  std::vector<uint32_t> parent(problem.class_count());
  std::iota(parent.begin(), parent.end(), 0);
  const auto find = [&](uint32_t id) {
    while (parent[id] != id) id = parent[id] = parent[parent[id]];
    return id;
  };
  for (const Problem::Node& node : problem.nodes)
    if (node.alive)
      for (uint32_t child : node.children) parent[find(child)] = find(node.owner);
  std::vector<uint32_t> part(problem.class_count(), kNone), local(problem.class_count());
  std::vector<Problem> parts;
  for (uint32_t id = 0; id < problem.class_count(); ++id) {
    uint32_t& number = part[find(id)];
    if (number == kNone) number = static_cast<uint32_t>(parts.size()), parts.emplace_back();
    Problem& own = parts[number];
    local[id] = own.class_count();
    own.required.push_back(problem.required[id]);
  }
  for (const Problem::Node& node : problem.nodes) {
    if (!node.alive) continue;
    std::vector<Problem::Node>& nodes = parts[part[find(node.owner)]].nodes;
    nodes.push_back(node);
    nodes.back().owner = local[node.owner];
    for (uint32_t& child : nodes.back().children) child = local[child];
  }
  if (parts.empty()) parts.emplace_back();
  parts[0].paid = problem.paid, parts[0].settled = problem.settled;
  return parts;
}

namespace {

class Reducer {
 public:
  Reducer(Problem& problem, Bundles& bundles, bool must_sets, Budget& budget)
      : problem_(problem), bundles_(bundles), must_sets_(must_sets), budget_(budget) {}

  bool run() {
    do {
      problem_.compact();
      if (!drop_hopeless()) return false;
    } while (!budget_.exhausted() &&
             (changed_ || drop_costlier() || settle_required() || inline_classes() || use_must_sets()));
    return true;
  }

 private:
  void erase_children(Problem::Node& node, auto&& condition) {
    const auto end = std::remove_if(node.children.begin(), node.children.end(), condition);
    changed_ |= end != node.children.end();
    node.children.erase(end, node.children.end());
  }

  /// Drops nodes without finite cost and self-loops; classes of tree cost 0 are free, so all edges to them vanish.
  bool drop_hopeless() {
    changed_ = false;
    const Index index(problem_);
    const Trees trees = tree_optimum(problem_, index, {}, budget_);
    for (uint32_t id = 0; id < problem_.class_count(); ++id) {
      if (problem_.required[id] && trees.position[id] == kNone) return false;
      if (trees.cost[id] != 0) continue;
      problem_.settled = bundles_.join(problem_.settled, problem_.nodes[trees.best[id]].bundle);
      problem_.required[id] = 0;
      changed_ = true;
    }
    for (Problem::Node& node : problem_.nodes) {
      if (trees.cost[node.owner] != 0 && std::none_of(node.children.begin(), node.children.end(), [&](uint32_t c) {
            return c == node.owner || trees.position[c] == kNone;
          })) {
        erase_children(node, [&](uint32_t c) { return trees.cost[c] == 0; });
      } else {
        node.alive = false;
        changed_ = true;
      }
    }
    if (changed_) problem_.compact();
    changed_ = false;
    return true;
  }

  /// Dominance without must sets: no costlier, and no other children.
  bool drop_costlier() {
    const Index index(problem_);
    for (uint32_t id = 0; id < problem_.class_count(); ++id) {
      const std::span<const uint32_t> members = index.members(id);
      budget_.spend(members.size() * members.size() / 4);
      sketches_.clear();
      for (uint32_t node : members) sketches_.push_back(sketch(problem_.nodes[node]));
      for (size_t loser = 0; loser < members.size(); ++loser)
        for (size_t winner = 0; winner < members.size(); ++winner) {
          if (winner == loser || (sketches_[winner].children & ~sketches_[loser].children) ||
              sketches_[winner].cost > sketches_[loser].cost)
            continue;
          Problem::Node& b = problem_.nodes[members[loser]];
          const Problem::Node& a = problem_.nodes[members[winner]];
          if (!a.alive || !std::includes(b.children.begin(), b.children.end(), a.children.begin(), a.children.end()))
            continue;
          b.alive = false;
          changed_ = true;
          break;
        }
    }
    return changed_;
  }

  /// Enough of a node to tell most pairs apart: a bit for each child.
  struct Sketch {
    uint64_t cost, children;
  };
  static Sketch sketch(const Problem::Node& node) {
    Sketch made{node.cost, 0};
    for (uint32_t child : node.children) made.children |= uint64_t{1} << (child % 64);
    return made;
  }

  /// Edges to required classes of other components vanish. A required class with one node is paid.
  bool settle_required() {
    const Index index(problem_);
    spread_required(index);
    const std::vector<uint32_t> component = strong_components(problem_, index);
    std::vector<uint32_t> users(problem_.class_count());
    for (Problem::Node& node : problem_.nodes) {
      erase_children(node, [&](uint32_t c) { return problem_.required[c] && component[c] != component[node.owner]; });
      for (uint32_t child : node.children) ++users[child];
    }
    for (uint32_t id = 0; id < problem_.class_count(); ++id)
      if (problem_.required[id] && index.members(id).size() == 1) pay(index.members(id)[0], users[id] == 0);
    return changed_;
  }

  /// The children of a required class's only node are required.
  void spread_required(const Index& index) {
    std::vector<uint32_t> stack;
    for (uint32_t id = 0; id < problem_.class_count(); ++id)
      if (problem_.required[id]) stack.push_back(id);
    while (!stack.empty()) {
      const std::span<const uint32_t> members = index.members(stack.back());
      stack.pop_back();
      if (members.size() != 1) continue;
      for (uint32_t child : problem_.nodes[members[0]].children)
        if (!std::exchange(problem_.required[child], 1)) stack.push_back(child), changed_ = true;
    }
  }

  void pay(uint32_t member, bool unused) {
    Problem::Node& node = problem_.nodes[member];
    if (node.cost) {
      problem_.paid = add_costs(problem_.paid, node.cost);
      node.cost = 0;
      changed_ = true;
    }
    if (!unused) return;
    problem_.settled = bundles_.join(problem_.settled, node.bundle);
    problem_.required[node.owner] = 0;
    node.alive = false;
    changed_ = true;
  }

  // --- inlining -----------------------------------------------------------------------------------------------

  bool inline_classes() {
    const Index index(problem_);
    touched_.assign(problem_.class_count(), 0);
    for (uint32_t id = 0; id < problem_.class_count(); ++id) {
      if (problem_.required[id] || touched_[id]) continue;
      const std::span<const uint32_t> members = index.members(id), users = index.users(id);
      if (users.empty() || members.empty()) continue;
      if (members.size() == 1 && can_inline(members[0], users.size()))
        for (uint32_t user : users) absorb(problem_.nodes[user], id, problem_.nodes[members[0]]);
      else if (members.size() <= 3 && users.size() == 1)
        copy_user(users[0], id, members);
      else
        continue;
      for (uint32_t member : members) {
        for (uint32_t child : problem_.nodes[member].children) touched_[child] = 1;
        problem_.nodes[member].alive = false;
      }
      changed_ = true;
    }
    return changed_;
  }

  bool can_inline(uint32_t member, size_t users) const {
    const Problem::Node& node = problem_.nodes[member];
    return users == 1 || (node.cost == 0 && (node.children.size() <= 1 || users <= 2));
  }

  void absorb(Problem::Node& user, uint32_t id, const Problem::Node& member) {
    erase_children(user, [&](uint32_t c) { return c == id; });
    user.children.insert(user.children.end(), member.children.begin(), member.children.end());
    user.cost = add_costs(user.cost, member.cost);
    user.bundle = bundles_.join(user.bundle, member.bundle);
    std::sort(user.children.begin(), user.children.end());
    user.children.erase(std::unique(user.children.begin(), user.children.end()), user.children.end());
  }

  void copy_user(uint32_t user, uint32_t id, std::span<const uint32_t> members) {
    const Problem::Node original = problem_.nodes[user];
    problem_.nodes[user].alive = false;
    touched_[original.owner] = 1;
    for (uint32_t child : original.children) touched_[child] = 1;
    for (uint32_t member : members) {
      Problem::Node copy = original;
      absorb(copy, id, problem_.nodes[member]);
      problem_.nodes.push_back(std::move(copy));
    }
  }

  // --- must sets ----------------------------------------------------------------------------------------------

  bool use_must_sets() {
    if (!must_sets_ || !MustSets::fit(problem_.class_count())) return false;
    const Index index(problem_);
    const Trees trees = tree_optimum(problem_, index, {}, budget_);
    const MustSets must(problem_, index, trees, budget_);
    if (!must.complete()) return false;
    for (uint32_t id = 0; id < problem_.class_count(); ++id)
      if (problem_.required[id]) require_all(must.of(id));
    for (Problem::Node& node : problem_.nodes) {
      if (std::any_of(node.children.begin(), node.children.end(),
                      [&](uint32_t c) { return must.contains(c, node.owner); })) {
        node.alive = false;
        changed_ = true;
        continue;
      }
      drop_implied(node, must);
    }
    for (uint32_t id = 0; id < problem_.class_count(); ++id) drop_dominated(index.members(id), must);
    return changed_;
  }

  void require_all(const std::vector<uint64_t>& set) {
    for (uint32_t id = 0; id < problem_.class_count(); ++id)
      if (MustSets::has(set, id) && !std::exchange(problem_.required[id], 1)) changed_ = true;
  }

  /// A child that stands below another child anyway.
  void drop_implied(Problem::Node& node, const MustSets& must) {
    const auto children = node.children;
    if (children.size() < 2) return;
    budget_.spend(children.size() * children.size());
    erase_children(node, [&](uint32_t c) {
      return std::any_of(children.begin(), children.end(), [&](uint32_t d) { return d != c && must.contains(d, c); });
    });
  }

  /// A node that costs no more than another and whose children stand below that other anyway makes it needless.
  void drop_dominated(std::span<const uint32_t> members, const MustSets& must) {
    for (uint32_t loser : members) {
      Problem::Node& b = problem_.nodes[loser];
      if (!b.alive || members.size() < 2) continue;
      const std::vector<uint64_t> closure = must.closure(b);
      budget_.spend(closure.size() + members.size());
      for (uint32_t winner : members) {
        const Problem::Node& a = problem_.nodes[winner];
        if (winner == loser || !a.alive || a.cost > b.cost) continue;
        if (!std::all_of(a.children.begin(), a.children.end(), [&](uint32_t c) { return MustSets::has(closure, c); }))
          continue;
        b.alive = false;
        changed_ = true;
        break;
      }
    }
  }

  Problem& problem_;
  Bundles& bundles_;
  const bool must_sets_;
  Budget& budget_;
  bool changed_ = false;
  std::vector<char> touched_;
  std::vector<Sketch> sketches_;
};

}  // namespace

bool reduce(Problem& problem, Bundles& bundles, bool must_sets, Budget& budget) {
  return Reducer(problem, bundles, must_sets, budget).run();
}

}  // namespace weft::egraph::extraction
