#pragma once
// Structural equality of graphs, node by node.
#include <string>

#include "ir/graph.hpp"
#include "ir/support/error.hpp"
#include "ir/text.hpp"

namespace weft::test {

/// What tells the graphs apart, or nothing. Nodes are compared in the order of the text: inputs first, then the others.
/// Data of parameters is not compared.
inline std::string difference(const ir::Graph& a, const ir::Graph& b) {
  using namespace weft::ir;
  auto order = [](const Graph& g) {
    std::vector<NodeId> ids(g.inputs().begin(), g.inputs().end());
    for (uint32_t i = 0; i < g.size(); ++i)
      if (g.node(NodeId(i)).op != Op::input) ids.push_back(NodeId(i));
    return ids;
  };
  if (a.name() != b.name()) return "names";
  if (a.size() != b.size() || a.outputs().size() != b.outputs().size()) return "numbers of nodes or outputs";
  std::vector<NodeId> ia = order(a), ib = order(b);
  std::vector<uint32_t> place_a(a.size()), place_b(b.size());
  for (uint32_t i = 0; i < ia.size(); ++i) place_a[ia[i].value] = i, place_b[ib[i].value] = i;
  auto same = [&](Value x, Value y) { return place_a[x.node.value] == place_b[y.node.value] && x.index == y.index; };
  for (size_t i = 0; i < ia.size(); ++i) {
    const Node &x = a.node(ia[i]), &y = b.node(ib[i]);
    std::string place = fmt::format("node {} ({} {} against {} {}): ", i, to_string(x.op), quote(x.name),
                                    to_string(y.op), quote(y.name));
    if (x.op != y.op) return place + "op";
    if (x.name != y.name) return place + "name";
    if (x.types != y.types) return place + "types";
    if (!(*x.attributes == *y.attributes))
      return place + print_attributes(*x.attributes) + " against " + print_attributes(*y.attributes);
    if (x.operands.size() != y.operands.size()) return place + "operand count";
    for (size_t j = 0; j < x.operands.size(); ++j)
      if (!same(x.operands[j], y.operands[j])) return place + fmt::format("operand {}", j);
    if (x.op == Op::constant && !x.tensor.same_bits(y.tensor)) return place + "data";
  }
  for (size_t i = 0; i < a.outputs().size(); ++i)
    if (a.outputs()[i].name != b.outputs()[i].name || !same(a.outputs()[i].value, b.outputs()[i].value))
      return fmt::format("output {}", i);
  return {};
}

}  // namespace weft::test
