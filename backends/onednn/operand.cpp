#include "backends/onednn/operand.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace weft::backends::onednn {
namespace {

bool is_movement(ir::Op op) {
  return op == ir::Op::reshape || op == ir::Op::transpose || op == ir::Op::broadcast || op == ir::Op::slice;
}

std::optional<View> sliced(const ir::Node& node, const View& view) {
  const std::vector<int64_t> starts = ir::to_ints(node.attributes->shape("starts")),
                             &steps = node.attributes->ints("steps");
  const std::vector<int64_t> dims = ir::to_ints(node.types[0].shape);
  View result = view;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (starts[i] == 0 && steps[i] == 1 && dims[i] == axis_size(view.axes[i])) continue;
    const std::optional<int64_t> stride = even_stride(view.axes[i]);
    if (!stride || steps[i] < 1) return std::nullopt;
    result.offset += starts[i] * *stride;
    result.axes[i] = dims[i] == 1 ? Axis{} : Axis{{dims[i], *stride * steps[i]}};
  }
  return result;
}

/// One movement op applied to strides; nothing where they cannot express it.
std::optional<View> moved(const ir::Node& node, const View& view) {
  const std::vector<int64_t> dims = ir::to_ints(node.types[0].shape);
  switch (node.op) {
    case ir::Op::transpose:
      return transposed(view, node.attributes->ints("perm"));
    case ir::Op::reshape:
      return reshaped(view, dims);
    case ir::Op::broadcast:
      return broadcast_to(view, dims);
    case ir::Op::slice:
      return sliced(node, view);
    default:
      break;
  }
  return std::nullopt;
}

}  // namespace

ir::Value Operands::leaf(ir::Value v, std::vector<ir::NodeId>& moves) const {
  while (is_movement(graph_.node(v.node).op)) {
    moves.push_back(v.node);
    v = graph_.node(v.node).operands[0];
  }
  return v;
}

std::optional<float> Operands::constant(ir::Value v) const {
  std::vector<ir::NodeId> moves;
  const ir::Node& n = graph_.node(leaf(v, moves).node);
  if (n.op != ir::Op::constant || n.tensor.dtype() != ir::DType::f32 || n.tensor.elements() == 0) return std::nullopt;
  const std::span<const float> values = n.tensor.as<float>();
  const auto bits = [](float f) { return std::bit_cast<uint32_t>(f); };
  for (float f : values)
    if (bits(f) != bits(values[0])) return std::nullopt;
  return values[0];
}

std::variant<View, std::string> Operands::view(ir::Value v) const {
  std::vector<ir::NodeId> moves;
  const ir::Value from = leaf(v, moves);
  const ir::Node& n = graph_.node(from.node);
  if (n.op != ir::Op::input) return fmt::format("an operand that is computed by {}", ir::to_string(n.op));
  const auto place = std::find(graph_.inputs().begin(), graph_.inputs().end(), from.node);
  View view = dense_view(static_cast<int>(place - graph_.inputs().begin()), ir::to_ints(n.types[0].shape));
  for (size_t i = moves.size(); i-- > 0;) {
    std::optional<View> next = moved(graph_.node(moves[i]), view);
    if (!next) return fmt::format("a {} that strides cannot express", ir::to_string(graph_.node(moves[i]).op));
    view = std::move(*next);
  }
  return view;
}

}  // namespace weft::backends::onednn
