#pragma once
// A program as a graph of nodes. Nodes are appended after their operands, so ids are a topological order.
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/attributes.hpp"
#include "ir/op.hpp"
#include "ir/support/ids.hpp"
#include "ir/tensor.hpp"

namespace weft::ir {

using NodeId = Id<struct NodeTag>;

/// Output `index` of a node.
struct Value {
  NodeId node;
  uint32_t index = 0;
  auto operator<=>(const Value&) const = default;
};

struct Node {
  Op op;
  std::shared_ptr<const Attributes> attributes;  ///< complete (defaults filled in); never null
  std::vector<Value> operands;
  std::vector<TensorType> types;  ///< one an output
  std::string name;               ///< of an input or parameter; else a hint from the source (may be empty)
  Tensor tensor;                  ///< of a constant (always) or parameter (may be undefined until bound)
};

struct Output {
  std::string name;
  Value value;
};

/// Integer and bool constants up to this many elements belong to the structure.
inline constexpr int64_t kStructuralElements = 64;
/// One element of any dtype and rank (a scalar: exporters write them as shape [] or [1]), or integer/bool of at most
/// kStructuralElements elements: keyed by bits. Else a parameter.
bool is_structural(const TensorType& type);

class Graph {
 public:
  explicit Graph(std::string name = "main") : name_(std::move(name)) {}

  Value input(std::string_view name, TensorType type);
  /// A constant by value: structural ones become `constant`, larger ones a `parameter` (named `name`).
  Value constant(Tensor tensor, std::string_view name = {});
  Value parameter(std::string_view name, TensorType type, Tensor data = {});
  /// One node of an op; attributes are completed and types inferred. Throws Error with the op and operand types.
  NodeId add(Op op, std::vector<Value> operands, const Attributes& attributes = {}, std::string_view name = {});
  /// As add, for ops of one output.
  Value value(Op op, std::vector<Value> operands, const Attributes& attributes = {}, std::string_view name = {});
  void output(std::string_view name, Value value);
  void set_outputs(std::vector<Output> outputs) { outputs_ = std::move(outputs); }

  const std::string& name() const { return name_; }
  size_t size() const { return nodes_.size(); }
  const Node& node(NodeId id) const { return nodes_[id.value]; }
  Node& mutable_node(NodeId id) { return nodes_[id.value]; }
  const TensorType& type(Value v) const { return nodes_[v.node.value].types[v.index]; }
  std::span<const Node> nodes() const { return nodes_; }
  std::span<const NodeId> inputs() const { return inputs_; }
  std::span<const NodeId> parameters() const { return parameters_; }
  std::span<const Output> outputs() const { return outputs_; }
  bool is_static() const;  ///< no symbolic dimension anywhere
  /// Ids of nodes from which an output is reached, ascending; inputs are always among them.
  std::vector<NodeId> live_nodes() const;
  /// Number of uses of each node's outputs by live nodes and graph outputs, by node id.
  std::vector<uint32_t> use_counts() const;

 private:
  NodeId append(Node node);
  void check_value(Value value, std::string_view user) const;
  std::string name_;
  std::vector<Node> nodes_;
  std::vector<NodeId> inputs_, parameters_;
  std::vector<Output> outputs_;
};

/// The graph with symbolic dimensions replaced: types are inferred again, shape attributes substituted, dead nodes
/// dropped (inputs stay). Throws Error where a binding names no dimension of the graph or is negative, or a type no
/// longer fits.
Graph specialize(const Graph& graph, const DimBindings& bindings);
/// The bindings that given shapes of some inputs (by name) imply: dimensions that are a plain symbol bind it, constants
/// and expressions are checked. Throws Error where a shape contradicts the declared one or another shape.
DimBindings bind_shapes(const Graph& graph, const std::vector<std::pair<std::string, std::vector<int64_t>>>& shapes);

}  // namespace weft::ir
