#include "egraph/selection.hpp"

#include <algorithm>
#include <utility>

#include "ir/support/error.hpp"

namespace weft::egraph {

namespace {

class Selector {
 public:
  Selector(const FrozenGraph& graph, const Bounds& bounds)
      : graph_(graph), bounds_(bounds), allowed_(graph.id_bound(), bounds.only.empty()), seen_(graph.id_bound()) {
    for (ClassId id : bounds.only) allowed_[canonical(id).value] = 1;
  }

  Selection run() {
    reach_classes();
    std::vector<std::vector<NodeId>> wanted;
    for (ClassId id : out_.classes) wanted.push_back(members(id));
    share_room(wanted);
    return keep(wanted);
  }

 private:
  bool chosen(NodeId node) const { return bounds_.extraction && (*bounds_.extraction)[graph_.class_of(node)] == node; }
  ClassId canonical(ClassId id) const {
    if (id.value >= graph_.id_bound())
      fail(ErrorCode::invalid_argument, "class {} does not exist: classes are below {}", id.value, graph_.id_bound());
    return graph_.find(id);
  }

  void reach(ClassId id) {
    if (std::exchange(seen_[id.value], 1)) return;
    if (allowed_[id.value])
      out_.classes.push_back(id);
    else
      ++out_.hidden_classes;
  }

  /// Breadth first from the roots, or all.
  void reach_classes() {
    if (bounds_.roots.empty()) {
      for (ClassId id : graph_.classes()) reach(id);
      return;
    }
    for (ClassId root : bounds_.roots) reach(canonical(root));
    size_t begin = 0;
    for (uint32_t level = 0; begin < out_.classes.size(); ++level) {
      const size_t end = out_.classes.size();
      for (; begin < end; ++begin)
        for (NodeId node : members(out_.classes[begin]))
          for (ClassId child : graph_.children(node)) {
            if (level < bounds_.depth)
              reach(child);
            else if (!std::exchange(seen_[child.value], 1))
              ++out_.hidden_classes;
          }
    }
  }

  /// Those that may be shown, the chosen one first.
  std::vector<NodeId> members(ClassId id) const {
    std::vector<NodeId> nodes;
    for (NodeId node : graph_.nodes(id))
      if (chosen(node) || !bounds_.only_extracted) nodes.push_back(node);
    std::stable_partition(nodes.begin(), nodes.end(), [&](NodeId node) { return chosen(node); });
    return nodes;
  }

  void share_room(const std::vector<std::vector<NodeId>>& wanted) {
    taken_.assign(graph_.id_bound(), 0), out_.shown.assign(graph_.id_bound(), 0);
    room_ = bounds_.max_nodes;
    const auto anything = [](NodeId) { return true; };
    const auto whole = [&](NodeId node) {
      const std::span<const ClassId> children = graph_.children(node);
      return std::all_of(children.begin(), children.end(), [&](ClassId id) { return shown_before_[id.value] != 0; });
    };
    take(wanted, false, [&](NodeId node) { return chosen(node); });
    if (bounds_.preferred) take(wanted, false, bounds_.preferred);
    take(wanted, true, whole);
    take(wanted, true, anything);
    take(wanted, false, anything);
  }

  /// Takes nodes as long as there is room: one of each class, then a second one, and so on.
  template <typename Wish>
  void take(const std::vector<std::vector<NodeId>>& wanted, bool only_shown, const Wish& wish) {
    shown_before_ = out_.shown;
    std::vector<std::vector<NodeId>> lists;
    size_t longest = 0;
    for (const std::vector<NodeId>& nodes : wanted) {
      lists.emplace_back();
      for (NodeId node : nodes)
        if (!taken_[node.value] && (!only_shown || shown_before_[graph_.class_of(node).value]) && wish(node))
          lists.back().push_back(node);
      longest = std::max(longest, lists.back().size());
    }
    for (size_t round = 0; round < longest && room_; ++round)
      for (const std::vector<NodeId>& list : lists) {
        if (round >= list.size() || room_ == 0) continue;
        taken_[list[round].value] = out_.shown[graph_.class_of(list[round]).value] = 1, --room_;
      }
  }

  Selection keep(const std::vector<std::vector<NodeId>>& wanted) {
    std::vector<ClassId> classes;
    for (size_t i = 0; i < wanted.size(); ++i) {
      std::vector<NodeId> nodes;
      for (NodeId node : wanted[i])
        if (taken_[node.value]) nodes.push_back(node);
      if (nodes.empty()) {
        out_.hidden_classes += !wanted[i].empty();
        continue;
      }
      classes.push_back(out_.classes[i]);
      out_.hidden.push_back(wanted[i].size() - nodes.size());
      out_.nodes.push_back(std::move(nodes));
    }
    out_.classes = std::move(classes);
    return std::move(out_);
  }

  const FrozenGraph& graph_;
  const Bounds& bounds_;
  std::vector<char> allowed_, seen_, shown_before_;  // by class
  std::vector<char> taken_;                          // by node
  size_t room_ = 0;
  Selection out_;
};

}  // namespace

Selection select(const FrozenGraph& graph, const Bounds& bounds) { return Selector(graph, bounds).run(); }

}  // namespace weft::egraph
