#include "passes/unroll.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

namespace weft::passes {

using egraph::ClassId;
using egraph::ExtractResult;
using egraph::NodeId;

namespace {
constexpr uint32_t kUnranked = 0xffffffffu;
}

Unroll::Unroll(const Rolled& rolled, const egraph::EGraph& graph, const egraph::FrozenGraph& frozen,
               const Inserted& inserted)
    : rolled_(rolled),
      graph_(graph),
      frozen_(frozen),
      inserted_(inserted),
      rank_(frozen.id_bound(), kUnranked),
      next_(rolled.rolls.size()),
      previous_(rolled.rolls.size()),
      bypass_(rolled.rolls.size()) {
  rank_sources();
  rank_others();
  given_rank_ = rank_, given_next_ = next_;
}

void Unroll::rank_sources() {
  auto class_of = [&](ir::NodeId id) { return frozen_.find(inserted_.class_of_node[id.value]); };
  for (size_t r = 0; r < rolled_.rolls.size(); ++r) {
    const Roll& roll = rolled_.rolls[r];
    for (size_t role = 0; role < roll.blocks[0].size(); ++role)
      for (uint32_t block = 0; block < 3; ++block) {
        const ClassId id = class_of(roll.blocks[block][role]);
        if (roll.blocks[0][role] != roll.blocks[2][role])
          rank_[id.value] = std::min(rank_[id.value], static_cast<uint32_t>(3 * r + block + 1));
        if (block == 2) continue;
        const ClassId image = class_of(roll.blocks[block + 1][role]);
        previous_[r].try_emplace(image, id);
        auto [it, fresh] = next_[r].try_emplace(id, image);
        if (!fresh && it->second != image && !ambiguous_)
          ambiguous_ = fmt::format("values that are equal in one block differ in the next ('{}')",
                                   rolled_.graph.node(roll.blocks[block][role]).name);
      }
    for (ir::NodeId id : roll.bypass) bypass_[r].insert(class_of(id));
  }
}

/// The rank of a class that no node of a block stands for: the least, over its nodes, of the largest rank of a child.
void Unroll::rank_others() {
  std::vector<bool> given(rank_.size()), queued(rank_.size(), true);
  for (ClassId id : frozen_.classes()) given[id.value] = rank_[id.value] != kUnranked;
  std::deque<ClassId> queue(frozen_.classes().begin(), frozen_.classes().end());
  for (; !queue.empty(); queue.pop_front()) {
    const ClassId id = queue.front();
    queued[id.value] = false;
    if (given[id.value]) continue;
    uint32_t best = kUnranked;
    for (NodeId node : frozen_.nodes(id)) {
      uint32_t most = 0;
      for (ClassId child : frozen_.children(node)) most = std::max(most, rank_[frozen_.find(child).value]);
      best = std::min(best, most);
    }
    if (best == rank_[id.value]) continue;
    rank_[id.value] = best;
    for (NodeId user : frozen_.uses(id)) {
      const ClassId up = frozen_.class_of(user);
      if (!queued[up.value]) queued[up.value] = true, queue.push_back(up);
    }
  }
}

/// The same node over the images of its children.
NodeId Unroll::image(Images& known, NodeId node, const ExtractResult& choice, int depth) {
  std::vector<ClassId> children;
  for (ClassId child : frozen_.children(node)) {
    ClassId image = follow(known, frozen_.find(child), choice, depth - 1);
    if (!image.valid()) return {};
    children.push_back(image);
  }
  return graph_.lookup_node(frozen_.symbol(node), children);
}

ClassId Unroll::follow(Images& known, ClassId id, const ExtractResult& choice, int depth) {
  if (auto found = known.find(id); found != known.end()) return found->second;
  if (depth == 0) return {};
  ClassId found;
  if (const NodeId chosen = choice[id]; chosen.valid()) {
    if (frozen_.op(chosen) != op_number(ir::Op::input)) {
      if (const NodeId same = image(known, chosen, choice, depth); same.valid()) found = frozen_.class_of(same);
    } else if (rank(id) == 0) {
      found = id;  // an input of no block
    }
  }
  known.emplace(id, found);
  return found;
}

bool Unroll::is_obstacle(NodeId node) const {
  const ClassId id = frozen_.class_of(node);
  const uint32_t rank = given_rank_[id.value];
  if (rank == 0) return false;
  const size_t roll = roll_of(rank);
  const auto first = static_cast<uint32_t>(3 * roll + 1);
  const auto is_output = [&](ClassId o) { return frozen_.find(o) == id; };
  for (ClassId raw : frozen_.children(node)) {
    const ClassId child = frozen_.find(raw);
    const uint32_t below = given_rank_[child.value];
    if (below > rank && std::any_of(inserted_.outputs.begin(), inserted_.outputs.end(), is_output)) return true;
    if (below + 1 >= rank || below > first || bypass_[roll].count(child)) continue;  // of this block or the one before
    const auto image = given_next_[roll].find(child);
    if (image != given_next_[roll].end() ? image->second != child : below == first) return true;
  }
  return false;
}

void Unroll::move_up(std::span<const NodeId> order) {
  for (NodeId node : order) {
    uint32_t& rank = rank_[frozen_.class_of(node).value];
    for (ClassId child : frozen_.children(node)) rank = std::max(rank, rank_[frozen_.find(child).value]);
  }
}

std::unordered_map<ClassId, NodeId> Unroll::as_second(std::span<const NodeId> order, const ExtractResult& choice) {
  std::unordered_map<ClassId, NodeId> chosen;
  for (NodeId node : order) {
    const ClassId id = frozen_.class_of(node);
    if (!is_second(rank(id))) continue;
    chosen[id] = node;
    const size_t roll = roll_of(rank(id));
    for (Images* images : {&next_[roll], &previous_[roll]})
      if (const NodeId same = image(*images, node, choice, kDepth); same.valid())
        chosen.try_emplace(frozen_.class_of(same), same);
  }
  return chosen;
}

std::optional<std::string> Unroll::obstacle(std::span<const NodeId> order, const ExtractResult& choice) {
  if (ambiguous_) return ambiguous_;
  rank_ = given_rank_, next_ = given_next_;
  move_up(order);
  for (ClassId output : inserted_.outputs)
    if (const ClassId id = frozen_.find(output); rank(id) != given_rank_[id.value])
      return fmt::format("output '{}' is computed from a later block",
                         frozen_.symbols().name(frozen_.symbol(choice[id])));
  auto text = [&](NodeId node) {
    std::string name = frozen_.symbols().name(frozen_.symbol(node));
    return name.size() > 80 ? name.substr(0, 80) + "..." : name;
  };
  for (NodeId node : order) {
    const uint32_t rank = rank_[frozen_.class_of(node).value];
    for (ClassId child : frozen_.children(node)) {
      const ClassId id = frozen_.find(child);
      const uint32_t below = rank_[id.value];
      for (size_t r = 0; r < rolled_.rolls.size(); ++r) {
        const auto first = static_cast<uint32_t>(3 * r + 1);
        if (rank <= first || below > first) continue;  // does not cross the border before the second block
        if (rank == first + 1) {
          const ClassId image = next(r, id, choice);
          if (!image.valid() || (image != id && (rank_[image.value] != first + 1 || !choice[image].valid())))
            return fmt::format("'{}', which '{}' reads, has no counterpart one block on", text(choice[id]), text(node));
        } else if (next(r, id, choice) != id && (below == first || !bypass_[r].count(id))) {
          return fmt::format("'{}' reads past a block", text(node));
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace weft::passes
