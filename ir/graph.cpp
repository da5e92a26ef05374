#include "ir/graph.hpp"

#include <algorithm>

#include "ir/support/error.hpp"
#include "ir/text.hpp"

namespace weft::ir {
namespace {

std::shared_ptr<const Attributes> share(Attributes attributes) {
  static const auto kEmpty = std::make_shared<const Attributes>();
  return attributes.empty() ? kEmpty : std::make_shared<const Attributes>(std::move(attributes));
}

/// `mul(f32[2], f32[3])`: what was asked for, in front of why it cannot be.
std::string describe(Op op, std::span<const TensorType> types, const Attributes& attributes, std::string_view name) {
  std::string out = name.empty() ? std::string() : "node " + quote(name) + ": ";
  out += std::string(to_string(op)) + "(";
  for (size_t i = 0; i < types.size(); ++i) out += (i ? ", " : "") + to_string(types[i]);
  if (!attributes.empty()) out += (types.empty() ? "" : ", ") + print_attributes(attributes);
  return out + ")";
}

void check_type(std::string_view kind, std::string_view name, const TensorType& type) {
  for (const Dim& d : type.shape)
    if (d.is_constant() && d.value() < 0)
      fail(ErrorCode::out_of_range, "{} {} of type {} has the negative dimension {}", kind, quote(name),
           to_string(type), d.text());
}

}  // namespace

bool is_structural(const TensorType& type) {
  if (!is_static(type.shape)) return false;
  int64_t elements = type.elements();
  return elements == 1 || (!is_float(type.dtype) && elements <= kStructuralElements);
}

NodeId Graph::append(Node node) {
  if (nodes_.size() >= NodeId::kNone) fail(ErrorCode::limit, "a graph has at most {} nodes", NodeId::kNone);
  nodes_.push_back(std::move(node));
  return NodeId(nodes_.size() - 1);
}

Value Graph::input(std::string_view name, TensorType type) {
  check_type("input", name, type);
  NodeId id = append({Op::input, share({}), {}, {std::move(type)}, std::string(name), {}});
  inputs_.push_back(id);
  return {id, 0};
}

Value Graph::constant(Tensor tensor, std::string_view name) {
  if (!tensor.defined()) fail(ErrorCode::invalid_argument, "constant {} has no data", quote(name));
  TensorType type = tensor.type();
  if (!is_structural(type)) return parameter(name, std::move(type), std::move(tensor));
  return {append({Op::constant, share({}), {}, {std::move(type)}, std::string(name), std::move(tensor)}), 0};
}

Value Graph::parameter(std::string_view name, TensorType type, Tensor data) {
  if (data.defined() && data.type() != type)
    fail(ErrorCode::type_mismatch, "parameter {} of type {} is given data of type {}", quote(name), to_string(type),
         to_string(data.type()));
  check_type("parameter", name, type);
  NodeId id = append({Op::parameter, share({}), {}, {std::move(type)}, std::string(name), std::move(data)});
  parameters_.push_back(id);
  return {id, 0};
}

void Graph::check_value(Value value, std::string_view user) const {
  if (value.node.value >= nodes_.size())
    fail(ErrorCode::out_of_range, "{} uses node {}, but the graph has {} nodes", user, value.node.value, nodes_.size());
  if (value.index >= nodes_[value.node.value].types.size())
    fail(ErrorCode::out_of_range, "{} uses output {} of node {}, which has {}", user, value.index, value.node.value,
         nodes_[value.node.value].types.size());
}

NodeId Graph::add(Op op, std::vector<Value> operands, const Attributes& attributes, std::string_view name) {
  if (op >= Op::count_) fail(ErrorCode::out_of_range, "op number {} is beyond the table", static_cast<int>(op));
  if (info(op).has(kLeaf))
    fail(ErrorCode::invalid_argument, "{} is a leaf: it is made by Graph::{}, not by Graph::add", to_string(op),
         to_string(op));
  std::vector<TensorType> types;
  types.reserve(operands.size());
  for (Value v : operands) {
    check_value(v, to_string(op));
    types.push_back(type(v));
  }
  try {
    Attributes complete_attributes = complete(op, attributes, types);
    std::vector<TensorType> results = infer(op, types, complete_attributes);
    return append(
        {op, share(std::move(complete_attributes)), std::move(operands), std::move(results), std::string(name), {}});
  } catch (const Error& e) {
    std::string place = describe(op, types, attributes, name);  // says all that the op's own place says
    bool said = e.where().starts_with(std::string(to_string(op)) + "(");
    throw said ? Error(e.code(), e.message(), std::move(place)) : e.within(place);
  }
}

Value Graph::value(Op op, std::vector<Value> operands, const Attributes& attributes, std::string_view name) {
  NodeId id = add(op, std::move(operands), attributes, name);
  WEFT_CHECK(node(id).types.size() == 1, "Graph::value of {}, which has {} outputs", to_string(op),
             node(id).types.size());
  return {id, 0};
}

void Graph::output(std::string_view name, Value value) {
  check_value(value, "output " + quote(name));
  outputs_.push_back({std::string(name), value});
}

bool Graph::is_static() const {
  for (const Node& n : nodes_) {
    for (const TensorType& t : n.types)
      if (!ir::is_static(t.shape)) return false;
    for (const auto& [name, value] : n.attributes->entries())
      if (const Shape* shape = std::get_if<Shape>(&value); shape && !ir::is_static(*shape)) return false;
  }
  return true;
}

std::vector<NodeId> Graph::live_nodes() const {
  std::vector<bool> live(nodes_.size());
  for (NodeId id : inputs_) live[id.value] = true;
  for (const Output& o : outputs_) live[o.value.node.value] = true;
  for (size_t i = nodes_.size(); i-- > 0;)  // operands stand before their users: one sweep from the end reaches all
    if (live[i])
      for (Value v : nodes_[i].operands) live[v.node.value] = true;
  std::vector<NodeId> out;
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (live[i]) out.push_back(NodeId(i));
  return out;
}

std::vector<uint32_t> Graph::use_counts() const {
  std::vector<uint32_t> uses(nodes_.size());
  for (NodeId id : live_nodes())
    for (Value v : node(id).operands) ++uses[v.node.value];
  for (const Output& o : outputs_) ++uses[o.value.node.value];
  return uses;
}

}  // namespace weft::ir
