#pragma once
// The e-graph in its frozen form: compressed rows built by counting sorts. All search and all extraction read only
// this.
#include <cstdint>
#include <span>
#include <vector>

#include "egraph/egraph.hpp"

namespace weft::egraph {

/// An immutable picture of a rebuilt e-graph; safe to read from many threads, also while the live graph grows.
/// Class and node ids are those of the live graph at that moment.
class FrozenGraph {
 public:
  FrozenGraph() = default;
  /// Throws Error(internal) where the graph has merges that were not rebuilt.
  explicit FrozenGraph(const EGraph& graph) { take(graph); }
  /// Takes a new picture in the memory of the old one. `uses` may be left out where nobody asks for them.
  void take(const EGraph& graph, bool with_uses = true);

  const SymbolTable& symbols() const { return *symbols_; }
  size_t node_count() const { return nodes_.size(); }
  size_t class_count() const { return classes_.size(); }
  size_t id_bound() const { return class_of_.size(); }

  /// All live nodes, by class.
  std::span<const NodeId> nodes() const { return nodes_; }
  /// Canonical classes in increasing order.
  std::span<const ClassId> classes() const { return classes_; }
  /// Live members of a canonical class, ordered by op, then newest change first, then id.
  std::span<const NodeId> nodes(ClassId id) const {
    const Groups all = groups(id);
    return {nodes_.data() + all.first->begin, nodes_.data() + all.last->begin};
  }
  /// Members of one op.
  std::span<const NodeId> nodes(ClassId id, uint32_t op) const {
    const Range all = members(id, op);
    return {nodes_.data() + all.begin, nodes_.data() + all.end};
  }
  /// All live nodes of an op, in order of their classes.
  std::span<const NodeId> nodes_of_op(uint32_t op) const;
  /// Live nodes that have the class as a child, each once, ordered by op. Empty where the picture has no uses.
  std::span<const NodeId> uses(ClassId id) const;
  std::span<const NodeId> uses(ClassId id, uint32_t op) const;

  /// The canonical class of any node or class id known at the time, also of dead and merged ones.
  ClassId class_of(NodeId node) const { return class_of_[node.value]; }
  ClassId find(ClassId id) const { return class_of_[id.value]; }
  SymbolId symbol(NodeId node) const { return symbol_of_[node.value]; }
  uint32_t op(NodeId node) const { return symbols_->op(symbol_of_[node.value]); }
  std::span<const ClassId> children(NodeId node) const { return children_at(place_of_[node.value]); }
  /// Epoch of the last change of a live node.
  uint32_t changed(NodeId node) const { return cells_[place_of_[node.value]].changed; }
  uint32_t newest(ClassId id) const { return newest_[id.value]; }  ///< latest change among the members
  uint32_t epoch() const { return epoch_; }

  // --- for the matcher: places are positions in nodes() -----------------------------------------------------------
  struct Range {
    uint32_t begin = 0, end = 0;
  };
  /// The places of a class's members.
  Range members(ClassId id) const {
    const Groups all = groups(id);
    return {all.first->begin, all.last->begin};
  }
  /// The places of a class's members of one op, newest change first.
  Range members(ClassId id, uint32_t op) const {
    const Groups all = groups(id);
    for (const Group* group = all.first; group != all.last; ++group)
      if (group->op == op) return {group[0].begin, group[1].begin};
    return {};
  }
  NodeId node_at(uint32_t place) const { return nodes_[place]; }
  uint32_t changed_at(uint32_t place) const { return cells_[place].changed; }
  std::span<const ClassId> children_at(uint32_t place) const {
    return {children_.data() + cells_[place].first_child, children_.data() + cells_[place + 1].first_child};
  }
  /// The places of nodes_of_op(op).
  std::span<const uint32_t> places_of_op(uint32_t op) const {
    return op + 1 < op_begin_.size() ? row(op_place_, op_begin_, op) : std::span<const uint32_t>();
  }
  uint32_t place_of(NodeId node) const { return place_of_[node.value]; }

 private:
  struct Cell {
    uint32_t changed, first_child;
  };
  struct Group {  // members of one class and one op
    uint32_t op, begin;
  };
  struct Groups {
    const Group *first, *last;
  };
  struct Less {  // heterogeneous: nodes by their op against an op
    const FrozenGraph* graph;
    bool operator()(NodeId node, uint32_t wanted) const { return graph->op(node) < wanted; }
    bool operator()(uint32_t wanted, NodeId node) const { return wanted < graph->op(node); }
  };
  template <typename T>
  static std::span<const T> row(const std::vector<T>& values, const std::vector<uint32_t>& begin, uint32_t i) {
    return {values.data() + begin[i], values.data() + begin[i + 1]};
  }
  Groups groups(ClassId id) const {
    return {groups_.data() + class_group_[id.value], groups_.data() + class_group_[id.value + 1]};
  }
  void sort_by_change(const EGraph& graph);
  void sort_members(const EGraph& graph);
  void sort_class(uint32_t begin, uint32_t end);
  void fill_cells(const EGraph& graph);
  void index_ops();
  void index_uses();

  struct Key {
    uint64_t order;  // op, then newest first
    NodeId node;
    bool operator<(const Key& other) const {
      return order < other.order || (order == other.order && node < other.node);
    }
  };

  const SymbolTable* symbols_ = nullptr;
  uint32_t epoch_ = 0;
  std::vector<ClassId> classes_;
  std::vector<NodeId> nodes_, by_op_, uses_;
  std::vector<Cell> cells_;    // by place, and two more: the end, and that of dead nodes
  std::vector<Group> groups_;  // by class, and one more
  std::vector<ClassId> children_;
  std::vector<uint32_t> op_begin_, op_place_, use_begin_;
  std::vector<uint32_t> class_group_, place_of_, newest_;  // by id
  std::vector<ClassId> class_of_;
  std::vector<SymbolId> symbol_of_;
  std::vector<Key> keys_;                       // while building
  std::vector<NodeId> by_change_;               // while building
  std::vector<uint32_t> starts_, epoch_begin_;  // while building
};

}  // namespace weft::egraph
