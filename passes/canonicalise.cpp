#include "passes/canonicalise.hpp"

namespace weft::passes {

ir::Graph canonicalise(const ir::Graph& graph, std::vector<ir::NodeId>* new_ids) {
  ir::Graph out(graph.name());
  std::vector<ir::NodeId> map(graph.size());
  for (ir::NodeId id : graph.inputs()) map[id.value] = out.input(graph.node(id).name, graph.node(id).types[0]).node;
  for (ir::NodeId id : graph.parameters())
    map[id.value] = out.parameter(graph.node(id).name, graph.node(id).types[0], graph.node(id).tensor).node;
  auto with_rank = [&](ir::Value v, size_t rank) {
    const ir::Node& node = graph.node(v.node);
    const ir::Shape& shape = node.types[v.index].shape;
    ir::Value mapped{map[v.node.value], v.index};
    if (shape.size() >= rank) return mapped;
    ir::Shape extended(rank - shape.size(), ir::Dim(1));
    extended.insert(extended.end(), shape.begin(), shape.end());
    if (node.op == ir::Op::constant) return out.constant(node.tensor.reshaped(extended));
    return out.value(ir::Op::reshape, {mapped}, {{"shape", extended}});
  };
  for (ir::NodeId id : graph.live_nodes()) {
    const ir::Node& node = graph.node(id);
    if (node.op == ir::Op::input || node.op == ir::Op::parameter) continue;
    if (node.op == ir::Op::constant) {
      map[id.value] = out.constant(node.tensor).node;
      continue;
    }
    bool elementwise = ir::info(node.op).has(ir::kElementwise);
    std::vector<ir::Value> operands;
    for (ir::Value v : node.operands)
      operands.push_back(elementwise ? with_rank(v, node.types[0].rank()) : ir::Value{map[v.node.value], v.index});
    map[id.value] = out.add(node.op, operands, *node.attributes, node.name);
  }
  for (const ir::Output& output : graph.outputs())
    out.output(output.name, {map[output.value.node.value], output.value.index});
  if (new_ids) *new_ids = std::move(map);
  return out;
}

}  // namespace weft::passes
