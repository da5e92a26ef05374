#include "ir/verify.hpp"

#include <set>

#include "ir/support/error.hpp"
#include "ir/text.hpp"

namespace weft::ir {
namespace {

constexpr size_t kShown = 20;

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  void run() {
    check_leaf_list(graph_.inputs(), Op::input, "inputs");
    check_leaf_list(graph_.parameters(), Op::parameter, "parameters");
    check_names();
    for (uint32_t i = 0; i < graph_.size(); ++i) check_node(NodeId(i));
    for (const Output& o : graph_.outputs()) check_value(o.value, graph_.size(), "output " + quote(o.name));
    if (found_ == 0) return;
    fail(ErrorCode::internal, "graph {} breaks {} invariant{}:{}{}", quote(graph_.name()), found_,
         found_ == 1 ? "" : "s", text_, found_ > kShown ? fmt::format("\n  and {} more", found_ - kShown) : "");
  }

 private:
  void violation(const std::string& line) {
    if (found_++ < kShown) text_ += "\n  " + line;
  }

  std::string place(NodeId id) const {
    const Node& n = graph_.node(id);
    std::string op = n.op < Op::count_ ? std::string(to_string(n.op)) : fmt::format("op {}", static_cast<int>(n.op));
    return fmt::format("node {} ({}{})", id.value, op, n.name.empty() ? "" : " " + quote(n.name));
  }

  bool check_value(Value v, size_t bound, const std::string& user) {
    if (v.node.value >= bound) {
      violation(fmt::format("{} uses node {}, which does not stand before it", user, v.node.value));
      return false;
    }
    size_t outputs = graph_.node(v.node).types.size();
    if (v.index < outputs) return true;
    violation(fmt::format("{} uses output {} of node {}, which has {}", user, v.index, v.node.value, outputs));
    return false;
  }

  void check_leaf_list(std::span<const NodeId> ids, Op op, std::string_view list) {
    std::set<NodeId> seen;
    for (NodeId id : ids) {
      if (id.value >= graph_.size() || graph_.node(id).op != op)
        violation(fmt::format("the list of {} holds node {}, which is none", list, id.value));
      if (!seen.insert(id).second) violation(fmt::format("the list of {} holds node {} twice", list, id.value));
    }
    for (uint32_t i = 0; i < graph_.size(); ++i)
      if (graph_.node(NodeId(i)).op == op && !seen.count(NodeId(i)))
        violation(fmt::format("{} is not in the list of {}", place(NodeId(i)), list));
  }

  void check_names() {
    check_unique(Op::input, graph_.inputs());
    check_unique(Op::parameter, graph_.parameters());
    std::set<std::string_view> seen;
    for (const Output& o : graph_.outputs())
      if (!o.name.empty() && !seen.insert(o.name).second)
        violation(fmt::format("two outputs are named {}", quote(o.name)));
  }

  void check_unique(Op op, std::span<const NodeId> ids) {
    std::set<std::string_view> seen;
    for (NodeId id : ids) {
      if (id.value >= graph_.size()) continue;
      std::string_view name = graph_.node(id).name;
      if (name.empty() && op == Op::input) violation(fmt::format("{} has no name", place(id)));
      if (!name.empty() && !seen.insert(name).second)
        violation(fmt::format("two {}s are named {}", to_string(op), quote(name)));
    }
  }

  void check_node(NodeId id) {
    const Node& n = graph_.node(id);
    if (n.op >= Op::count_) return violation(fmt::format("{} is beyond the op table", place(id)));
    if (!n.attributes) return violation(fmt::format("{} has no attributes object", place(id)));
    if (info(n.op).has(kLeaf))
      check_leaf(id);
    else
      check_computed(id);
  }

  void check_leaf(NodeId id) {
    const Node& n = graph_.node(id);
    if (!n.operands.empty()) violation(fmt::format("{} is a leaf with {} operands", place(id), n.operands.size()));
    if (!n.attributes->empty())
      violation(fmt::format("{} is a leaf with attributes {}", place(id), print_attributes(*n.attributes)));
    if (n.types.size() != 1) return violation(fmt::format("{} has {} types instead of 1", place(id), n.types.size()));
    if (n.op == Op::input) return;
    if (n.op == Op::constant && !n.tensor.defined()) return violation(fmt::format("{} has no data", place(id)));
    if (n.op == Op::constant && !is_structural(n.types[0]))
      violation(fmt::format("{} of type {} must be a parameter: it is too large for the structure", place(id),
                            to_string(n.types[0])));
    if (n.tensor.defined() && n.tensor.type() != n.types[0])
      violation(
          fmt::format("{} is {}, but its data is {}", place(id), to_string(n.types[0]), to_string(n.tensor.type())));
    else if (n.op == Op::constant && n.types[0].dtype == DType::boolean)
      check_bools(id);
  }

  void check_bools(NodeId id) {
    const Tensor& t = graph_.node(id).tensor;
    const auto* bytes = static_cast<const uint8_t*>(t.data());
    for (int64_t i = 0; i < t.elements(); ++i)
      if (bytes[i] > 1) return violation(fmt::format("{} has the byte {} as a bool", place(id), bytes[i]));
  }

  void check_computed(NodeId id) {
    const Node& n = graph_.node(id);
    std::vector<TensorType> types;
    for (Value v : n.operands)
      if (check_value(v, id.value, place(id))) types.push_back(graph_.type(v));
    if (types.size() != n.operands.size()) return;
    try {
      Attributes complete_attributes = complete(n.op, *n.attributes, types);
      if (!(complete_attributes == *n.attributes))
        violation(fmt::format("{} has the attributes {} where the schema gives {}", place(id),
                              print_attributes(*n.attributes), print_attributes(complete_attributes)));
      std::vector<TensorType> inferred = infer(n.op, types, complete_attributes);
      if (inferred != n.types)
        violation(fmt::format("{} is stored as {}, but {} is inferred", place(id), list(n.types), list(inferred)));
    } catch (const Error& e) {
      violation(fmt::format("{}: {}", place(id), e.what()));
    }
  }

  static std::string list(const std::vector<TensorType>& types) {
    std::string out;
    for (const TensorType& t : types) out += (out.empty() ? "" : ", ") + to_string(t);
    return out.empty() ? "nothing" : out;
  }

  const Graph& graph_;
  std::string text_;
  size_t found_ = 0;
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

}  // namespace weft::ir
