#include "egraph/frozen.hpp"

#include <algorithm>
#include <numeric>

#include "ir/support/error.hpp"

namespace weft::egraph {

namespace {
/// Turns counts (at i + 1) into row starts.
void prefix_sum(std::vector<uint32_t>& begin) { std::partial_sum(begin.begin(), begin.end(), begin.begin()); }
}  // namespace

FrozenGraph::FrozenGraph(const EGraph& graph) : symbols_(&graph.symbols()), epoch_(graph.epoch()) {
  WEFT_CHECK(graph.clean(), "a graph with pending merges cannot be frozen");
  const size_t bound = graph.id_bound();
  class_of_.resize(bound), changed_.resize(bound), symbol_of_.resize(bound), newest_.assign(bound, 0);
  class_begin_.assign(bound + 1, 0), child_begin_.assign(bound + 1, 0);
  for (uint32_t id = 0; id < bound; ++id) {
    const NodeId node(id);
    const ClassId owner = graph.class_of(node);
    class_of_[id] = owner.value, changed_[id] = graph.changed(node), symbol_of_[id] = graph.symbol(node);
    if (owner.value == id) classes_.push_back(owner);
    child_begin_[id + 1] = child_begin_[id];
    if (!graph.live(node)) continue;
    ++class_begin_[owner.value + 1];
    newest_[owner.value] = std::max(newest_[owner.value], changed_[id]);
    const std::span<const ClassId> children = graph.children(node);
    children_.insert(children_.end(), children.begin(), children.end());
    child_begin_[id + 1] += static_cast<uint32_t>(children.size());
  }
  sort_members(graph);
  index_ops();
  index_uses();
}

void FrozenGraph::sort_members(const EGraph& graph) {
  prefix_sum(class_begin_);
  nodes_.resize(graph.node_count());
  std::vector<uint32_t> next(class_begin_.begin(), class_begin_.end() - 1);
  for (uint32_t id = 0; id < class_of_.size(); ++id)
    if (graph.live(NodeId(id))) nodes_[next[class_of_[id]]++] = NodeId(id);
  const auto before = [&](NodeId a, NodeId b) {
    if (op(a) != op(b)) return op(a) < op(b);
    if (changed(a) != changed(b)) return changed(a) > changed(b);
    return a < b;
  };
  for (ClassId id : classes_)
    std::sort(nodes_.begin() + class_begin_[id.value], nodes_.begin() + class_begin_[id.value + 1], before);
  op_at_.resize(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) op_at_[i] = op(nodes_[i]);
}

void FrozenGraph::index_ops() {
  uint32_t ops = 0;
  for (uint32_t op : op_at_) ops = std::max(ops, op + 1);
  op_begin_.assign(ops + 1, 0);
  for (uint32_t op : op_at_) ++op_begin_[op + 1];
  prefix_sum(op_begin_);
  std::vector<uint32_t> next(op_begin_.begin(), op_begin_.end() - 1);
  by_op_.resize(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) by_op_[next[op_at_[i]]++] = nodes_[i];
}

void FrozenGraph::index_uses() {
  std::vector<NodeId> last_user(class_of_.size());
  const auto for_each_use = [&](auto&& visit) {
    last_user.assign(class_of_.size(), NodeId());
    for (NodeId node : by_op_)
      for (ClassId child : children(node))
        if (last_user[child.value] != node) visit(child.value, last_user[child.value] = node);
  };
  use_begin_.assign(class_of_.size() + 1, 0);
  for_each_use([&](uint32_t child, NodeId) { ++use_begin_[child + 1]; });
  prefix_sum(use_begin_);
  std::vector<uint32_t> next(use_begin_.begin(), use_begin_.end() - 1);
  uses_.resize(use_begin_.back());
  for_each_use([&](uint32_t child, NodeId node) { uses_[next[child]++] = node; });
}

std::span<const NodeId> FrozenGraph::nodes(ClassId id, uint32_t op) const {
  const uint32_t *first = op_at_.data() + class_begin_[id.value], *last = op_at_.data() + class_begin_[id.value + 1];
  if (last - first > 8) first = std::lower_bound(first, last, op);
  while (first != last && *first < op) ++first;
  const uint32_t* end = first;
  if (last - first > 16)
    end = std::upper_bound(first, last, op);
  else
    while (end != last && *end == op) ++end;
  return {nodes_.data() + (first - op_at_.data()), nodes_.data() + (end - op_at_.data())};
}

std::span<const NodeId> FrozenGraph::nodes_of_op(uint32_t op) const {
  if (op + 1 >= op_begin_.size()) return {};
  return row(by_op_, op_begin_, op);
}

std::span<const NodeId> FrozenGraph::uses(ClassId id, uint32_t op) const {
  const std::span<const NodeId> all = uses(id);
  const auto [first, last] = std::equal_range(all.begin(), all.end(), op, Less{this});
  return all.subspan(first - all.begin(), last - first);
}

}  // namespace weft::egraph
