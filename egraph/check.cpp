// EGraph::check: every invariant of the live form, node by node and list by list.
#include "egraph/egraph.hpp"
#include "ir/support/error.hpp"

namespace weft::egraph {

void EGraph::check() const {
  WEFT_CHECK(clean(), "merges are pending: rebuild first");
  size_t classes = 0, live_nodes = 0, kept = 0;
  std::vector<char> member_seen(node_bound_), slot_seen(slot_bound_);
  for (uint32_t id = 0; id < node_bound_; ++id) {
    if (live(NodeId(id))) ++live_nodes;
    if (!(nodes_[id].bits & kDead)) ++kept, check_node(id);
    if (parent_[id] != id) {
      WEFT_CHECK(classes_[id].use == kNone, "class {} was merged but still has a list of uses", id);
      continue;
    }
    ++classes;
    check_members(member_seen, id);
    check_uses(slot_seen, id);
  }
  for (uint32_t id = 0; id < node_bound_; ++id) {
    if (nodes_[id].bits & kDead) continue;
    WEFT_CHECK(member_seen[id], "node {} is in no list of members", id);
    for (uint32_t i = 0; i < nodes_[id].arity(); ++i)
      WEFT_CHECK(slot_seen[nodes_[id].first_child + i], "child {} of node {} is in no list of uses", i, id);
  }
  WEFT_CHECK(kept == hash_cons_.size(), "{} nodes, but {} hash-cons entries", kept, hash_cons_.size());
  WEFT_CHECK(live_nodes == live_nodes_, "{} live nodes, but {} counted", live_nodes, live_nodes_);
  WEFT_CHECK(classes == live_classes_, "{} classes, but {} counted", classes, live_classes_);
}

void EGraph::check_node(uint32_t node) const {
  const std::span<const ClassId> key = children(NodeId(node));
  for (ClassId child : key)
    WEFT_CHECK(parent_[child.value] == child.value, "node {} has the merged class {} as a child", node, child.value);
  const uint32_t found = find_equal(key_of(node), key).node;
  WEFT_CHECK(found == node, "hash-cons maps node {} to {}: stale or congruent", node, found);
}

void EGraph::check_members(std::vector<char>& seen, uint32_t id) const {
  uint32_t node = id;
  do {
    WEFT_CHECK(!seen[node], "node {} is in two lists of members", node);
    seen[node] = 1;
    WEFT_CHECK(find(ClassId(node)).value == id, "member {} of class {} finds {}", node, id, find(ClassId(node)).value);
    node = nodes_[node].next;
  } while (node != id);
}

void EGraph::check_uses(std::vector<char>& seen, uint32_t id) const {
  const uint32_t head = classes_[id].use;
  if (head == kNone) return;
  uint32_t slot = head;
  do {
    WEFT_CHECK(!seen[slot], "slot {} is in two lists of uses", slot);
    seen[slot] = 1;
    const bool dead = nodes_[slots_[slot].node].bits & kDead;
    WEFT_CHECK(dead || children_[slot].value == id, "slot {} of class {} holds {}", slot, id, children_[slot].value);
    slot = slots_[slot].next;
  } while (slot != head);
}

}  // namespace weft::egraph
