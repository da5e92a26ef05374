#include "backends/onednn/epilogue.hpp"

#include <algorithm>
#include <cmath>

#include "backends/onednn/form.hpp"
#include "ir/support/error.hpp"

namespace weft::backends::onednn {
namespace {

using ir::Node;
using ir::Op;
using ir::Value;

bool is_root(Op op) { return op == Op::conv || op == Op::conv_transpose || op == Op::matmul; }
std::string op_text(Op op) { return std::string(ir::to_string(op)); }

class Walk {
 public:
  Walk(const ir::Graph& graph, const Operands& operands) : graph_(graph), operands_(operands) {}

  Epilogue run() {
    if (graph_.outputs().size() != 1) refuse("{} outputs: kernels here have one", graph_.outputs().size());
    find_root();
    Value v = graph_.outputs()[0].value;
    destination_ = dense_view(-1, ir::to_ints(graph_.type(v).shape));
    while (!is_root(node(v).op)) v = step_over(v);
    std::reverse(steps_.begin(), steps_.end());
    return {node(v), std::move(steps_), std::move(destination_)};
  }

 private:
  const Node& node(Value v) const { return graph_.node(v.node); }

  /// Marks what depends on the one convolution or matmul; everything must be f32, static and not empty.
  void find_root() {
    heavy_.assign(graph_.size(), false);
    int roots = 0;
    for (size_t i = 0; i < graph_.size(); ++i) {
      const Node& n = graph_.node(ir::NodeId(i));
      if (is_root(n.op)) {
        heavy_[i] = true;
        ++roots;
      }
      for (Value v : n.operands) heavy_[i] = heavy_[i] || heavy_[v.node.value];
    }
    WEFT_CHECK(roots > 0, "no convolution or matmul in it");
    if (roots > 1) refuse("{} convolutions or matmuls: one kernel holds one", roots);
    for (const Node& n : graph_.nodes()) {
      for (const ir::TensorType& type : n.types) {
        if (!ir::is_static(type.shape)) refuse("the shape {} is symbolic", ir::to_string(type));
        if (type.dtype != ir::DType::f32 && n.op != Op::constant)
          refuse("dtype {}: only f32 here", ir::to_string(type.dtype));
        if (type.elements() == 0) refuse("an empty tensor {}", ir::to_string(type));
      }
    }
  }

  /// Takes one op between output and root into the chain; gives the value that it reads.
  Value step_over(Value v) {
    const Node& n = node(v);
    if (n.op == Op::reshape || n.op == Op::transpose) {
      move_back(n);
      return n.operands[0];
    }
    if (steps_.size() >= kMaxSteps) refuse("a chain of more than {} steps", kMaxSteps);
    if (!ir::info(n.op).has(ir::kElementwise)) refuse("{} behind the convolution or matmul", op_text(n.op));
    if (n.operands.size() == 1) return unary(n);
    if (n.op == Op::clip) return clip(n);
    if (n.operands.size() == 2) return binary(n);
    refuse("{} as an epilogue", op_text(n.op));
  }

  /// Views recorded so far are in the coordinates of this node's result; carries them over to its operand's.
  void move_back(const Node& n) {
    const std::vector<int64_t> dims = ir::to_ints(graph_.type(n.operands[0]).shape);
    const auto back = [&](View& view) {
      if (n.op == Op::transpose) {
        view = transposed(view, inverse(n.attributes->ints("perm")));
      } else if (std::optional<View> other = reshaped(view, dims)) {
        view = std::move(*other);
      } else {
        refuse("a reshape that mixes axes behind the convolution or matmul");
      }
    };
    back(destination_);
    for (Step& s : steps_)
      if (s.spread == Spread::full) back(s.operand);
  }

  Value unary(const Node& n) {
    const ir::Attributes& a = *n.attributes;
    const auto real = [&](const char* name) { return static_cast<float>(a.real(name)); };
    switch (n.op) {
      case Op::relu:
        push({StepKind::relu});
        break;
      case Op::leaky_relu:
        push({StepKind::leaky_relu, real("alpha")});
        break;
      case Op::hard_swish:
        push({StepKind::hard_swish});
        break;
      case Op::hard_sigmoid:
        push({StepKind::hard_sigmoid, real("alpha"), real("beta")});
        break;
      case Op::sigmoid:
        push({StepKind::sigmoid});
        break;
      case Op::tanh:
        push({StepKind::tanh});
        break;
      case Op::elu:
        push({StepKind::elu, real("alpha")});
        break;
      case Op::gelu:
        push({a.text("approximate") == "none" ? StepKind::gelu : StepKind::gelu_tanh});
        break;
      case Op::silu:
        push({StepKind::silu});
        break;
      case Op::exp:
        push({StepKind::exp});
        break;
      case Op::softplus:
        push({StepKind::softplus});
        break;
      case Op::abs:
        push({StepKind::abs});
        break;
      case Op::neg:
        push_constant(StepKind::multiply, -1.0f);
        break;
      default:
        refuse("{} as an epilogue", op_text(n.op));
    }
    return n.operands[0];
  }

  Value clip(const Node& n) {
    const std::optional<float> low = operands_.constant(n.operands[1]), high = operands_.constant(n.operands[2]);
    if (!low || !high) refuse("clip with bounds that are not constants");
    push({StepKind::clip, *low, *high});
    return n.operands[0];
  }

  Value binary(const Node& n) {
    const Value a = n.operands[0], b = n.operands[1];
    if (heavy_[a.node.value] && heavy_[b.node.value]) return gate(n);
    if (const auto x = divided_gate(n)) return push({StepKind::hard_swish}), *x;
    const bool swapped = heavy_[b.node.value];
    const Value main = swapped ? b : a, other = swapped ? a : b;
    if (graph_.type(main).shape != n.types[0].shape)
      refuse("{} broadcasts the result of the convolution or matmul", op_text(n.op));
    switch (n.op) {
      case Op::add:
        push_operand(StepKind::add, other, n);
        break;
      case Op::mul:
        push_operand(StepKind::multiply, other, n);
        break;
      case Op::max:
        push_operand(StepKind::maximum, other, n);
        break;
      case Op::min:
        push_operand(StepKind::minimum, other, n);
        break;
      case Op::sub:
        push_operand(swapped ? StepKind::add : StepKind::subtract, other, n);
        if (swapped) push_constant(StepKind::multiply, -1.0f);
        break;
      case Op::div:
        if (swapped) refuse("a division by the result of the convolution or matmul");
        push_operand(StepKind::divide, other, n);
        break;
      default:
        refuse("{} as an epilogue", op_text(n.op));
    }
    return main;
  }

  static bool is(std::optional<float> found, double wanted) {
    return found && std::fabs(*found - wanted) < 1e-6 * std::max(1.0, wanted);
  }

  /// x * clip(x + 3, 0, 6): gives x.
  std::optional<Value> undivided_gate(const Node& product) const {
    if (product.op != Op::mul) return std::nullopt;
    for (size_t side = 0; side < 2; ++side) {
      const Value x = product.operands[side], c = product.operands[1 - side];
      if (node(c).op == Op::clip && is_clip06(node(c)) && plus_three(node(c).operands[0]) == x) return x;
    }
    return std::nullopt;
  }

  /// x * clip(x + 3, 0, 6) / 6, or times 1/6.
  std::optional<Value> divided_gate(const Node& n) const {
    if (n.op != Op::div && n.op != Op::mul) return std::nullopt;
    const std::optional<float> by = operands_.constant(n.operands[1]);
    if (!is(by, n.op == Op::div ? 6.0 : 1.0 / 6)) return std::nullopt;
    return undivided_gate(node(n.operands[0]));
  }

  /// x * f(x): silu and hard_swish, also spelled out.
  Value gate(const Node& n) {
    if (n.op != Op::mul) refuse("{} of two results of one convolution or matmul", op_text(n.op));
    if (const auto x = undivided_gate(n)) {  // not yet divided by 6: needs another step
      push_constant(StepKind::multiply, 6.0f);
      push({StepKind::hard_swish});
      return *x;
    }
    for (int side = 0; side < 2; ++side) {
      const Value x = n.operands[static_cast<size_t>(side)], f = n.operands[static_cast<size_t>(1 - side)];
      const Node& g = node(f);
      if (g.op == Op::sigmoid && g.operands[0] == x) return push({StepKind::silu}), x;
      if (g.op == Op::hard_sigmoid && g.operands[0] == x &&
          is(static_cast<float>(g.attributes->real("alpha")), 1.0 / 6) &&
          is(static_cast<float>(g.attributes->real("beta")), 0.5)) {
        return push({StepKind::hard_swish}), x;
      }
      const bool sixth = (g.op == Op::div && is(operands_.constant(g.operands[1]), 6)) ||
                         (g.op == Op::mul && is(operands_.constant(g.operands[1]), 1.0 / 6));
      if (sixth) {
        const Node& c = node(g.operands[0]);
        if (c.op == Op::clip && is_clip06(c) && plus_three(c.operands[0]) == x) return push({StepKind::hard_swish}), x;
      }
    }
    refuse("a product of two results of one convolution or matmul");
  }

  bool is_clip06(const Node& n) const {
    return operands_.constant(n.operands[1]) == 0.0f && operands_.constant(n.operands[2]) == 6.0f;
  }
  std::optional<Value> plus_three(Value v) const {
    const Node& n = node(v);
    if (n.op != Op::add) return std::nullopt;
    if (operands_.constant(n.operands[1]) == 3.0f) return n.operands[0];
    if (operands_.constant(n.operands[0]) == 3.0f) return n.operands[1];
    return std::nullopt;
  }

  void push(Step step) { steps_.push_back(std::move(step)); }
  void push_constant(StepKind kind, float value) {
    Step step{kind};
    step.spread = Spread::constant;
    step.constant = value;
    push(std::move(step));
  }
  void push_operand(StepKind kind, Value other, const Node& n) {
    if (const std::optional<float> value = operands_.constant(other)) return push_constant(kind, *value);
    Step step{kind};
    step.spread = Spread::full;  // told apart when the coordinates are those of the tile
    step.operand = broadcast_to(view_of(operands_, other), ir::to_ints(n.types[0].shape));
    push(std::move(step));
  }

  const ir::Graph& graph_;
  const Operands& operands_;
  std::vector<bool> heavy_;  // by node: depends on the root
  std::vector<Step> steps_;  // last first
  View destination_;
};

}  // namespace

bool has_root(const ir::Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& n) { return is_root(n.op); });
}

Epilogue walk_back(const ir::Graph& graph, const Operands& operands) { return Walk(graph, operands).run(); }

View view_of(const Operands& operands, ir::Value value) {
  std::variant<View, std::string> found = operands.view(value);
  if (const std::string* why = std::get_if<std::string>(&found)) refuse("{}", *why);
  return std::get<View>(std::move(found));
}

}  // namespace weft::backends::onednn
