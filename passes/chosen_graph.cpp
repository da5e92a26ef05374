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
      for (size_t role = 0; role < roll.blocks[1].size(); ++role)
        roles_.back().try_emplace(roll.blocks[1][role].value, role);
      outputs_left_out_.emplace_back(roll.left_out.size());
    }
  }

  ir::Graph run(std::vector<NodeId> order) {
    auto rank = [&](NodeId node) { return unroll_ ? unroll_->rank(chosen_.frozen.class_of(node)) : 0; };
    std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return rank(a) < rank(b); });
    for (size_t i = 0; i < order.size(); ++i) {
      lay(order[i], value_of_, nullptr);
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
  /// Where a node is laid out a further time: for which block, and what the block before it computed.
  struct Copy {
    size_t roll, block;
    const std::vector<ir::Value>& before;
    const std::vector<bool>& of_block;  // by class: computed in the block itself
  };

  const ir::Graph& source() const { return chosen_.source; }
  const egraph::FrozenGraph& frozen() const { return chosen_.frozen; }

  void repeat(size_t roll, std::span<const NodeId> nodes) {
    std::vector<bool> of_block(value_of_.size());
    for (NodeId node : nodes) of_block[frozen().class_of(node).value] = true;
    keep_outputs(of_block);
    for (size_t block = 0; block < chosen_.rolled.rolls[roll].left_out.size(); ++block) {
      const std::vector<ir::Value> before = value_of_;
      Copy copy{roll, block, before, of_block};
      for (NodeId node : nodes) lay(node, value_of_, &copy);
      for (size_t o = 0; o < chosen_.inserted.outputs.size(); ++o) {
        ClassId id = frozen().find(chosen_.inserted.outputs[o]);
        if (of_block[id.value]) outputs_left_out_[roll][block][o] = value_of_[id.value];
      }
    }
  }

  /// Outputs of the second block itself, before the values of the blocks after it take their places.
  void keep_outputs(const std::vector<bool>& of_block) {
    for (size_t o = 0; o < chosen_.inserted.outputs.size(); ++o) {
      ClassId id = frozen().find(chosen_.inserted.outputs[o]);
      if (of_block[id.value]) kept_outputs_[o] = value_of_[id.value];
    }
  }

  void lay(NodeId node, std::vector<ir::Value>& values, const Copy* copy) {
    std::vector<ir::Value> operands;
    for (ClassId child : frozen().children(node)) {
      ClassId id = frozen().find(child);
      if (copy && !copy->of_block[id.value]) {
        ClassId next = unroll_->next(copy->roll, id, chosen_.choice);
        operands.push_back(next == id ? values[id.value] : copy->before[next.value]);
      } else {
        operands.push_back(values[id.value]);
      }
    }
    values[frozen().class_of(node).value] = rebuilt(node, operands, copy);
  }

  ir::Value rebuilt(NodeId node, const std::vector<ir::Value>& operands, const Copy* copy) {
    const egraph::SymbolId symbol = frozen().symbol(node);
    const uint32_t op = frozen().op(node);
    if (op == kGetOp) return {operands[0].node, chosen_.language.index_of(symbol)};
    switch (static_cast<ir::Op>(op)) {
      case ir::Op::input:
      case ir::Op::parameter:
        return leaves_.at(source_node(ir::NodeId(chosen_.language.attributes(symbol)), copy).value);
      case ir::Op::constant:
        return out_.constant(chosen_.language.constant_of(symbol));
      default:
        break;
    }
    const ir::Attributes& attributes = *chosen_.language.attributes_of(symbol);
    return {out_.add(static_cast<ir::Op>(op), operands, attributes, provenance(node, copy)), 0};
  }

  /// The node of the source for a node that the e-graph holds, in the block that is laid out.
  ir::NodeId source_node(ir::NodeId id, const Copy* copy) const {
    if (chosen_.rolled.rolls.empty()) return id;
    if (copy) {
      auto role = roles_[copy->roll].find(id.value);
      if (role != roles_[copy->roll].end()) return chosen_.rolled.rolls[copy->roll].left_out[copy->block][role->second];
    }
    return chosen_.rolled.source_of[id.value];
  }

  std::string provenance(NodeId node, const Copy* copy) const {
    std::vector<ClassId> classes{frozen().class_of(node)};
    if (auto it = chosen_.fusion.kernels.find(node); it != chosen_.fusion.kernels.end()) classes = it->second.computes;
    std::string text = provenance_text(names_, frozen(), classes, [&](ir::NodeId id) -> const std::string& {
      return source().node(source_node(id, copy)).name;
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
  std::vector<std::unordered_map<uint32_t, size_t>> roles_;                           // by run: node -> role
  std::vector<std::vector<std::unordered_map<size_t, ir::Value>>> outputs_left_out_;  // by run, block, output
  std::unordered_map<size_t, ir::Value> kept_outputs_;
};

}  // namespace

ir::Graph chosen_graph(const Chosen& chosen, std::span<const NodeId> order, Unroll* unroll) {
  return Laying(chosen, unroll).run({order.begin(), order.end()});
}

}  // namespace weft::passes
