// Graphs and programs to text: ir/text.hpp.
#include <unordered_set>

#include "ir/program.hpp"
#include "ir/text/operators.hpp"

namespace weft::ir {
namespace {

/// What each value is called: the node's own name where it is an identifier that nothing before it has, else %N, where
/// N counts inputs first and then all other nodes in order (the ids that reading the text gives).
class ValueNames {
 public:
  explicit ValueNames(const Graph& graph) : graph_(graph), names_(graph.size()), own_(graph.size()) {
    for (NodeId id : graph.inputs()) assign(id);
    for (NodeId id : graph.parameters()) assign(id);
    uint32_t number = 0;
    for (NodeId id : graph.inputs()) count(id, number);
    for (uint32_t i = 0; i < graph.size(); ++i) {
      const Node& n = graph.node(NodeId(i));
      if (n.op == Op::input) continue;
      if (n.op != Op::parameter) assign(NodeId(i));
      count(NodeId(i), number);
    }
  }
  std::string of(Value v) const {
    const std::string& name = names_[v.node.value];
    return graph_.node(v.node).types.size() == 1 ? name : fmt::format("{}.{}", name, v.index);
  }
  const std::vector<std::string>& all() const { return names_; }
  /// The value is called by the node's own name.
  bool own(NodeId id) const { return own_[id.value]; }

 private:
  void assign(NodeId id) {
    const Node& n = graph_.node(id);
    if (!is_identifier(n.name)) return;
    if (n.types.size() == 1) {
      own_[id.value] = taken_.insert(n.name).second;
      return;
    }
    for (size_t i = 0; i < n.types.size(); ++i)
      if (taken_.count(fmt::format("{}.{}", n.name, i))) return;
    for (size_t i = 0; i < n.types.size(); ++i) taken_.insert(fmt::format("{}.{}", n.name, i));
    own_[id.value] = true;
  }
  void count(NodeId id, uint32_t& number) {
    names_[id.value] = own_[id.value] ? graph_.node(id).name : fmt::format("%{}", number);
    ++number;
  }

  const Graph& graph_;
  std::vector<std::string> names_;
  std::vector<bool> own_;
  std::unordered_set<std::string> taken_;
};

class GraphPrinter {
 public:
  GraphPrinter(const Graph& graph, const PrintOptions& options) : graph_(graph), options_(options), names_(graph) {}

  std::string inputs() const {
    std::string out = "(";
    for (NodeId id : graph_.inputs()) {
      out += (out.size() > 1 ? ", " : "") + names_.of({id, 0}) + ": " + to_string(graph_.node(id).types[0]);
      out += kept_name(id, " as ");
    }
    return out + ")";
  }

  std::string statement(NodeId id) const {
    const Node& n = graph_.node(id);
    std::string out;
    for (uint32_t i = 0; i < n.types.size(); ++i) out += (i ? ", " : "") + names_.of({id, i});
    out += " = ";
    if (n.op == Op::parameter) return out + parameter(id);
    if (n.op == Op::constant) return out + constant(n) + kept_name(id, " as ");
    return out + call(n) + kept_name(id, " as ");
  }

  std::string types(NodeId id) const {
    std::string out = "  # ";
    const Node& n = graph_.node(id);
    for (size_t i = 0; i < n.types.size(); ++i) out += (i ? ", " : "") + to_string(n.types[i]);
    return out;
  }

  /// `named`: with the names of outputs where they differ from those of their values.
  std::string returns(bool named) const {
    std::string out = "return";
    for (const Output& o : graph_.outputs()) {
      out += &o == graph_.outputs().data() ? " " : ", ";
      std::string value = names_.of(o.value);
      bool plain = value[0] != '%';
      if (named && o.name != (plain ? value : "")) out += (is_identifier(o.name) ? o.name : quote(o.name)) + ": ";
      out += value;
    }
    return out;
  }

 private:
  std::string kept_name(NodeId id, std::string_view before) const {
    const std::string& name = graph_.node(id).name;
    return names_.own(id) || name.empty() ? std::string() : std::string(before) + quote(name);
  }

  std::string constant(const Node& n) const {
    if (!n.tensor.defined()) return "constant " + to_string(n.types[0]);
    if (n.tensor.elements() <= options_.max_elements) return "constant " + print_tensor(n.tensor);
    return fmt::format("constant {}[...{} elements]", to_string(n.types[0]), n.tensor.elements());
  }

  std::string parameter(NodeId id) const {
    const Node& n = graph_.node(id);
    bool data = options_.parameter_data && n.tensor.defined() && n.tensor.elements() <= options_.max_elements;
    return (data ? constant(n) : "parameter " + to_string(n.types[0])) + kept_name(id, " ");
  }

  std::string call(const Node& n) const {
    const OpInfo& op = info(n.op);
    std::string out = std::string(op.name) + "(", gap;
    std::vector<TensorType> types;
    for (Value v : n.operands) out += gap + names_.of(v), gap = ", ";
    if (!op.attributes.empty())
      for (Value v : n.operands) types.push_back(graph_.type(v));
    for (const AttributeSpec& spec : op.attributes) {  // in the order of the schema
      const AttributeValue* value = n.attributes->find(spec.name);
      if (!value || (!options_.default_attributes && is_default(n.op, *n.attributes, spec.name, types))) continue;
      out += fmt::format("{}{}={}", gap, spec.name, print_attribute(*value)), gap = ", ";
    }
    return out + ")";
  }

  const Graph& graph_;
  PrintOptions options_;
  ValueNames names_;
};

}  // namespace

std::string print_graph(const Graph& graph, const PrintOptions& options) {
  GraphPrinter printer(graph, options);
  std::string out =
      "graph " + (is_identifier(graph.name()) ? graph.name() : quote(graph.name())) + printer.inputs() + " {\n";
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (graph.node(NodeId(i)).op == Op::input) continue;
    out += "  " + printer.statement(NodeId(i)) + (options.types ? printer.types(NodeId(i)) : "") + "\n";
  }
  return out + "  " + printer.returns(true) + "\n}\n";
}

std::vector<std::string> printed_names(const Graph& graph) { return ValueNames(graph).all(); }

std::string print_node(const Graph& graph, NodeId node) {
  const Node& n = graph.node(node);
  if (n.op == Op::input) return fmt::format("{} = input {}", printed_names(graph)[node.value], to_string(n.types[0]));
  return GraphPrinter(graph, {}).statement(node);
}

std::string print_program(const Graph& graph) {  // outputs of a program are known by their place, not by name
  GraphPrinter printer(graph, {});
  std::string out = "{" + printer.inputs() + " ";
  for (uint32_t i = 0; i < graph.size(); ++i)
    if (graph.node(NodeId(i)).op != Op::input) out += printer.statement(NodeId(i)) + "; ";
  return out + printer.returns(false) + "}";
}

}  // namespace weft::ir
