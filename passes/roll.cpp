// Finding runs of equal blocks, and the graph without most of them. Kept in one file: all of it reads one table of
// nodes.
#include "passes/roll.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "ir/support/hash.hpp"

namespace weft::passes {
namespace {

constexpr size_t kKept = 3;           // blocks of a run that stay
constexpr size_t kTrialPeriods = 12;  // distances between equal nodes that are tried, most frequent first
constexpr size_t kLeastPeriod = 8;    // nodes of a block: shorter ones fuse across their borders anyway
constexpr size_t kLeastSaved = 16;    // nodes that a run must save
constexpr uint32_t kNowhere = 0xffffffffu;

struct Run {
  size_t start = 0, period = 0, copies = 0;
  size_t end() const { return start + period * copies; }
  size_t saved() const { return copies > kKept ? (copies - kKept) * period : 0; }
};

class Finder {
 public:
  explicit Finder(const ir::Graph& graph) : graph_(graph), fixed_(graph.size()), position_(graph.size(), kNowhere) {
    sort();
    for (const ir::Output& output : graph.outputs())
      output_uses_[output.value.node.value].push_back(output.value.index);
    hash_nodes();
  }

  /// Disjoint runs, those that save most first; only such that can be rolled up.
  std::vector<std::pair<Run, Roll>> runs() {
    std::vector<Run> found;
    for (size_t period : trial_periods()) add_runs(period, found);
    std::stable_sort(found.begin(), found.end(), [](const Run& a, const Run& b) { return a.saved() > b.saved(); });
    std::vector<std::pair<Run, Roll>> taken;
    for (const Run& run : found) {
      bool free = std::none_of(taken.begin(), taken.end(), [&](const auto& other) {
        return run.start < other.first.end() && other.first.start < run.end();
      });
      if (free) take_largest(run, taken);
    }
    std::sort(taken.begin(), taken.end(), [](auto& a, auto& b) { return a.first.start < b.first.start; });
    return taken;
  }

  /// Live nodes, operands first, in an order that follows from the structure alone (not from that of the file).
  const std::vector<ir::NodeId>& all() const { return all_; }
  /// Those that compute something from inputs: what blocks are made of.
  const std::vector<ir::NodeId>& computed() const { return computed_; }
  size_t position(ir::NodeId id) const { return position_[id.value]; }

 private:
  /// The run, or what is left of it without a block at either end: a first or last block may look alike but read a
  /// leaf of others.
  void take_largest(const Run& run, std::vector<std::pair<Run, Roll>>& taken) const {
    for (auto [first, last] : {std::pair<size_t, size_t>{0, 0}, {0, 1}, {1, 0}, {1, 1}}) {
      if (run.copies < kKept + 1 + first + last) return;
      Run part{run.start + first * run.period, run.period, run.copies - first - last};
      std::optional<Roll> roll = part.saved() >= kLeastSaved ? roles(part) : std::nullopt;
      if (!roll) continue;
      taken.emplace_back(part, std::move(*roll));
      return;
    }
  }

  void sort() {
    std::vector<char> seen(graph_.size());
    std::vector<std::pair<ir::NodeId, size_t>> stack;
    for (const ir::Output& output : graph_.outputs()) {
      if (seen[output.value.node.value]) continue;
      seen[output.value.node.value] = 1;
      stack.emplace_back(output.value.node, 0);
      while (!stack.empty()) {
        auto& [id, next] = stack.back();
        const ir::Node& node = graph_.node(id);
        if (next < node.operands.size()) {
          ir::NodeId operand = node.operands[next++].node;
          if (!seen[operand.value]) seen[operand.value] = 1, stack.emplace_back(operand, 0);
          continue;
        }
        place(id, node);
        stack.pop_back();
      }
    }
  }

  void place(ir::NodeId id, const ir::Node& node) {
    all_.push_back(id);
    fixed_[id.value] = node.op != ir::Op::input && std::all_of(node.operands.begin(), node.operands.end(),
                                                               [&](ir::Value v) { return fixed_[v.node.value]; });
    if (fixed_[id.value] || node.op == ir::Op::input) return;
    position_[id.value] = static_cast<uint32_t>(computed_.size());
    computed_.push_back(id);
  }

  bool is_computed(ir::NodeId id) const { return position_[id.value] != kNowhere; }

  /// What a node is, up to which nodes and leaves it reads.
  void hash_nodes() {
    hash_.resize(graph_.size());
    for (ir::NodeId id : all_) {
      const ir::Node& node = graph_.node(id);
      Hasher hasher;
      hasher.u64(static_cast<uint64_t>(node.op));
      node.attributes->hash_into(hasher);
      for (const ir::TensorType& type : node.types) hasher.text(to_string(type));
      if (node.op == ir::Op::constant) hasher.hash(node.tensor.content_hash());
      for (ir::Value v : node.operands) {
        hasher.u64(v.index);
        if (is_computed(v.node))
          hasher.u64(1);
        else
          hasher.hash(hash_[v.node.value]);
      }
      if (auto uses = output_uses_.find(id.value); uses != output_uses_.end())
        for (uint32_t index : uses->second) hasher.u64(index + 2);
      hash_[id.value] = hasher.finish();
    }
  }

  /// Distances between neighbouring nodes of one hash, most frequent first.
  std::vector<size_t> trial_periods() const {
    std::unordered_map<Hash128, size_t> last;
    std::map<size_t, size_t> count;
    for (size_t i = 0; i < computed_.size(); ++i) {
      auto [it, fresh] = last.try_emplace(hash_[computed_[i].value], i);
      if (!fresh) ++count[i - it->second], it->second = i;
    }
    std::vector<std::pair<size_t, size_t>> order(count.begin(), count.end());
    std::stable_sort(order.begin(), order.end(), [](auto& a, auto& b) { return a.second > b.second; });
    std::vector<size_t> periods;
    for (auto [period, pairs] : order)
      if (period >= kLeastPeriod && periods.size() < kTrialPeriods) periods.push_back(period);
    return periods;
  }

  void add_runs(size_t period, std::vector<Run>& found) const {
    size_t start = 0;
    for (size_t i = 0; i + period <= computed_.size(); ++i) {
      if (i + period < computed_.size() && alike(computed_[i], computed_[i + period], period)) continue;
      Run run{start, period, (i - start) / period + 1};
      if (run.saved() >= kLeastSaved) found.push_back(run);
      start = i + 1;
    }
  }

  /// One node could stand `period` after the other in the next block.
  bool alike(ir::NodeId a, ir::NodeId b, size_t period) const {
    if (hash_[a.value] != hash_[b.value]) return false;
    const ir::Node &left = graph_.node(a), &right = graph_.node(b);
    if (left.op != right.op || left.operands.size() != right.operands.size()) return false;
    for (size_t k = 0; k < left.operands.size(); ++k) {
      ir::Value x = left.operands[k], y = right.operands[k];
      if (x.index != y.index || is_computed(x.node) != is_computed(y.node)) return false;
      if (is_computed(x.node) && x.node != y.node && position(x.node) + period != position(y.node)) return false;
    }
    return true;
  }

  bool same_content(const ir::Node& a, const ir::Node& b) const {
    if (a.op != b.op || !(*a.attributes == *b.attributes) || a.types != b.types ||
        a.operands.size() != b.operands.size())
      return false;
    return a.op != ir::Op::constant || a.tensor.same_bits(b.tensor);
  }

  /// Pairs what two blocks read outside of themselves. False where the second block's is not a function of the first's.
  bool pair_leaves(ir::NodeId a, ir::NodeId b, std::unordered_map<uint32_t, ir::NodeId>& pairs) const {
    std::vector<std::pair<ir::NodeId, ir::NodeId>> stack{{a, b}};
    while (!stack.empty()) {
      auto [x, y] = stack.back();
      stack.pop_back();
      auto [it, fresh] = pairs.try_emplace(x.value, y);
      if (it->second != y) return false;
      if (!fresh) continue;
      const ir::Node &left = graph_.node(x), &right = graph_.node(y);
      if (!same_content(left, right)) return false;
      for (size_t k = 0; k < left.operands.size(); ++k) {
        if (left.operands[k].index != right.operands[k].index) return false;
        stack.emplace_back(left.operands[k].node, right.operands[k].node);
      }
    }
    return true;
  }

  ir::NodeId node_at(const Run& run, size_t copy, size_t t) const {
    return computed_[run.start + copy * run.period + t];
  }

  /// By block: what stands in it for a node of the second block.
  using Pairs = std::vector<std::unordered_map<uint32_t, ir::NodeId>>;

  /// The roles of a run, as nodes of the source (translated by the caller); nothing where a condition of roll() fails.
  std::optional<Roll> roles(const Run& run) const {
    std::optional<Pairs> pairs = pair_blocks(run);
    if (!pairs) return std::nullopt;
    std::vector<ir::NodeId> beyond;  // roles beyond the block's own nodes, in the order of the graph
    for (ir::NodeId id : all_)
      if (pairs->front().count(id.value)) beyond.push_back(id);
    for (auto& of_block : *pairs)
      for (ir::NodeId id : beyond) of_block.try_emplace(id.value, id);  // of the second block itself
    if (!belongs_to_one_block(run, *pairs, beyond)) return std::nullopt;
    return as_roll(run, *pairs, beyond);
  }

  /// Pairs what every block reads with what the second one reads in its place.
  std::optional<Pairs> pair_blocks(const Run& run) const {
    Pairs pairs(run.copies);
    for (size_t copy = 0; copy < run.copies; ++copy)
      for (size_t t = 0; t < run.period; ++t) {
        const ir::Node &second = graph_.node(node_at(run, 1, t)), &here = graph_.node(node_at(run, copy, t));
        if (!same_content(second, here)) return std::nullopt;
        for (size_t k = 0; k < here.operands.size(); ++k)
          if (!pair_operands(run, copy, second.operands[k].node, here.operands[k].node, pairs[copy]))
            return std::nullopt;
      }
    return pairs;
  }

  /// `a` is read in the second block, `b` in its place in block `copy`.
  bool pair_operands(const Run& run, size_t copy, ir::NodeId a, ir::NodeId b,
                     std::unordered_map<uint32_t, ir::NodeId>& pairs) const {
    if (!is_computed(a)) return pair_leaves(a, b, pairs);
    if (copy == 1) return true;
    if (a == b) {  // one value read by all blocks, from before them
      pairs[a.value] = b;
      return position(a) < run.start;
    }
    // from the block itself or the one before it, neither less nor further
    return position(a) >= run.start && position(b) + run.period == position(a) + copy * run.period;
  }

  Roll as_roll(const Run& run, const Pairs& pairs, const std::vector<ir::NodeId>& beyond) const {
    const auto block = [&](size_t copy) {
      std::vector<ir::NodeId> nodes;
      for (size_t t = 0; t < run.period; ++t) nodes.push_back(node_at(run, copy, t));
      for (ir::NodeId id : beyond) nodes.push_back(pairs[copy].at(id.value));
      return nodes;
    };
    Roll roll;
    roll.copies = run.copies;
    roll.blocks = {block(0), block(1), block(run.copies - 1)};
    for (size_t copy = 2; copy + 1 < run.copies; ++copy) roll.left_out.push_back(block(copy));
    std::unordered_set<uint32_t> seen;
    for (size_t i = run.end(); i < computed_.size(); ++i)
      for (ir::Value v : graph_.node(computed_[i]).operands)
        if (graph_.node(v.node).op == ir::Op::input || (is_computed(v.node) && position(v.node) < run.start))
          if (seen.insert(v.node.value).second) roll.bypass.push_back(v.node);
    return roll;
  }

  /// No leaf of one block is read by another block (unless by all of them) or from outside; nothing but the last block
  /// is read after the run.
  bool belongs_to_one_block(const Run& run, const Pairs& pairs, const std::vector<ir::NodeId>& roles) const {
    std::unordered_set<uint32_t> owned;
    for (ir::NodeId role : roles) {
      bool shared = true;
      for (size_t copy = 0; copy < run.copies; ++copy) shared = shared && pairs[copy].at(role.value) == role;
      if (shared) continue;
      std::unordered_set<uint32_t> mine;
      for (size_t copy = 0; copy < run.copies; ++copy)
        if (!mine.insert(pairs[copy].at(role.value).value).second) return false;
      for (uint32_t id : mine) owned.insert(id);
    }
    // A leaf in two roles of different blocks shows as fewer owned than roles say.
    std::unordered_map<uint32_t, size_t> owner;
    for (ir::NodeId role : roles)
      for (size_t copy = 0; copy < run.copies; ++copy) {
        ir::NodeId leaf = pairs[copy].at(role.value);
        if (!owned.count(leaf.value)) continue;
        auto [it, fresh] = owner.try_emplace(leaf.value, copy);
        if (!fresh && it->second != copy) return false;
      }
    std::vector<char> seen(graph_.size());
    std::vector<ir::NodeId> stack;
    auto reads_owned = [&](ir::NodeId id) {
      stack.assign(1, id);
      while (!stack.empty()) {
        ir::NodeId at = stack.back();
        stack.pop_back();
        if (is_computed(at) || seen[at.value]) continue;
        seen[at.value] = 1;
        if (owned.count(at.value)) return true;
        for (ir::Value v : graph_.node(at).operands) stack.push_back(v.node);
      }
      return false;
    };
    const size_t last = run.start + (run.copies - 1) * run.period;
    for (size_t i = 0; i < computed_.size(); ++i) {
      if (i >= run.start && i < run.end()) continue;
      for (ir::Value v : graph_.node(computed_[i]).operands) {
        if (!is_computed(v.node) && reads_owned(v.node)) return false;
        if (is_computed(v.node) && position(v.node) >= run.start && position(v.node) < last) return false;
      }
    }
    return std::none_of(graph_.outputs().begin(), graph_.outputs().end(),
                        [&](const ir::Output& output) { return reads_owned(output.value.node); });
  }

  const ir::Graph& graph_;
  std::vector<bool> fixed_;         // by node: of parameters and constants alone
  std::vector<uint32_t> position_;  // by node: in computed_
  std::vector<ir::NodeId> all_, computed_;
  std::vector<Hash128> hash_;  // by node
  std::unordered_map<uint32_t, std::vector<uint32_t>> output_uses_;
};

/// Copies the graph without the blocks that are left out, and translates the rolls to it.
class Builder {
 public:
  Builder(const ir::Graph& source, const Finder& finder, std::vector<std::pair<Run, Roll>> runs)
      : source_(source), finder_(finder), map_(source.size()) {
    out_.graph = ir::Graph(source.name());
    for (auto& [run, roll] : runs) mark_left_out(run, roll), out_.rolls.push_back(std::move(roll));
  }

  Rolled run() {
    std::unordered_set<uint32_t> leaves_left_out;
    for (const Roll& roll : out_.rolls)
      for (const auto& block : roll.left_out)
        for (size_t role = 0; role < block.size(); ++role)
          if (block[role] != roll.blocks[1][role]) leaves_left_out.insert(block[role].value);
    for (ir::NodeId id : finder_.all())
      if (!leaves_left_out.count(id.value)) copy(id);
    for (const ir::Output& output : source_.outputs()) place_output(output);
    for (Roll& roll : out_.rolls) {
      for (auto& block : roll.blocks)
        for (ir::NodeId& id : block) id = map_[id.value];
      for (ir::NodeId& id : roll.bypass) id = map_[id.value];
      std::erase_if(roll.bypass, [](ir::NodeId id) { return !id.valid(); });  // of a block that another run leaves out
    }
    return std::move(out_);
  }

 private:
  void mark_left_out(const Run& run, const Roll& roll) {
    const size_t roll_number = out_.rolls.size();
    for (size_t k = 0; k < roll.left_out.size(); ++k)
      for (size_t t = 0; t < run.period; ++t)
        stand_in_[roll.left_out[k][t].value] = {roll.blocks[1][t], std::pair(roll_number, k)};
  }

  ir::Value mapped(ir::Value v) const {
    auto it = stand_in_.find(v.node.value);
    return {map_[(it == stand_in_.end() ? v.node : it->second.first).value], v.index};
  }

  void copy(ir::NodeId id) {
    const ir::Node& node = source_.node(id);
    ir::NodeId made;
    switch (node.op) {
      case ir::Op::input:
        made = out_.graph.input(node.name, node.types[0]).node;
        break;
      case ir::Op::parameter:
        made = out_.graph.parameter(node.name, node.types[0], node.tensor).node;
        break;
      case ir::Op::constant:
        made = out_.graph.constant(node.tensor, node.name).node;
        break;
      default: {
        std::vector<ir::Value> operands;
        for (ir::Value v : node.operands) operands.push_back(mapped(v));
        made = out_.graph.add(node.op, std::move(operands), *node.attributes, node.name);
      }
    }
    map_[id.value] = made;
    out_.source_of.push_back(id);
  }

  void place_output(const ir::Output& output) {
    const ir::Value at = mapped(output.value);
    auto [it, fresh] = output_at_.try_emplace(at, out_.graph.outputs().size());
    if (fresh) out_.graph.output(output.name, at);
    auto stand_in = stand_in_.find(output.value.node.value);
    out_.outputs.push_back({it->second, {}});
    if (stand_in != stand_in_.end()) out_.outputs.back().left_out = stand_in->second.second;
  }

  const ir::Graph& source_;
  const Finder& finder_;
  Rolled out_;
  std::vector<ir::NodeId> map_;                                                              // source -> rolled
  std::unordered_map<uint32_t, std::pair<ir::NodeId, std::pair<size_t, size_t>>> stand_in_;  // by node left out
  std::map<ir::Value, size_t> output_at_;
};

}  // namespace

Rolled roll(const ir::Graph& graph) {
  Finder finder(graph);
  std::vector<std::pair<Run, Roll>> runs = finder.runs();
  size_t saved = 0;
  for (const auto& [run, roll] : runs) saved += run.saved();
  if (runs.empty() || saved * 4 < finder.computed().size()) return Rolled();
  return Builder(graph, finder, std::move(runs)).run();
}

}  // namespace weft::passes
