#include "egraph/egraph.hpp"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <utility>

#include "ir/support/error.hpp"

namespace weft::egraph {

EGraph::EGraph(SymbolTable& symbols, Analysis* analysis) : symbols_(&symbols), analysis_(analysis) {}

// --- hash-cons ------------------------------------------------------------------------------------------------

uint32_t EGraph::hash_of(SymbolId symbol, std::span<const ClassId> children) {
  uint64_t h = symbol.value * 0x9e3779b97f4a7c15ull;
  for (ClassId child : children) h = ((h ^ child.value) * 0xff51afd7ed558ccdull) ^ (h >> 29);
  h *= 0xc4ceb9fe1a85ec53ull;
  return static_cast<uint32_t>(h >> 32);
}

uint32_t EGraph::find_equal(uint32_t hash, SymbolId symbol, std::span<const ClassId> children) const {
  return hash_cons_.find(hash, [&](uint32_t node) {
    const Node& n = nodes_[node];
    if (n.symbol != symbol.value || n.arity() != children.size()) return false;
    const ClassId* own = children_.data() + n.first_child;
    for (ClassId child : children)
      if (child != *own++) return false;
    return true;
  });
}

namespace {
/// Room for the canonical children of one node, on the stack where they are few.
using Key = boost::container::small_vector<ClassId, 8>;
}  // namespace

// --- adding ---------------------------------------------------------------------------------------------------

ClassId EGraph::add(SymbolId symbol, std::span<const ClassId> children) {
  return ClassId(find_and_halve(add_node(symbol, children).value));
}

NodeId EGraph::add_node(SymbolId symbol, std::span<const ClassId> children) {
  Key canonical(children.size(), boost::container::default_init);
  for (size_t i = 0; i < children.size(); ++i) {
    WEFT_CHECK(children[i].value < nodes_.size(), "child {} of {} is class {} of {}", i, symbols_->name(symbol),
               children[i].value, nodes_.size());
    canonical[i] = ClassId(find_and_halve(children[i].value));
  }
  const std::span<const ClassId> key(canonical.data(), canonical.size());
  const uint32_t hash = hash_of(symbol, key);
  if (const uint32_t node = find_equal(hash, symbol, key); node != HashCons::kEmpty) return NodeId(node);
  const NodeId node = make_node(hash, symbol, key);
  if (recording_) original_children_.insert(original_children_.end(), children.begin(), children.end());
  if (analysis_) {
    analysis_->make(*this, node, class_alias(node));
    if (modifying_) {
      pending_modify_.push_back(node.value);
    } else {
      modifying_ = true;
      struct Reset {
        bool& flag;
        ~Reset() { flag = false; }
      } reset{modifying_};
      analysis_->modify(*this, class_alias(node));
    }
  }
  return node;
}

NodeId EGraph::lookup_node(SymbolId symbol, std::span<const ClassId> children) const {
  Key canonical(children.size(), boost::container::default_init);
  std::transform(children.begin(), children.end(), canonical.begin(), [&](ClassId child) { return find(child); });
  return lookup_canonical(symbol, {canonical.data(), canonical.size()});
}

NodeId EGraph::lookup_canonical(SymbolId symbol, std::span<const ClassId> children) const {
  return NodeId(find_equal(hash_of(symbol, children), symbol, children));
}

ClassId EGraph::lookup(SymbolId symbol, std::span<const ClassId> children) const {
  const NodeId node = lookup_node(symbol, children);
  return node.valid() ? class_of(node) : ClassId();
}

void EGraph::check_room(size_t arity) const {
  if (nodes_.size() >= kPruned - 1 || children_.size() + arity >= kNone || arity >= kArityMask)
    fail(ErrorCode::limit, "the e-graph is full: {} nodes and {} child slots made", nodes_.size(), children_.size());
  if (node_limit_ && live_nodes_ >= node_limit_) fail(ErrorCode::limit, "the e-graph may hold {} nodes", node_limit_);
  if (byte_limit_ && bytes() >= byte_limit_) fail(ErrorCode::limit, "the e-graph may take {} bytes", byte_limit_);
}

NodeId EGraph::make_node(uint32_t hash, SymbolId symbol, std::span<const ClassId> children) {
  check_room(children.size());
  const auto id = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back({symbol.value, static_cast<uint32_t>(children_.size()), static_cast<uint32_t>(children.size())});
  member_next_.push_back(id);
  changed_.push_back(epoch_);
  parent_.push_back(id);
  use_head_.push_back(kNone);
  weight_.push_back(1);
  for (ClassId child : children) {
    const auto slot = static_cast<uint32_t>(children_.size());
    children_.push_back(child);
    slot_node_.push_back(id);
    use_next_.push_back(slot);
    link_use(slot);
  }
  hash_cons_.insert(hash, id);
  ++live_nodes_, ++live_classes_, ++version_;
  return NodeId(id);
}

void EGraph::link_use(uint32_t slot) {
  const uint32_t id = children_[slot].value;
  ++weight_[id];
  if (use_head_[id] == kNone)
    use_head_[id] = slot;
  else
    std::swap(use_next_[use_head_[id]], use_next_[slot]);
}

// --- merging --------------------------------------------------------------------------------------------------

ClassId EGraph::merge(ClassId a, ClassId b, Reason reason) {
  uint32_t into = find_and_halve(a.value), from = find_and_halve(b.value);
  if (into == from) return ClassId(into);
  if (weight_[into] < weight_[from] || (weight_[into] == weight_[from] && from < into)) std::swap(into, from);
  if (analysis_) {
    if (modifying_ && reason.rule == Reason::kGiven) reason.rule = Reason::kAnalysis;
    if (analysis_->join(*this, ClassId(into), ClassId(from))) pending_updates_.push_back(into);
    pending_modify_.push_back(into);
  }
  stamp_members(from);
  std::swap(member_next_[into], member_next_[from]);
  parent_[from] = into;
  weight_[into] += weight_[from];
  pending_.push_back(from);
  if (recording_) merges_.push_back({a, b, reason});
  --live_classes_, ++version_, ++merge_count_;
  return ClassId(into);
}

/// Marks all members of a class as changed; dead ones leave the list on the way (but for the one that gives the class
/// its id).
void EGraph::stamp_members(uint32_t id) {
  uint32_t previous = id;
  changed_[id] = epoch_;
  for (uint32_t node = member_next_[id]; node != id; node = member_next_[previous]) {
    if (nodes_[node].bits & kDead) {
      member_next_[previous] = member_next_[node];
      member_next_[node] = node;
    } else {
      changed_[node] = epoch_;
      previous = node;
    }
  }
}

size_t EGraph::rebuild() {
  const size_t before = merge_count_;
  while (!clean()) {
    while (!pending_.empty()) {
      const std::vector<uint32_t> losers = std::exchange(pending_, {});
      for (uint32_t loser : losers) repair_uses(loser);
    }
    propagate_facts();
    if (pending_.empty()) run_modify();
  }
  return merge_count_ - before;
}

/// Re-canonicalises the users of a class that lost a merge, then hands its list of uses to the class that it was in at
/// the start: where that one loses a merge on the way, it is pending itself, and slots that name it are in its list.
void EGraph::repair_uses(uint32_t loser) {
  const uint32_t head = use_head_[loser], into = find_and_halve(loser);
  if (head == kNone) return;
  uint32_t previous = head;
  repair_node(slot_node_[head]);
  for (uint32_t slot = use_next_[head]; slot != head; slot = use_next_[previous]) {
    if (nodes_[slot_node_[slot]].bits & kDead) {
      use_next_[previous] = use_next_[slot];
      use_next_[slot] = slot;
    } else {
      repair_node(slot_node_[slot]);
      previous = slot;
    }
  }
  splice_uses(into, loser);
}

void EGraph::splice_uses(uint32_t into, uint32_t from) {
  if (use_head_[into] == kNone)
    use_head_[into] = use_head_[from];
  else
    std::swap(use_next_[use_head_[into]], use_next_[use_head_[from]]);
  use_head_[from] = kNone;
}

/// The hash-cons entry is erased under the children that it was made with, before they are replaced: no stale keys.
void EGraph::repair_node(uint32_t node) {
  Node& n = nodes_[node];
  if (n.bits & kDead) return;
  ClassId* const children = children_.data() + n.first_child;
  const std::span<const ClassId> key(children, n.arity());
  if (std::all_of(key.begin(), key.end(), [&](ClassId child) { return parent_[child.value] == child.value; })) return;
  const bool erased = hash_cons_.erase(hash_of(SymbolId(n.symbol), key), node);
  WEFT_CHECK(erased, "node {} is not in the hash-cons", node);
  for (ClassId& child : std::span(children, n.arity())) child = ClassId(find_and_halve(child.value));
  changed_[node] = epoch_;
  ++version_;
  settle(node, hash_of(SymbolId(n.symbol), key));
}

/// Puts a node back into the hash-cons, or merges it with the node that is congruent to it.
void EGraph::settle(uint32_t node, uint32_t hash) {
  const Node& n = nodes_[node];
  const std::span<const ClassId> key(children_.data() + n.first_child, n.arity());
  const uint32_t twin = find_equal(hash, SymbolId(n.symbol), key);
  if (twin == HashCons::kEmpty) {
    hash_cons_.insert(hash, node);
    return;
  }
  if ((nodes_[twin].bits & kPruned) && !(n.bits & kPruned)) {  // what is searched stays
    hash_cons_.erase(hash, twin);
    hash_cons_.insert(hash, node);
    bury(twin);
  } else {
    bury(node);
  }
  merge(ClassId(node), ClassId(twin), {Reason::kCongruence});
}

void EGraph::bury(uint32_t node) {
  if (live(NodeId(node))) --live_nodes_;
  nodes_[node].bits |= kDead;
  ++version_;
}

void EGraph::prune_node(uint32_t node) {
  if (!live(NodeId(node))) return;
  --live_nodes_, ++version_;
  nodes_[node].bits |= kPruned;
}

// --- analysis -------------------------------------------------------------------------------------------------

void EGraph::propagate_facts() {
  while (!pending_updates_.empty() && pending_.empty()) {
    const uint32_t id = find_and_halve(pending_updates_.back());
    pending_updates_.pop_back();
    stamp_members(id);
    std::vector<uint32_t> users;
    for_each_use(ClassId(id), [&](NodeId node) { users.push_back(node.value); });
    for (uint32_t user : users) {
      changed_[user] = epoch_;
      const ClassId owner(find_and_halve(user));
      if (!analysis_->update(*this, NodeId(user), owner)) continue;
      pending_updates_.push_back(owner.value);
      pending_modify_.push_back(owner.value);
      ++version_;
    }
  }
}

void EGraph::run_modify() {
  std::vector<uint32_t> ids = std::exchange(pending_modify_, {});
  for (uint32_t& id : ids) id = find_and_halve(id);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  modifying_ = true;
  struct Reset {
    bool& flag;
    ~Reset() { flag = false; }
  } reset{modifying_};
  for (uint32_t id : ids) analysis_->modify(*this, ClassId(find_and_halve(id)));
}

// --- reading --------------------------------------------------------------------------------------------------

std::span<const ClassId> EGraph::children(NodeId node) const {
  const Node& n = nodes_[node.value];
  return {children_.data() + n.first_child, n.arity()};
}

std::vector<NodeId> EGraph::nodes(ClassId id) const {
  std::vector<NodeId> members;
  for_each_node(id, [&](NodeId node) { members.push_back(node); });
  std::sort(members.begin(), members.end());
  return members;
}

std::vector<NodeId> EGraph::uses(ClassId id) const {
  std::vector<NodeId> users;
  for_each_use(id, [&](NodeId node) { users.push_back(node); });
  std::sort(users.begin(), users.end());
  users.erase(std::unique(users.begin(), users.end()), users.end());
  return users;
}

std::vector<ClassId> EGraph::classes() const {
  std::vector<ClassId> canonical;
  canonical.reserve(live_classes_);
  for (uint32_t id = 0; id < parent_.size(); ++id)
    if (parent_[id] == id) canonical.push_back(ClassId(id));
  return canonical;
}

size_t EGraph::bytes() const {
  const size_t by_node = sizeof(Node) + 5 * sizeof(uint32_t);
  const size_t by_slot = (recording_ ? 4 : 3) * sizeof(uint32_t);
  return nodes_.size() * by_node + children_.size() * by_slot + hash_cons_.bytes() +
         merges_.size() * sizeof(MergeRecord);
}

void EGraph::record_merges() {
  WEFT_CHECK(nodes_.empty(), "record_merges on a graph of {} nodes", nodes_.size());
  recording_ = true;
}

std::span<const ClassId> EGraph::original_children(NodeId node) const {
  WEFT_CHECK(recording_, "original_children without record_merges");
  const Node& n = nodes_[node.value];
  return {original_children_.data() + n.first_child, n.arity()};
}

}  // namespace weft::egraph
