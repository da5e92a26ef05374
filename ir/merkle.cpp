#include "ir/merkle.hpp"

#include <algorithm>

#include "ir/canonical.hpp"
#include "ir/support/error.hpp"
#include "ir/text.hpp"

namespace weft::ir {
namespace {

KeyHashFunction& key_hash() {
  static KeyHashFunction function;
  return function;
}

std::vector<NodeId> leaves(const Graph& graph, const CanonicalOrder& order, Op op) {
  std::vector<NodeId> out;
  for (NodeId id : order.nodes)
    if (graph.node(id).op == op) out.push_back(id);
  return out;
}

/// Inputs that no output needs, by the text of their types; equal types as declared.
std::vector<NodeId> unused_inputs(const Graph& graph, const CanonicalOrder& order) {
  std::vector<std::pair<std::string, NodeId>> found;
  for (NodeId id : graph.inputs())
    if (order.number[id.value] == CanonicalOrder::kUnreached)
      found.emplace_back(to_string(graph.node(id).types[0]), id);
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<NodeId> out;
  for (const auto& entry : found) out.push_back(entry.second);
  return out;
}

}  // namespace

void set_key_hash_for_tests(KeyHashFunction function) { key_hash() = std::move(function); }

StructuralKey structural_key(const Graph& graph) {
  CanonicalOrder order = canonical_order(graph);
  StructuralKey key;
  for (std::string& line : order.lines) key.canonical += std::move(line) + "\n";
  for (NodeId id : unused_inputs(graph, order)) key.canonical += "unused " + to_string(graph.node(id).types[0]) + "\n";
  key.canonical += "return";
  for (const Output& o : graph.outputs()) {
    key.canonical += fmt::format(" %{}", order.number[o.value.node.value]);
    if (graph.node(o.value.node).types.size() != 1) key.canonical += fmt::format(".{}", o.value.index);
  }
  key.canonical += "\n";
  key.hash = key_hash() ? key_hash()(key.canonical) : hash_bytes(key.canonical.data(), key.canonical.size());
  return key;
}

std::vector<NodeId> parameters_in_key_order(const Graph& graph) {
  return leaves(graph, canonical_order(graph), Op::parameter);
}

std::vector<NodeId> inputs_in_key_order(const Graph& graph) {
  CanonicalOrder order = canonical_order(graph);
  std::vector<NodeId> out = leaves(graph, order, Op::input), unused = unused_inputs(graph, order);
  out.insert(out.end(), unused.begin(), unused.end());
  return out;
}

}  // namespace weft::ir
