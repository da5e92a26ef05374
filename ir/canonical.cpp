#include "ir/canonical.hpp"

#include <unordered_map>

#include "ir/support/error.hpp"
#include "ir/text.hpp"

namespace weft::ir {
namespace {

class Walk {
 public:
  explicit Walk(const Graph& graph) : graph_(graph) { order_.number.assign(graph.size(), CanonicalOrder::kUnreached); }

  CanonicalOrder run() {
    for (const Output& o : graph_.outputs()) visit(o.value.node);
    return std::move(order_);
  }

 private:
  struct Frame {
    NodeId node;
    size_t next;  // operand to look at
  };

  bool reached(NodeId id) const { return order_.number[id.value] != CanonicalOrder::kUnreached; }

  void visit(NodeId root) {
    if (reached(root)) return;
    stack_.push_back({root, 0});
    while (!stack_.empty()) {
      Frame& top = stack_.back();
      const Node& n = graph_.node(top.node);
      if (top.next < n.operands.size()) {
        NodeId operand = n.operands[top.next++].node;
        if (!reached(operand)) stack_.push_back({operand, 0});
      } else {
        finish(top.node);
        stack_.pop_back();
      }
    }
  }

  void finish(NodeId id) {
    if (reached(id)) return;
    std::string line = spell(graph_.node(id));
    uint32_t fresh = static_cast<uint32_t>(order_.nodes.size()), number = fresh;
    Op op = graph_.node(id).op;
    if (op != Op::input && op != Op::parameter) number = by_line_.try_emplace(line, fresh).first->second;
    order_.number[id.value] = number;
    if (number != fresh) return;
    order_.nodes.push_back(id);
    order_.lines.push_back(std::move(line));
  }

  std::string spell(const Node& n) const {
    if (n.op == Op::constant) return "constant " + print_tensor(n.tensor);
    if (info(n.op).has(kLeaf)) return std::string(to_string(n.op)) + " " + to_string(n.types[0]);
    std::string out = std::string(to_string(n.op)) + "(", gap;
    for (Value v : n.operands) {
      out += fmt::format("{}%{}", gap, order_.number[v.node.value]);
      if (graph_.node(v.node).types.size() != 1) out += fmt::format(".{}", v.index);
      gap = ", ";
    }
    if (!n.attributes->empty()) out += gap + print_attributes(*n.attributes);
    return out + ")";
  }

  const Graph& graph_;
  CanonicalOrder order_;
  std::vector<Frame> stack_;
  std::unordered_map<std::string, uint32_t> by_line_;
};

}  // namespace

CanonicalOrder canonical_order(const Graph& graph) { return Walk(graph).run(); }

}  // namespace weft::ir
