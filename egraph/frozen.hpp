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
  /// Throws Error(internal) where the graph has merges that were not rebuilt.
  explicit FrozenGraph(const EGraph& graph);

  const SymbolTable& symbols() const { return *symbols_; }
  size_t node_count() const { return nodes_.size(); }
  size_t class_count() const { return classes_.size(); }
  size_t id_bound() const { return class_of_.size(); }

  /// All live nodes, by class.
  std::span<const NodeId> nodes() const { return nodes_; }
  /// Canonical classes in increasing order.
  std::span<const ClassId> classes() const { return classes_; }
  /// Live members of a canonical class, ordered by op, then newest change first, then id.
  std::span<const NodeId> nodes(ClassId id) const { return row(nodes_, class_begin_, id.value); }
  /// Members of one op.
  std::span<const NodeId> nodes(ClassId id, uint32_t op) const;
  /// All live nodes of an op, in order of their classes.
  std::span<const NodeId> nodes_of_op(uint32_t op) const;
  /// Live nodes that have the class as a child, each once, ordered by op.
  std::span<const NodeId> uses(ClassId id) const { return row(uses_, use_begin_, id.value); }
  std::span<const NodeId> uses(ClassId id, uint32_t op) const;

  /// The canonical class of any node or class id known at the time, also of dead and merged ones.
  ClassId class_of(NodeId node) const { return ClassId(class_of_[node.value]); }
  ClassId find(ClassId id) const { return ClassId(class_of_[id.value]); }
  SymbolId symbol(NodeId node) const { return symbol_of_[node.value]; }
  uint32_t op(NodeId node) const { return symbols_->op(symbol_of_[node.value]); }
  std::span<const ClassId> children(NodeId node) const { return row(children_, child_begin_, node.value); }
  uint32_t changed(NodeId node) const { return changed_[node.value]; }  ///< epoch of the node's last change
  uint32_t newest(ClassId id) const { return newest_[id.value]; }       ///< latest change among the members
  uint32_t epoch() const { return epoch_; }

 private:
  struct Less {  // heterogeneous: nodes by their op against an op
    const FrozenGraph* graph;
    bool operator()(NodeId node, uint32_t wanted) const { return graph->op(node) < wanted; }
    bool operator()(uint32_t wanted, NodeId node) const { return wanted < graph->op(node); }
  };
  template <typename T>
  static std::span<const T> row(const std::vector<T>& values, const std::vector<uint32_t>& begin, uint32_t i) {
    return {values.data() + begin[i], values.data() + begin[i + 1]};
  }
  void sort_members(const EGraph& graph);
  void index_ops();
  void index_uses();

  const SymbolTable* symbols_;
  uint32_t epoch_ = 0;
  std::vector<ClassId> classes_;
  std::vector<uint32_t> class_begin_, op_begin_, use_begin_, child_begin_;  // rows of the four lists below
  std::vector<NodeId> nodes_, by_op_, uses_;
  std::vector<ClassId> children_;
  std::vector<uint32_t> op_at_;  // beside nodes_
  std::vector<uint32_t> class_of_, changed_, newest_;
  std::vector<SymbolId> symbol_of_;
};

}  // namespace weft::egraph
