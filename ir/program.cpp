#include "ir/program.hpp"

#include "ir/canonical.hpp"
#include "ir/support/error.hpp"
#include "ir/text.hpp"

namespace weft::ir {
namespace {

void check(const Graph& graph) {
  for (NodeId id : graph.live_nodes()) {
    const Node& n = graph.node(id);
    if (n.op == Op::parameter)
      fail(ErrorCode::invalid_argument, "a program has no parameters, but {} of type {} is one: make it an input",
           quote(n.name), to_string(n.types[0]));
    for (const TensorType& t : n.types)
      if (!is_static(t.shape))
        fail(ErrorCode::invalid_argument, "a program has static shapes, but {} {} is {}", to_string(n.op),
             quote(n.name), to_string(t));
  }
}

/// Inputs a0, a1, ... in their order, then the other live nodes in canonical order, without names.
Graph canonical(const Graph& graph) {
  check(graph);
  CanonicalOrder order = canonical_order(graph);
  std::vector<NodeId> renamed(order.nodes.size());
  Graph out("program");
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    NodeId id = graph.inputs()[i];
    Value made = out.input(fmt::format("a{}", i), graph.node(id).types[0]);
    if (uint32_t number = order.number[id.value]; number != CanonicalOrder::kUnreached) renamed[number] = made.node;
  }
  auto rename = [&](Value v) { return Value{renamed[order.number[v.node.value]], v.index}; };
  for (size_t i = 0; i < order.nodes.size(); ++i) {
    const Node& n = graph.node(order.nodes[i]);
    if (n.op == Op::input) continue;
    if (n.op == Op::constant) {
      renamed[i] = out.constant(n.tensor).node;
      continue;
    }
    std::vector<Value> operands = n.operands;
    for (Value& v : operands) v = rename(v);
    renamed[i] = out.add(n.op, std::move(operands), *n.attributes);
  }
  for (const Output& o : graph.outputs()) out.output("", rename(o.value));
  return out;
}

/// Whether two nodes print the same, but for their numbers.
bool equal(const Node& a, const Node& b) {
  if (a.op != b.op || a.operands != b.operands) return false;
  if (a.op != Op::constant) return *a.attributes == *b.attributes;
  return a.tensor.same_bits(b.tensor);
}

/// Whether canonical() would give the same graph: told without printing anything. Said only of graphs of which it is
/// easily seen.
bool is_canonical(const Graph& graph) {
  constexpr size_t kFew = 32;  // nodes, each of which is compared with each
  const size_t inputs = graph.inputs().size();
  if (graph.size() > kFew || graph.name() != "program") return false;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId(i));
    const bool input = n.op == Op::input;
    if (n.op == Op::parameter || input != (i < inputs)) return false;
    if (n.op == Op::constant && !n.tensor.defined()) return false;
    if (input ? graph.inputs()[i] != NodeId(i) || n.name != fmt::format("a{}", i) : !n.name.empty()) return false;
    for (const TensorType& type : n.types)
      if (!is_static(type.shape)) return false;
    for (uint32_t before = static_cast<uint32_t>(inputs); before < i; ++before)
      if (equal(graph.node(NodeId(before)), n)) return false;
  }
  // The order of the canonical walk: a node ends after its operands, which are looked at in order.
  uint32_t next = static_cast<uint32_t>(inputs);
  bool in_order = true;
  const auto visit = [&](const auto& self, NodeId id) -> void {
    if (!in_order || id.value < next) return;
    for (Value operand : graph.node(id).operands) self(self, operand.node);
    in_order = in_order && id.value == next++;
  };
  for (const Output& o : graph.outputs()) {
    if (!o.name.empty()) return false;
    visit(visit, o.value.node);
  }
  return in_order && next == graph.size();
}

}  // namespace

Program::Program(const Graph& graph)
    : graph_(is_canonical(graph) ? graph : canonical(graph)),
      text_(print_program(graph_)),
      hash_(hash_bytes(text_.data(), text_.size())) {}

ProgramRef make_program(const Graph& graph) { return std::make_shared<const Program>(graph); }

ProgramRef make_program(Op op, const std::vector<TensorType>& operands, const Attributes& attributes) {
  Graph graph("program");
  std::vector<Value> inputs;
  for (const TensorType& t : operands) inputs.push_back(graph.input(fmt::format("a{}", inputs.size()), t));
  NodeId node = graph.add(op, std::move(inputs), attributes);
  for (uint32_t i = 0; i < graph.node(node).types.size(); ++i) graph.output("", {node, i});
  return make_program(graph);
}

}  // namespace weft::ir
