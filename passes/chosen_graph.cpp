#include "passes/chosen_graph.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "passes/class_names.hpp"

namespace weft::passes {

using egraph::ClassId;
using egraph::NodeId;

namespace {

class Laying {
 public:
  Laying(const Chosen& chosen, Unroll* unroll)
      : chosen_(chosen),
        unroll_(unroll),
        out_(chosen.source.name()),
        value_of_(chosen.frozen.id_bound()),
        names_(name_classes(chosen.language, chosen.frozen, chosen.inserted)) {
    for (ir::NodeId id : source().inputs())
      leaves_[id.value] = out_.input(source().node(id).name, source().node(id).types[0]);
    for (ir::NodeId id : source().parameters())
      leaves_[id.value] = out_.parameter(source().node(id).name, source().node(id).types[0], source().node(id).tensor);
    for (const Roll& roll : chosen.rolled.rolls) {
      roles_.emplace_back();
      for (size_t block : {1, 0, 2})
        for (size_t role = 0; role < roll.blocks[block].size(); ++role)
          if (roll.blocks[0][role] != roll.blocks[2][role])
            roles_.back().try_emplace(roll.blocks[block][role].value, Role{block, role});
      outputs_left_out_.emplace_back(roll.left_out.size());
    }
  }

  ir::Graph run(std::vector<NodeId> order) {
    auto rank = [&](NodeId node) { return unroll_ ? unroll_->rank(chosen_.frozen.class_of(node)) : 0; };
    std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return rank(a) < rank(b); });
    for (size_t i = 0; i < order.size(); ++i) {
      lay(order[i], nullptr);
      if (!Unroll::is_second(rank(order[i])) || (i + 1 < order.size() && rank(order[i + 1]) == rank(order[i])))
        continue;
      size_t first = i;  // the last node of a second block: its copies follow
      while (first > 0 && rank(order[first - 1]) == rank(order[i])) --first;
      repeat(Unroll::roll_of(rank(order[i])), std::span(order).subspan(first, i + 1 - first));
    }
    place_outputs();
    return std::move(out_);
  }

 private:
  using BlockValues = std::unordered_map<ClassId, ir::Value>;  // of the classes that the second block computes

  /// A node of a kept block.
  struct Role {
    size_t block, index;
  };

  /// Where a node is laid out a further time: for which block, and what the block before it computed.
  struct Copy {
    size_t roll, block;
    const BlockValues& before;
  };

  const ir::Graph& source() const { return chosen_.source; }
  const egraph::FrozenGraph& frozen() const { return chosen_.frozen; }

  void repeat(size_t roll, std::span<const NodeId> nodes) {
    BlockValues before;
    for (NodeId node : nodes) before[frozen().class_of(node)];
    for_outputs_of(before, [&](size_t o, ir::Value value) { kept_outputs_[o] = value; });
    for (size_t block = 0; block < chosen_.rolled.rolls[roll].left_out.size(); ++block) {
      for (auto& [id, value] : before) value = value_of_[id.value];
      const Copy copy{roll, block, before};
      for (NodeId node : nodes) lay(node, &copy);
      for_outputs_of(before, [&](size_t o, ir::Value value) { outputs_left_out_[roll][block][o] = value; });
    }
  }

  /// f(output, value that was laid out last) for the outputs that a block computes.
  template <typename F>
  void for_outputs_of(const BlockValues& block, const F& f) const {
    for (size_t o = 0; o < chosen_.inserted.outputs.size(); ++o)
      if (const ClassId id = frozen().find(chosen_.inserted.outputs[o]); block.contains(id)) f(o, value_of_[id.value]);
  }

  void lay(NodeId node, const Copy* copy) {
    std::vector<ir::Value> operands;
    for (ClassId child : frozen().children(node)) {
      ClassId id = frozen().find(child);
      operands.push_back(copy && !copy->before.contains(id) ? read_before(id, *copy) : value_of_[id.value]);
    }
    value_of_[frozen().class_of(node).value] = rebuilt(node, operands, copy);
  }

  /// What a block reads that stands before it: where the second block reads `id` of the first, its image of a block
  /// later.
  ir::Value read_before(ClassId id, const Copy& copy) const {
    const ClassId next = unroll_->next(copy.roll, id, chosen_.choice);
    const auto computed = copy.before.find(next);
    return computed == copy.before.end() ? value_of_[next.value] : computed->second;
  }

  ir::Value rebuilt(NodeId node, const std::vector<ir::Value>& operands, const Copy* copy) {
    const egraph::SymbolId symbol = frozen().symbol(node);
    const uint32_t op = frozen().op(node);
    if (op == kGetOp) return {operands[0].node, chosen_.language.index_of(symbol)};
    switch (static_cast<ir::Op>(op)) {
      case ir::Op::input:
      case ir::Op::parameter:
        return leaves_.at(source_node(ir::NodeId(chosen_.language.attributes(symbol)), node, copy).value);
      case ir::Op::constant:
        return out_.constant(chosen_.language.constant_of(symbol));
      default:
        break;
    }
    const ir::Attributes& attributes = *chosen_.language.attributes_of(symbol);
    return {out_.add(static_cast<ir::Op>(op), operands, attributes, provenance(node, copy)), 0};
  }

  /// The node of the source for a node that the e-graph holds, where `laid` is laid out. What was moved up to the next
  /// block (Unroll::obstacle) is of the block before the one that is laid out.
  ir::NodeId source_node(ir::NodeId id, NodeId laid, const Copy* copy) const {
    if (!unroll_) return id;
    const uint32_t rank = unroll_->rank(frozen().class_of(laid));
    if (rank == 0) return chosen_.rolled.source_of[id.value];
    const size_t r = Unroll::roll_of(rank), kept = (rank - 1) % 3;  // the block of `laid` among the kept ones
    const auto role = roles_[r].find(id.value);
    if (role == roles_[r].end()) return chosen_.rolled.source_of[id.value];
    const Roll& roll = chosen_.rolled.rolls[r];
    const size_t last = roll.left_out.size() + 2, place = copy ? 2 + copy->block : kept == 2 ? last : kept;
    const size_t at = place + role->second.block - kept;
    if (at >= 2 && at < last) return roll.left_out[at - 2][role->second.index];
    return chosen_.rolled.source_of[roll.blocks[std::min<size_t>(at, 2)][role->second.index].value];
  }

  std::string provenance(NodeId node, const Copy* copy) const {
    std::vector<ClassId> classes{frozen().class_of(node)};
    if (auto it = chosen_.fusion.kernels.find(node); it != chosen_.fusion.kernels.end()) classes = it->second.computes;
    std::string text = provenance_text(names_, frozen(), classes, [&](ir::NodeId id) -> const std::string& {
      return source().node(source_node(id, node, copy)).name;
    });
    return chosen_.mark ? fmt::format("{}{}{}", text, kNodeMark, node.value) : text;
  }

  void place_outputs() {
    for (size_t o = 0; o < source().outputs().size(); ++o) out_.output(source().outputs()[o].name, output_value(o));
  }

  ir::Value output_value(size_t o) const {
    size_t index = o;
    if (unroll_) {
      const RolledOutput& place = chosen_.rolled.outputs[o];
      if (place.left_out) return outputs_left_out_[place.left_out->first][place.left_out->second].at(place.index);
      index = place.index;
      if (auto kept = kept_outputs_.find(index); kept != kept_outputs_.end()) return kept->second;
    }
    return value_of_[frozen().find(chosen_.inserted.outputs[index]).value];
  }

  const Chosen& chosen_;
  Unroll* unroll_;
  ir::Graph out_;
  std::vector<ir::Value> value_of_;  // by class: laid out last
  std::unordered_map<ClassId, ClassName> names_;
  std::unordered_map<uint32_t, ir::Value> leaves_;                                    // by source node
  std::vector<std::unordered_map<uint32_t, Role>> roles_;                             // by run and node
  std::vector<std::vector<std::unordered_map<size_t, ir::Value>>> outputs_left_out_;  // by run, block, output
  std::unordered_map<size_t, ir::Value> kept_outputs_;
};

}  // namespace

ir::Graph chosen_graph(const Chosen& chosen, std::span<const NodeId> order, Unroll* unroll) {
  return Laying(chosen, unroll).run({order.begin(), order.end()});
}

}  // namespace weft::passes
