#pragma once
// The e-graph in its live form: flat pools, hash-cons, union-find, deferred rebuild. See README.md and frozen.hpp.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "egraph/analysis.hpp"
#include "egraph/columns.hpp"
#include "egraph/hash_cons.hpp"
#include "egraph/symbol.hpp"

namespace weft::egraph {

/// Why two classes were merged. `rule` indexes the rules of the run that did it.
struct Reason {
  static constexpr uint32_t kGiven = kNone;           ///< merged by the host
  static constexpr uint32_t kCongruence = kNone - 1;  ///< equal symbols over equal children
  static constexpr uint32_t kAnalysis = kNone - 2;    ///< merged by Analysis::modify
  uint32_t rule = kGiven;
};

/// One edge of the proof forest: the nodes (as raw class ids) that were said to be equal, and why.
struct MergeRecord {
  ClassId left, right;
  Reason reason;
};

/// A set of terms closed under congruence. Not thread-safe for changes; const methods may run in parallel.
/// Copyable: a copy is a snapshot, assigning it back is a rollback (the analysis copies its own facts).
/// Bounds: 2^32 - 2 nodes and child slots over its whole life; beyond them, or beyond `set_limits`, add throws
/// Error(limit).
class EGraph {
 public:
  /// `symbols` (and `analysis`, where given) must outlive the graph.
  explicit EGraph(SymbolTable& symbols, Analysis* analysis = nullptr);

  SymbolTable& symbols() const { return *symbols_; }
  Analysis* analysis() const { return analysis_; }

  // --- building -----------------------------------------------------------------------------------------------
  /// The class of the node `symbol(children...)`, which is made where it does not exist. Children need not be
  /// canonical.
  ClassId add(SymbolId symbol, std::span<const ClassId> children = {});
  /// As add, and tells the node.
  NodeId add_node(SymbolId symbol, std::span<const ClassId> children = {});
  /// The node's class, or an invalid id where there is no such node (up to merges not yet rebuilt).
  ClassId lookup(SymbolId symbol, std::span<const ClassId> children = {}) const;
  NodeId lookup_node(SymbolId symbol, std::span<const ClassId> children = {}) const;
  /// As lookup_node and add_node, for children known to be canonical (as they are all after rebuild); `key` is
  /// NodeKey(symbol, children).
  NodeId lookup_canonical(const NodeKey& key, std::span<const ClassId> children) const {
    return NodeId(find_equal(key, children).node);
  }
  /// For keys of at most two children, which need not be given again.
  NodeId lookup_canonical(const NodeKey& key) const { return NodeId(hash_cons_.find(key).node); }
  /// The same in two halves, so that many can wait for memory together.
  HashCons::Probe begin_lookup(const NodeKey& key) const { return hash_cons_.begin_find(key); }
  NodeId end_lookup(SymbolId symbol, const HashCons::Probe& probe) const {
    return NodeId(hash_cons_.end_find(symbol, probe));
  }
  NodeId add_canonical(const NodeKey& key, std::span<const ClassId> children) {
    const HashCons::Place place = find_equal(key, children);
    return place.node != HashCons::kEmpty ? NodeId(place.node) : make_alone(key, children, place);
  }
  /// Says that two classes are equal; returns the class that stays. Congruence is restored by the next rebuild.
  /// For explanations pass the ids of the nodes themselves: `class_alias(node)`.
  ClassId merge(ClassId a, ClassId b, Reason reason = {});
  /// As merge; returns whether the classes were different.
  bool unite(ClassId a, ClassId b, Reason reason = {}) {
    if (find(a) == find(b)) return false;
    merge(a, b, reason);
    return true;
  }
  /// Does what merge(id, add_canonical(key, children), reason) does, without a class between where the node is new.
  /// Returns whether anything changed. Not for graphs with an analysis (which knows a node by a class of its own).
  bool add_to_class(ClassId id, const NodeKey& key, std::span<const ClassId> children, Reason reason = {}) {
    const HashCons::Place place = find_equal(key, children);
    if (place.node != HashCons::kEmpty) return unite(id, ClassId(place.node), reason);
    make_in_class(id, key, children, place, reason);
    return true;
  }
  /// Restores congruence and the analysis. Returns the number of merges that it made itself.
  size_t rebuild();
  bool clean() const { return pending_.empty() && pending_updates_.empty() && pending_modify_.empty(); }
  /// Takes members of a class out of search, counts and extraction (but not out of the hash-cons: adding one again
  /// finds the class). `keep(NodeId)` tells who stays.
  template <typename Keep>
  void prune(ClassId id, Keep&& keep);

  // --- reading ------------------------------------------------------------------------------------------------
  ClassId find(ClassId id) const {
    uint32_t at = id.value;
    while (parent_[at] != at) at = parent_[at];
    return ClassId(at);
  }
  /// As find, and shortens the way for the next time.
  ClassId find(ClassId id) { return ClassId(find_and_halve(id.value)); }
  ClassId class_of(NodeId node) const { return find(ClassId(node.value)); }
  /// Every node has a class id of its own (not canonical once merged): the class that it was made in.
  static ClassId class_alias(NodeId node) { return ClassId(node.value); }
  SymbolId symbol(NodeId node) const { return SymbolId(nodes_[node.value].symbol); }
  uint32_t op(NodeId node) const { return symbols_->op(symbol(node)); }
  uint32_t arity(NodeId node) const { return nodes_[node.value].arity(); }
  /// Canonical right after rebuild; otherwise pass them through find. Invalidated by add.
  std::span<const ClassId> children(NodeId node) const {
    const Node& n = nodes_[node.value];
    return {children_.data() + n.first_child, n.arity()};
  }
  /// Not removed as a congruent duplicate, and not pruned.
  bool live(NodeId node) const { return (nodes_[node.value].bits & (kDead | kPruned)) == 0; }
  /// Calls visit(NodeId) for every live member; the order is a function of the calls made so far. The visitor must
  /// not change the graph.
  template <typename Visit>
  void for_each_node(ClassId id, Visit&& visit) const;
  /// Calls visit(NodeId) for every live node that has the class as a child (once per slot). Complete only after
  /// rebuild.
  template <typename Visit>
  void for_each_use(ClassId id, Visit&& visit) const;
  std::vector<NodeId> nodes(ClassId id) const;  ///< live members in increasing order
  std::vector<NodeId> uses(ClassId id) const;   ///< live users in increasing order, each once
  std::vector<ClassId> classes() const;         ///< canonical classes in increasing order
  size_t node_count() const { return live_nodes_; }
  size_t class_count() const { return live_classes_; }
  size_t id_bound() const { return node_bound_; }  ///< all node and class ids are below: the size of the host's vectors
  size_t bytes() const;                            ///< memory of the pools

  // --- limits, change tracking, checks ------------------------------------------------------------------------
  /// add throws Error(limit) rather than make a node beyond these. 0 = none.
  void set_limits(size_t nodes, size_t bytes) { node_limit_ = nodes, byte_limit_ = bytes; }
  size_t node_limit() const { return node_limit_; }
  size_t byte_limit() const { return byte_limit_; }
  bool full() const {
    return (node_limit_ && live_nodes_ >= node_limit_) || (byte_limit_ && bytes_with_next() >= byte_limit_);
  }
  /// A number that grows with every change of the graph: equal means unchanged.
  uint64_t version() const { return version_; }
  /// Nodes made, re-canonicalised, moved to another class, or of changed facts from now on carry this epoch.
  uint32_t epoch() const { return epoch_; }
  void next_epoch() { ++epoch_; }
  uint32_t changed(NodeId node) const { return stamps_[node.value].changed; }
  /// The same without moves to another class: what is below the node, not what it is equal to.
  uint32_t formed(NodeId node) const { return stamps_[node.value].formed; }
  /// Verifies every invariant of the live form (after rebuild); throws Error(internal) naming the first that is broken.
  void check() const;

  /// Keeps what explain() needs from now on (call on an empty graph); costs 4 bytes a child and 12 a merge.
  void record_merges();
  const std::vector<MergeRecord>& merge_records() const { return merges_; }
  bool records_merges() const { return recording_; }
  /// The children with which the node was made. Needs record_merges().
  std::span<const ClassId> original_children(NodeId node) const;

 private:
  static constexpr uint32_t kDead = 1u << 31, kPruned = 1u << 30, kArityMask = kPruned - 1;
  struct Node {
    uint32_t symbol, first_child, bits;
    uint32_t next;  // circular list of the members of a class
    uint32_t arity() const { return bits & kArityMask; }
  };
  struct Class {
    uint32_t use;     // a slot of its circular list of uses, or kNone
    uint32_t weight;  // members + uses, decides who loses a merge
  };
  struct Stamp {
    uint32_t changed, formed;  // epochs
  };
  struct Slot {
    uint32_t node;
    uint32_t next;  // circular list of the uses of a class
  };

  uint32_t find_and_halve(uint32_t id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }
  HashCons::Place find_equal(const NodeKey& key, std::span<const ClassId> children) const {
    if (children.size() <= 2) return hash_cons_.find(key);
    return hash_cons_.find(key, [&](uint32_t node) { return has_children(node, children); });
  }
  bool has_children(uint32_t node, std::span<const ClassId> children) const;
  NodeKey key_of(uint32_t node) const { return {SymbolId(nodes_[node].symbol), children(NodeId(node))}; }
  NodeId make_alone(const NodeKey& key, std::span<const ClassId> children, const HashCons::Place& place);
  void make_in_class(ClassId id, const NodeKey& key, std::span<const ClassId> children, const HashCons::Place& place,
                     Reason reason);
  uint32_t make_node(const NodeKey& key, std::span<const ClassId> children, std::span<const ClassId> given,
                     const HashCons::Place& place);
  void check_room(size_t arity) const {
    if (node_limit_ || byte_limit_ || std::max<size_t>(node_bound_, slot_bound_ + arity) >= kPruned - 1)
      check_limits(arity);
  }
  void check_limits(size_t arity) const;
  /// bytes() if the hash-cons has to grow for the next node.
  size_t bytes_with_next() const { return bytes() - hash_cons_.bytes() + hash_cons_.bytes_of_next(); }
  void inform_analysis(uint32_t node);
  void repair_uses(uint32_t loser);
  void repair_node(uint32_t node);
  void settle(uint32_t node);
  void bury(uint32_t node);
  void make_unique(std::vector<uint32_t>& ids);
  void propagate_facts();
  void run_modify();
  void splice_uses(uint32_t into, uint32_t from);
  void stamp_members(uint32_t id);
  void check_node(uint32_t node) const;
  void check_members(std::vector<char>& seen, uint32_t id) const;
  void check_uses(std::vector<char>& seen, uint32_t id) const;
  void prune_node(uint32_t node);

  SymbolTable* symbols_;
  Analysis* analysis_;
  Column<Node> nodes_;                      // by node id
  Column<Stamp> stamps_;                    // by node id
  Column<uint32_t> parent_;                 // by class id: union-find
  Column<Class> classes_;                   // by class id
  Column<ClassId> children_;                // by slot
  Column<Slot> slots_;                      // by slot
  std::vector<ClassId> original_children_;  // by slot, when recording
  HashCons hash_cons_;
  std::vector<uint32_t> pending_;          // classes that lost a merge and whose uses are stale
  std::vector<uint32_t> pending_updates_;  // classes whose facts changed and whose users must be updated
  std::vector<uint32_t> pending_modify_;   // classes to pass to Analysis::modify
  std::vector<char> marked_;               // by class id: scratch, all zero between calls
  std::vector<MergeRecord> merges_;
  uint32_t node_bound_ = 0, slot_bound_ = 0;  // how many there are by node id (as by class id) and by slot
  size_t live_nodes_ = 0, live_classes_ = 0, node_limit_ = 0, byte_limit_ = 0;
  uint64_t version_ = 0;
  uint32_t epoch_ = 1;
  size_t merge_count_ = 0;
  bool recording_ = false, modifying_ = false;
};

template <typename Visit>
void EGraph::for_each_node(ClassId id, Visit&& visit) const {
  const uint32_t start = find(id).value;
  uint32_t node = start;
  do {
    if (live(NodeId(node))) visit(NodeId(node));
    node = nodes_[node].next;
  } while (node != start);
}

template <typename Visit>
void EGraph::for_each_use(ClassId id, Visit&& visit) const {
  const uint32_t start = classes_[find(id).value].use;
  if (start == kNone) return;
  uint32_t slot = start;
  do {
    const NodeId node(slots_[slot].node);
    if (live(node)) visit(node);
    slot = slots_[slot].next;
  } while (slot != start);
}

template <typename Keep>
void EGraph::prune(ClassId id, Keep&& keep) {
  for (NodeId node : nodes(id))
    if (!keep(node)) prune_node(node.value);
}

}  // namespace weft::egraph
