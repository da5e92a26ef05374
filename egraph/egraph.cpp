#include "egraph/egraph.hpp"

#include <algorithm>
#include <array>
#include <boost/container/vector.hpp>
#include <utility>

#include "ir/support/error.hpp"

namespace weft::egraph {

EGraph::EGraph(SymbolTable& symbols, Analysis* analysis) : symbols_(&symbols), analysis_(analysis) {}

bool EGraph::has_children(uint32_t node, std::span<const ClassId> children) const {
  const std::span<const ClassId> own = this->children(NodeId(node));
  return std::equal(own.begin(), own.end(), children.begin(), children.end());
}

// --- adding ---------------------------------------------------------------------------------------------------

namespace {

/// The canonical children of one node, on the stack where they are few.
class Canonical {
 public:
  template <typename Find>
  Canonical(std::span<const ClassId> children, Find&& find) : count_(children.size()) {
    if (count_ > kFew) many_.resize(count_);
    ClassId* at = data();
    for (ClassId child : children) *at++ = find(child);
  }
  operator std::span<const ClassId>() { return {data(), count_}; }

 private:
  static constexpr size_t kFew = 8;
  ClassId* data() { return count_ > kFew ? many_.data() : few_.data(); }
  size_t count_;
  std::array<ClassId, kFew> few_;
  boost::container::vector<ClassId> many_;
};

}  // namespace

ClassId EGraph::add(SymbolId symbol, std::span<const ClassId> children) {
  return ClassId(find_and_halve(add_node(symbol, children).value));
}

NodeId EGraph::add_node(SymbolId symbol, std::span<const ClassId> children) {
  Canonical canonical(children, [&](ClassId child) {
    WEFT_CHECK(child.value < node_bound_, "a child of {} is class {} of {}", symbols_->name(symbol), child.value,
               node_bound_);
    return ClassId(find_and_halve(child.value));
  });
  const std::span<const ClassId> own = canonical;
  const NodeKey key(symbol, own);
  const HashCons::Place place = find_equal(key, own);
  if (place.node != HashCons::kEmpty) return NodeId(place.node);
  const uint32_t node = make_node(key, own, children, place);
  inform_analysis(node);
  return NodeId(node);
}

NodeId EGraph::make_alone(const NodeKey& key, std::span<const ClassId> children, const HashCons::Place& place) {
  const uint32_t node = make_node(key, children, children, place);
  inform_analysis(node);
  return NodeId(node);
}

void EGraph::inform_analysis(uint32_t node) {
  if (!analysis_) return;
  analysis_->make(*this, NodeId(node), ClassId(node));
  if (modifying_) {
    pending_modify_.push_back(node);
    return;
  }
  modifying_ = true;
  struct Reset {
    bool& flag;
    ~Reset() { flag = false; }
  } reset{modifying_};
  analysis_->modify(*this, ClassId(node));
}

NodeId EGraph::lookup_node(SymbolId symbol, std::span<const ClassId> children) const {
  Canonical canonical(children, [&](ClassId child) { return find(child); });
  const std::span<const ClassId> own = canonical;
  return lookup_canonical(NodeKey(symbol, own), own);
}

ClassId EGraph::lookup(SymbolId symbol, std::span<const ClassId> children) const {
  const NodeId node = lookup_node(symbol, children);
  return node.valid() ? class_of(node) : ClassId();
}

void EGraph::check_limits(size_t arity) const {
  if (node_bound_ >= kPruned - 1 || slot_bound_ + arity >= kNone || arity >= kArityMask)
    fail(ErrorCode::limit, "the e-graph is full: {} nodes and {} child slots made", node_bound_, slot_bound_);
  if (node_limit_ && live_nodes_ >= node_limit_) fail(ErrorCode::limit, "the e-graph may hold {} nodes", node_limit_);
  if (byte_limit_ && bytes_with_next() >= byte_limit_)
    fail(ErrorCode::limit, "the e-graph may take {} bytes", byte_limit_);
}

/// `children` are canonical; `given` is what explanations are told; `place` is the key's in the hash-cons.
uint32_t EGraph::make_node(const NodeKey& key, std::span<const ClassId> children, std::span<const ClassId> given,
                           const HashCons::Place& place) {
  check_room(children.size());
  make_room(size_t{node_bound_} + 1, nodes_, stamps_, parent_, classes_);
  make_room(slot_bound_ + children.size(), children_, slots_);
  const uint32_t id = node_bound_++;
  nodes_[id] = {key.symbol, slot_bound_, static_cast<uint32_t>(children.size()), id};
  stamps_[id] = {epoch_, epoch_};
  parent_[id] = id;
  classes_[id] = {kNone, 1};
  for (ClassId child : children) {
    const uint32_t slot = slot_bound_++;
    Class& used = classes_[child.value];
    ++used.weight;
    if (used.use == kNone) used.use = slot, slots_[slot].next = slot;
    slots_[slot] = {id, std::exchange(slots_[used.use].next, slot)};
    children_[slot] = child;
  }
  if (recording_) original_children_.insert(original_children_.end(), given.begin(), given.end());
  hash_cons_.insert(key, id, place);
  ++live_nodes_, ++live_classes_, ++version_;
  return id;
}

// --- merging --------------------------------------------------------------------------------------------------

ClassId EGraph::merge(ClassId a, ClassId b, Reason reason) {
  uint32_t into = find_and_halve(a.value), from = find_and_halve(b.value);
  if (into == from) return ClassId(into);
  const uint32_t weight = classes_[into].weight, other = classes_[from].weight;
  if (weight < other || (weight == other && from < into)) std::swap(into, from);
  if (analysis_) {
    if (modifying_ && reason.rule == Reason::kGiven) reason.rule = Reason::kAnalysis;
    if (analysis_->join(*this, ClassId(into), ClassId(from))) pending_updates_.push_back(into);
    pending_modify_.push_back(into);
  }
  stamp_members(from);
  std::swap(nodes_[into].next, nodes_[from].next);
  parent_[from] = into;
  classes_[into].weight += classes_[from].weight;
  pending_.push_back(from);
  if (recording_) merges_.push_back({a, b, reason});
  --live_classes_, ++version_, ++merge_count_;
  return ClassId(into);
}

/// A new node enters a class without having one of its own.
void EGraph::make_in_class(ClassId id, const NodeKey& key, std::span<const ClassId> children,
                           const HashCons::Place& place, Reason reason) {
  WEFT_CHECK(!analysis_, "add_to_class on a graph with an analysis");
  const uint32_t into = find_and_halve(id.value);
  const uint32_t node = make_node(key, children, children, place);
  std::swap(nodes_[into].next, nodes_[node].next);
  parent_[node] = into;
  ++classes_[into].weight;
  if (recording_) merges_.push_back({id, ClassId(node), reason});
  --live_classes_, ++merge_count_;
}

/// Marks all members of a class as changed; dead ones leave the list on the way (but for the one that gives the class
/// its id).
void EGraph::stamp_members(uint32_t id) {
  uint32_t previous = id;
  stamps_[id].changed = epoch_;
  for (uint32_t node = nodes_[id].next; node != id; node = nodes_[previous].next) {
    if (nodes_[node].bits & kDead) {
      nodes_[previous].next = nodes_[node].next;
      nodes_[node].next = node;
    } else {
      stamps_[node].changed = epoch_;
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
  const uint32_t head = classes_[loser].use, into = find_and_halve(loser);
  if (head == kNone) return;
  uint32_t previous = head;
  repair_node(slots_[head].node);
  for (uint32_t slot = slots_[head].next; slot != head; slot = slots_[previous].next) {
    if (nodes_[slots_[slot].node].bits & kDead) {
      slots_[previous].next = slots_[slot].next;
      slots_[slot].next = slot;
    } else {
      repair_node(slots_[slot].node);
      previous = slot;
    }
  }
  splice_uses(into, loser);
}

void EGraph::splice_uses(uint32_t into, uint32_t from) {
  uint32_t &head = classes_[into].use, &added = classes_[from].use;
  if (head == kNone)
    head = added;
  else
    std::swap(slots_[head].next, slots_[added].next);
  added = kNone;
}

/// The hash-cons entry is erased under the children that it was made with, before they are replaced: no stale keys.
void EGraph::repair_node(uint32_t node) {
  Node& n = nodes_[node];
  if (n.bits & kDead) return;
  const std::span<ClassId> children(children_.data() + n.first_child, n.arity());
  if (std::all_of(children.begin(), children.end(), [&](ClassId c) { return parent_[c.value] == c.value; })) return;
  const bool erased = hash_cons_.erase(key_of(node), node);
  WEFT_CHECK(erased, "node {} is not in the hash-cons", node);
  for (ClassId& child : children) child = ClassId(find_and_halve(child.value));
  stamps_[node] = {epoch_, epoch_};
  ++version_;
  settle(node);
}

/// Puts a node back into the hash-cons, or merges it with the node that is congruent to it.
void EGraph::settle(uint32_t node) {
  const NodeKey key = key_of(node);
  const HashCons::Place place = find_equal(key, children(NodeId(node)));
  const uint32_t twin = place.node;
  if (twin == HashCons::kEmpty) {
    hash_cons_.insert(key, node, place);
    return;
  }
  if ((nodes_[twin].bits & kPruned) && !(nodes_[node].bits & kPruned)) {  // what is searched stays
    hash_cons_.replace(place, node);
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

/// The canonical ids of classes, each once, in increasing order. Marks tell most repetitions before anything is sorted.
void EGraph::make_unique(std::vector<uint32_t>& ids) {
  marked_.resize(node_bound_);
  size_t kept = 0;
  for (uint32_t id : ids) {
    const uint32_t at = find_and_halve(id);
    if (!std::exchange(marked_[at], 1)) ids[kept++] = at;
  }
  ids.resize(kept);
  for (uint32_t id : ids) marked_[id] = 0;
  std::sort(ids.begin(), ids.end());
}

/// In waves: many merges into one class (a constant's, say) must not visit its many users once for each.
void EGraph::propagate_facts() {
  std::vector<uint32_t> wave, users;
  while (!pending_updates_.empty() && pending_.empty()) {
    wave.clear();
    std::swap(wave, pending_updates_);
    users.clear();
    make_unique(wave);
    for (uint32_t id : wave) {
      stamp_members(id);
      for_each_node(ClassId(id), [&](NodeId node) { stamps_[node.value].formed = epoch_; });
      for_each_use(ClassId(id), [&](NodeId node) { users.push_back(node.value); });
    }
    std::sort(users.begin(), users.end());
    users.erase(std::unique(users.begin(), users.end()), users.end());
    for (uint32_t user : users) {
      stamps_[user] = {epoch_, epoch_};
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
  make_unique(ids);
  modifying_ = true;
  struct Reset {
    bool& flag;
    ~Reset() { flag = false; }
  } reset{modifying_};
  for (uint32_t id : ids) analysis_->modify(*this, ClassId(find_and_halve(id)));
}

// --- reading --------------------------------------------------------------------------------------------------

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
  for (uint32_t id = 0; id < node_bound_; ++id)
    if (parent_[id] == id) canonical.push_back(ClassId(id));
  return canonical;
}

size_t EGraph::bytes() const {
  const size_t by_node = sizeof(Node) + sizeof(Class) + 3 * sizeof(uint32_t);
  const size_t by_slot = sizeof(Slot) + (recording_ ? 2 : 1) * sizeof(ClassId);
  return node_bound_ * by_node + slot_bound_ * by_slot + hash_cons_.bytes() + merges_.size() * sizeof(MergeRecord);
}

void EGraph::record_merges() {
  WEFT_CHECK(node_bound_ == 0, "record_merges on a graph of {} nodes", node_bound_);
  recording_ = true;
}

std::span<const ClassId> EGraph::original_children(NodeId node) const {
  WEFT_CHECK(recording_, "original_children without record_merges");
  const Node& n = nodes_[node.value];
  return {original_children_.data() + n.first_child, n.arity()};
}

}  // namespace weft::egraph
