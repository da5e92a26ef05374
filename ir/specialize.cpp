// Symbolic dimensions made numbers: ir/graph.hpp.
#include <set>

#include "ir/graph.hpp"
#include "ir/support/error.hpp"
#include "ir/support/nearest.hpp"
#include "ir/text.hpp"

namespace weft::ir {
namespace {

Shape substitute(const Shape& shape, const DimBindings& bindings) {
  Shape out;
  out.reserve(shape.size());
  for (const Dim& d : shape) out.push_back(d.substitute(bindings));
  return out;
}

Attributes substitute(const Attributes& attributes, const DimBindings& bindings) {
  Attributes out;
  for (const auto& [name, value] : attributes.entries()) {
    const Shape* shape = std::get_if<Shape>(&value);
    out.set(name, shape ? AttributeValue(substitute(*shape, bindings)) : value);
  }
  return out;
}

void collect_symbols(const Shape& shape, std::set<std::string, std::less<>>& symbols) {
  for (const Dim& d : shape)
    if (!d.is_constant())
      for (std::string& s : d.symbols()) symbols.insert(std::move(s));
}

void check_bindings(const Graph& graph, const DimBindings& bindings) {
  if (bindings.empty()) return;
  std::set<std::string, std::less<>> symbols;
  for (const Node& n : graph.nodes()) {
    for (const TensorType& t : n.types) collect_symbols(t.shape, symbols);
    for (const auto& [name, value] : n.attributes->entries())
      if (const Shape* shape = std::get_if<Shape>(&value)) collect_symbols(*shape, symbols);
  }
  std::vector<std::string_view> known(symbols.begin(), symbols.end());
  for (const auto& [name, value] : bindings) {
    if (!symbols.count(name))
      fail(ErrorCode::invalid_argument, "no dimension of graph {} is named {}{}", quote(graph.name()), quote(name),
           suggest(name, known));
    if (value < 0) fail(ErrorCode::out_of_range, "dimension {} cannot be {}", quote(name), value);
  }
}

Value copy_leaf(const Node& node, const DimBindings& bindings, Graph& out) {
  TensorType type{node.types[0].dtype, substitute(node.types[0].shape, bindings)};
  if (node.op == Op::input) return out.input(node.name, std::move(type));
  if (node.op == Op::constant) return out.constant(node.tensor, node.name);
  return out.parameter(node.name, std::move(type), node.tensor);
}

struct GivenShape {
  const Node* input;
  const std::vector<int64_t>* dims;
};

[[noreturn]] void contradiction(const GivenShape& given, size_t axis, const std::string& expected) {
  fail(ErrorCode::type_mismatch,
       "input {} is declared {}, but its given shape {} has {} as dimension {} where {} is expected",
       quote(given.input->name), to_string(given.input->types[0]), to_string(to_shape(*given.dims)),
       (*given.dims)[axis], axis, expected);
}

/// Binds plain symbols and compares constants; dimensions that are expressions wait until all symbols are bound.
void bind_plain(const GivenShape& given, DimBindings& bindings) {
  const Shape& declared = given.input->types[0].shape;
  if (declared.size() != given.dims->size())
    fail(ErrorCode::type_mismatch, "input {} is declared {} of rank {}, but its given shape {} has rank {}",
         quote(given.input->name), to_string(given.input->types[0]), declared.size(), to_string(to_shape(*given.dims)),
         given.dims->size());
  for (size_t i = 0; i < declared.size(); ++i) {
    int64_t value = (*given.dims)[i];
    if (value < 0) contradiction(given, i, "a size of 0 or more");
    if (declared[i].is_constant()) {
      if (!declared[i].is(value)) contradiction(given, i, declared[i].text());
      continue;
    }
    std::string name = declared[i].symbols().front();
    if (declared[i] != Dim::symbol(name)) continue;
    auto [it, fresh] = bindings.try_emplace(name, value);
    if (!fresh && it->second != value) contradiction(given, i, fmt::format("{} = {}", declared[i].text(), it->second));
  }
}

void check_expressions(const GivenShape& given, const DimBindings& bindings) {
  const Shape& declared = given.input->types[0].shape;
  for (size_t i = 0; i < declared.size(); ++i) {
    Dim bound = declared[i].substitute(bindings);
    if (bound.is_constant() && !bound.is((*given.dims)[i]))
      contradiction(given, i, fmt::format("{} = {}", declared[i].text(), bound.text()));
  }
}

}  // namespace

Graph specialize(const Graph& graph, const DimBindings& bindings) {
  check_bindings(graph, bindings);
  Graph out(graph.name());
  std::vector<NodeId> renamed(graph.size());
  for (NodeId id : graph.live_nodes()) {
    const Node& n = graph.node(id);
    if (info(n.op).has(kLeaf)) {
      renamed[id.value] = copy_leaf(n, bindings, out).node;
      continue;
    }
    std::vector<Value> operands = n.operands;
    for (Value& v : operands) v.node = renamed[v.node.value];
    renamed[id.value] = out.add(n.op, std::move(operands), substitute(*n.attributes, bindings), n.name);
  }
  for (const Output& o : graph.outputs()) out.output(o.name, {renamed[o.value.node.value], o.value.index});
  return out;
}

DimBindings bind_shapes(const Graph& graph, const std::vector<std::pair<std::string, std::vector<int64_t>>>& shapes) {
  std::map<std::string_view, const Node*> inputs;
  std::vector<std::string_view> names;
  for (NodeId id : graph.inputs()) {
    inputs.emplace(graph.node(id).name, &graph.node(id));
    names.push_back(graph.node(id).name);
  }
  std::vector<GivenShape> given;
  for (const auto& [name, dims] : shapes) {
    auto it = inputs.find(name);
    if (it == inputs.end())
      fail(ErrorCode::invalid_argument, "graph {} has no input {}{}", quote(graph.name()), quote(name),
           suggest(name, names));
    given.push_back({it->second, &dims});
  }
  DimBindings bindings;
  for (const GivenShape& g : given) bind_plain(g, bindings);
  for (const GivenShape& g : given) check_expressions(g, bindings);
  return bindings;
}

}  // namespace weft::ir
