#include <algorithm>

#include "ir/support/error.hpp"
#include "runtime/session_state.hpp"

namespace weft::runtime {

ir::Graph with_inputs_bound(const ir::Graph& graph, const ir::NamedTensors& binds) {
  ir::Graph result(graph.name());
  std::vector<std::vector<ir::Value>> map(graph.size());
  size_t used = 0;
  for (size_t i = 0; i < graph.size(); ++i) {
    const ir::Node& node = graph.node(ir::NodeId(i));
    auto bound = node.op == ir::Op::input ? binds.find(node.name) : binds.end();
    if (bound != binds.end()) {
      ir::bind_shapes(graph, {{node.name, to_ints(bound->second.shape())}});  // throws where it does not fit
      if (bound->second.dtype() != node.types[0].dtype)
        throw Error(ErrorCode::type_mismatch,
                    fmt::format("{} given, {} expected", to_string(bound->second.type()), to_string(node.types[0])),
                    fmt::format("bound input '{}'", node.name));
      map[i] = {result.constant(bound->second, node.name)};
      ++used;
    } else if (node.op == ir::Op::input) {
      map[i] = {result.input(node.name, node.types[0])};
    } else if (node.op == ir::Op::parameter) {
      map[i] = {result.parameter(node.name, node.types[0], node.tensor)};
    } else if (node.op == ir::Op::constant) {
      map[i] = {result.constant(node.tensor, node.name)};
    } else {
      std::vector<ir::Value> operands;
      for (ir::Value v : node.operands) operands.push_back(map[v.node.value][v.index]);
      ir::NodeId id = result.add(node.op, std::move(operands), *node.attributes, node.name);
      for (uint32_t o = 0; o < node.types.size(); ++o) map[i].push_back({id, o});
    }
  }
  if (used != binds.size())
    for (const auto& [name, tensor] : binds)
      if (std::none_of(graph.inputs().begin(), graph.inputs().end(),
                       [&, &name = name](ir::NodeId id) { return graph.node(id).name == name; }))
        throw Error(ErrorCode::invalid_argument, "the model has no such input to bind",
                    fmt::format("input '{}'", name));
  for (const ir::Output& output : graph.outputs())
    result.output(output.name, map[output.value.node.value][output.value.index]);
  return result;
}

}  // namespace weft::runtime
