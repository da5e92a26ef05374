#include "passes/unroll.hpp"

#include <fmt/format.h>

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
      bypass_(rolled.rolls.size()) {
  rank_sources();
  rank_others();
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

ClassId Unroll::image(size_t roll, NodeId node, const ExtractResult& choice, int depth) {
  std::vector<ClassId> children;
  for (ClassId child : frozen_.children(node)) {
    ClassId image = next(roll, frozen_.find(child), choice, depth - 1);
    if (!image.valid()) return {};
    children.push_back(image);
  }
  ClassId found = graph_.lookup(frozen_.symbol(node), children);
  return found.valid() ? frozen_.find(found) : found;
}

ClassId Unroll::next(size_t roll, ClassId id, const ExtractResult& choice, int depth) {
  if (auto known = next_[roll].find(id); known != next_[roll].end()) return known->second;
  if (depth == 0) return {};
  const NodeId chosen = choice[id];
  ClassId found;
  if (chosen.valid() && frozen_.op(chosen) != op_number(ir::Op::input)) found = image(roll, chosen, choice, depth);
  next_[roll].emplace(id, found);
  return found;
}

std::optional<std::string> Unroll::obstacle(std::span<const NodeId> order, const ExtractResult& choice) {
  if (ambiguous_) return ambiguous_;
  auto text = [&](NodeId node) {
    std::string name = frozen_.symbols().name(frozen_.symbol(node));
    return name.size() > 80 ? name.substr(0, 80) + "..." : name;
  };
  for (NodeId node : order) {
    const uint32_t rank = rank_[frozen_.class_of(node).value];
    for (ClassId child : frozen_.children(node)) {
      const ClassId id = frozen_.find(child);
      const uint32_t below = rank_[id.value];
      if (below > rank) return fmt::format("'{}' is computed from a later block", text(node));
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
