#include "ir/eval.hpp"

#include "ir/program.hpp"
#include "ir/support/error.hpp"
#include "ir/support/nearest.hpp"
#include "ir/text.hpp"

namespace weft::ir {
namespace {

class Interpreter {
 public:
  Interpreter(const Graph& graph, const std::function<void(Value, const Tensor&)>& observe)
      : graph_(graph), observe_(observe), live_(graph.live_nodes()), uses_(graph.use_counts()), values_(graph.size()) {}

  /// `leaf` gives the tensor of an input.
  std::vector<Tensor> run(const std::function<Tensor(NodeId)>& input) {
    for (NodeId id : live_) {
      const Node& n = graph_.node(id);
      if (n.op == Op::input)
        values_[id.value] = {input(id)};
      else if (n.op == Op::constant || n.op == Op::parameter)
        values_[id.value] = {leaf(n)};
      else
        compute(id);
    }
    std::vector<Tensor> out;
    for (const Output& o : graph_.outputs()) out.push_back(values_[o.value.node.value][o.value.index]);
    return out;
  }

 private:
  static const Tensor& leaf(const Node& n) {
    if (!n.tensor.defined())
      fail(ErrorCode::invalid_argument, "{} {} of type {} has no data", to_string(n.op), quote(n.name),
           to_string(n.types[0]));
    return n.tensor;
  }

  void compute(NodeId id) {
    const Node& n = graph_.node(id);
    std::vector<Tensor> operands;
    operands.reserve(n.operands.size());
    for (Value v : n.operands) operands.push_back(values_[v.node.value][v.index]);
    try {
      values_[id.value] = evaluate(n.op, operands, *n.attributes);
    } catch (const Error& e) {
      throw e.within(fmt::format("node {} ({} {})", id.value, to_string(n.op), quote(n.name)));
    }
    if (observe_)
      for (uint32_t i = 0; i < n.types.size(); ++i) observe_({id, i}, values_[id.value][i]);
    for (Value v : n.operands)
      if (--uses_[v.node.value] == 0) values_[v.node.value].clear();
    if (uses_[id.value] == 0) values_[id.value].clear();
  }

  const Graph& graph_;
  const std::function<void(Value, const Tensor&)>& observe_;
  std::vector<NodeId> live_;
  std::vector<uint32_t> uses_;
  std::vector<std::vector<Tensor>> values_;
};

void check_static(const Graph& graph) {
  for (NodeId id : graph.live_nodes())
    for (const TensorType& t : graph.node(id).types)
      if (!is_static(t.shape))
        fail(ErrorCode::invalid_argument, "graph {} runs on static shapes, but {} {} is {}: bind its dimensions first",
             quote(graph.name()), to_string(graph.node(id).op), quote(graph.node(id).name), to_string(t));
}

void check_type(std::string_view name, const TensorType& declared, const Tensor& given) {
  if (!given.defined()) fail(ErrorCode::invalid_argument, "{} is given an undefined tensor", name);
  if (given.type() != declared)
    fail(ErrorCode::type_mismatch, "{} is {}, but {} is given", name, to_string(declared), to_string(given.type()));
}

void check_names(const Graph& graph, const NamedTensors& inputs) {
  std::vector<std::string_view> names;
  for (NodeId id : graph.inputs()) names.push_back(graph.node(id).name);
  std::map<std::string_view, int> known;
  for (std::string_view n : names) known[n] = 1;
  for (const auto& [name, tensor] : inputs)
    if (!known.count(name))
      fail(ErrorCode::not_found, "graph {} has no input {}{}", quote(graph.name()), quote(name), suggest(name, names));
}

}  // namespace

std::vector<Tensor> run_reference(const Graph& graph, const NamedTensors& inputs,
                                  const std::function<void(Value, const Tensor&)>& observe) {
  check_static(graph);
  check_names(graph, inputs);
  return Interpreter(graph, observe).run([&](NodeId id) {
    const Node& n = graph.node(id);
    auto it = inputs.find(n.name);
    if (it == inputs.end())
      fail(ErrorCode::not_found, "input {} of type {} is not given", quote(n.name), to_string(n.types[0]));
    check_type("input " + quote(n.name), n.types[0], it->second);
    return it->second;
  });
}

std::vector<Tensor> run_program(const Program& program, std::span<const Tensor> operands) {
  const Graph& graph = program.graph();
  std::span<const NodeId> inputs = graph.inputs();
  if (operands.size() != inputs.size())
    fail(ErrorCode::invalid_argument, "program {} has {} operands, but {} are given", program.text(), inputs.size(),
         operands.size());
  std::map<NodeId, const Tensor*> given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_type(fmt::format("operand {} of program {}", i, program.text()), graph.node(inputs[i]).types[0], operands[i]);
    given[inputs[i]] = &operands[i];
  }
  return Interpreter(graph, {}).run([&](NodeId id) { return *given.at(id); });
}

}  // namespace weft::ir
