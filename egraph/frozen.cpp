#include "egraph/frozen.hpp"

#include <algorithm>
#include <numeric>

#include "ir/support/error.hpp"

namespace weft::egraph {

namespace {
/// Turns counts (at i + 1) into row starts.
void prefix_sum(std::vector<uint32_t>& begin) { std::partial_sum(begin.begin(), begin.end(), begin.begin()); }
}  // namespace

void FrozenGraph::take(const EGraph& graph, bool with_uses) {
  WEFT_CHECK(graph.clean(), "a graph with pending merges cannot be frozen");
  symbols_ = &graph.symbols(), epoch_ = graph.epoch();
  const size_t bound = graph.id_bound();
  class_of_.resize(bound), symbol_of_.resize(bound), newest_.assign(bound, 0), starts_.assign(bound + 1, 0);
  classes_.clear(), classes_.reserve(graph.class_count());
  for (uint32_t id = 0; id < bound; ++id) {
    const NodeId node(id);
    const ClassId owner = graph.class_of(node);
    class_of_[id] = owner, symbol_of_[id] = graph.symbol(node);
    if (owner.value == id) classes_.push_back(owner);
    if (graph.live(node)) ++starts_[owner.value + 1];
  }
  sort_members(graph);
  fill_cells(graph);
  index_ops();
  use_begin_.clear(), uses_.clear();
  if (with_uses) index_uses();
}

/// Nodes by newest change first, then id.
void FrozenGraph::sort_by_change(const EGraph& graph) {
  epoch_begin_.assign(epoch_ + 2, 0);
  for (uint32_t id = 0; id < class_of_.size(); ++id)
    if (graph.live(NodeId(id))) ++epoch_begin_[epoch_ - graph.changed(NodeId(id)) + 1];
  prefix_sum(epoch_begin_);
  by_change_.resize(graph.node_count());
  for (uint32_t id = 0; id < class_of_.size(); ++id)
    if (graph.live(NodeId(id))) by_change_[epoch_begin_[epoch_ - graph.changed(NodeId(id))]++] = NodeId(id);
}

void FrozenGraph::sort_members(const EGraph& graph) {
  prefix_sum(starts_);
  sort_by_change(graph);
  keys_.resize(graph.node_count());
  for (NodeId node : by_change_) {
    const uint64_t op = symbols_->op(symbol_of_[node.value]);
    keys_[starts_[class_of_[node.value].value]++] = {op << 32 | ~graph.changed(node), node};
  }
  uint32_t begin = 0;  // starts_ has moved on: each class's is now the next one's
  for (ClassId id : classes_) sort_class(std::exchange(begin, starts_[id.value]), starts_[id.value]);
}

/// Members stand in order within each op; most classes have one op, or are small.
void FrozenGraph::sort_class(uint32_t begin, uint32_t end) {
  constexpr uint32_t kSmall = 24;
  Key *const first = keys_.data() + begin, *const last = keys_.data() + end;
  if (end - begin > kSmall) {
    if (!std::is_sorted(first, last)) std::sort(first, last);
    return;
  }
  for (Key* at = first; at != last; ++at) {
    const Key key = *at;
    Key* hole = at;
    for (; hole != first && key < hole[-1]; --hole) *hole = hole[-1];
    *hole = key;
  }
}

void FrozenGraph::fill_cells(const EGraph& graph) {
  const size_t count = keys_.size();
  nodes_.resize(count), cells_.resize(count + 2), children_.clear(), groups_.clear();
  class_group_.resize(class_of_.size() + 1);
  place_of_.assign(class_of_.size(), static_cast<uint32_t>(count));
  uint32_t place = 0;
  for (uint32_t id = 0; id < class_of_.size(); ++id) {
    class_group_[id] = static_cast<uint32_t>(groups_.size());
    const uint32_t end = class_of_[id].value == id ? starts_[id] : place;
    for (uint32_t op = kNone; place < end; ++place) {
      const Key& key = keys_[place];
      const uint32_t changed = ~static_cast<uint32_t>(key.order);
      if (const auto own = static_cast<uint32_t>(key.order >> 32); own != op) {
        groups_.push_back({op = own, place});
        newest_[id] = std::max(newest_[id], changed);
      }
      nodes_[place] = key.node, place_of_[key.node.value] = place;
      cells_[place] = {changed, static_cast<uint32_t>(children_.size())};
      for (ClassId child : graph.children(key.node)) children_.push_back(child);
    }
  }
  class_group_.back() = static_cast<uint32_t>(groups_.size());
  groups_.push_back({kNone, place});
  cells_[count] = cells_[count + 1] = {0, static_cast<uint32_t>(children_.size())};
}

void FrozenGraph::index_ops() {
  uint32_t ops = 0;
  for (size_t i = 0; i + 1 < groups_.size(); ++i) ops = std::max(ops, groups_[i].op + 1);
  op_begin_.assign(ops + 1, 0);
  for (size_t i = 0; i + 1 < groups_.size(); ++i)
    op_begin_[groups_[i].op + 1] += groups_[i + 1].begin - groups_[i].begin;
  prefix_sum(op_begin_);
  by_op_.resize(nodes_.size()), op_place_.resize(nodes_.size());
  std::vector<uint32_t> next(op_begin_.begin(), op_begin_.end() - 1);
  for (size_t i = 0; i + 1 < groups_.size(); ++i)
    for (uint32_t place = groups_[i].begin; place < groups_[i + 1].begin; ++place) {
      const uint32_t at = next[groups_[i].op]++;
      by_op_[at] = nodes_[place], op_place_[at] = place;
    }
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

std::span<const NodeId> FrozenGraph::nodes_of_op(uint32_t op) const {
  return op + 1 < op_begin_.size() ? row(by_op_, op_begin_, op) : std::span<const NodeId>();
}

std::span<const NodeId> FrozenGraph::uses(ClassId id) const {
  return use_begin_.empty() ? std::span<const NodeId>() : row(uses_, use_begin_, id.value);
}

std::span<const NodeId> FrozenGraph::uses(ClassId id, uint32_t op) const {
  const std::span<const NodeId> all = uses(id);
  const auto [first, last] = std::equal_range(all.begin(), all.end(), op, Less{this});
  return all.subspan(first - all.begin(), last - first);
}

}  // namespace weft::egraph
