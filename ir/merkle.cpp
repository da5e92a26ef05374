#include "ir/merkle.hpp"

#include "ir/canonical.hpp"
#include "ir/support/error.hpp"
#include "ir/text.hpp"

namespace weft::ir {
namespace {

KeyHashFunction& key_hash() {
  static KeyHashFunction function;
  return function;
}

std::vector<NodeId> leaves(const Graph& graph, Op op) {
  std::vector<NodeId> out;
  for (NodeId id : canonical_order(graph).nodes)
    if (graph.node(id).op == op) out.push_back(id);
  return out;
}

}  // namespace

void set_key_hash_for_tests(KeyHashFunction function) { key_hash() = std::move(function); }

StructuralKey structural_key(const Graph& graph) {
  CanonicalOrder order = canonical_order(graph);
  StructuralKey key;
  for (std::string& line : order.lines) key.canonical += std::move(line) + "\n";
  for (NodeId id : graph.inputs())
    if (order.number[id.value] == CanonicalOrder::kUnreached)
      key.canonical += "unused " + to_string(graph.node(id).types[0]) + "\n";
  key.canonical += "return";
  for (const Output& o : graph.outputs()) {
    key.canonical += fmt::format(" %{}", order.number[o.value.node.value]);
    if (graph.node(o.value.node).types.size() != 1) key.canonical += fmt::format(".{}", o.value.index);
  }
  key.canonical += "\n";
  key.hash = key_hash() ? key_hash()(key.canonical) : hash_bytes(key.canonical.data(), key.canonical.size());
  return key;
}

std::vector<NodeId> parameters_in_key_order(const Graph& graph) { return leaves(graph, Op::parameter); }

std::vector<NodeId> inputs_in_key_order(const Graph& graph) {
  std::vector<NodeId> out = leaves(graph, Op::input);
  std::vector<bool> used(graph.size());
  for (NodeId id : out) used[id.value] = true;
  for (NodeId id : graph.inputs())
    if (!used[id.value]) out.push_back(id);
  return out;
}

}  // namespace weft::ir
