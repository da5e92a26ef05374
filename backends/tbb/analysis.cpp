// From a program to expressions and anchors.
#include <algorithm>

#include "backends/tbb/expression.hpp"
#include "ir/support/error.hpp"

namespace weft::backends::tbb {

using ir::Op;

Analysis::Analysis(ir::ProgramRef p) : program(std::move(p)) {
  const ir::Graph& graph = program->graph();
  if (graph.size() > kMaxProgramNodes) {
    refusal = fmt::format("the program has {} nodes, at most {} are looked at", graph.size(), kMaxProgramNodes);
    return;
  }
  for (const ir::Node& node : graph.nodes()) {
    for (const ir::TensorType& type : node.types) {
      if (!ir::is_static(type.shape)) refusal = fmt::format("the shape {} is symbolic", ir::to_string(type));
    }
  }
  if (!refusal.empty()) return;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    sources.push_back({Source::Kind::input, static_cast<int>(i), 0, nullptr, graph.node(graph.inputs()[i]).types[0]});
  }
  for (const ir::Output& output : graph.outputs()) {
    ir::Value v = output.value;
    while (graph.node(v.node).op == Op::reshape) v = graph.node(v.node).operands[0];
    outputs.push_back(of(v));
  }
}

ExprId Analysis::of(ir::Value value) {
  if (const auto known = values_.find(value); known != values_.end()) return known->second;
  const ir::Graph& graph = program->graph();
  const ir::Node& node = graph.node(value.node);
  const ir::OpInfo& op = ir::info(node.op);
  ExprId result = kNoExpr;
  if (node.op == Op::input) {
    const auto place = std::find(graph.inputs().begin(), graph.inputs().end(), value.node);
    result = exprs.leaf(static_cast<int>(place - graph.inputs().begin()), node.types[0]);
  } else if (node.op == Op::constant) {
    sources.push_back({Source::Kind::constant, 0, 0, &node.tensor, node.types[0]});
    result = exprs.leaf(static_cast<int>(sources.size() - 1), node.types[0]);
  } else if (op.has(ir::kElementwise)) {
    std::vector<ExprId> children;
    for (ir::Value v : node.operands) children.push_back(of(v));
    result = exprs.elementwise(node, std::move(children), node.types[0].dtype, ints_of(node.types[0].shape));
  } else if (op.has(ir::kMovement) || op.has(ir::kView)) {
    result = movement(node, value.index);
  }
  if (result == kNoExpr) result = anchor(value.node, value.index);
  values_[value] = result;
  return result;
}

ExprId Analysis::anchor(ir::NodeId id, uint32_t output) {
  const ir::Node& node = program->graph().node(id);
  if (!anchor_of_.contains(id.value)) {
    Anchor anchor{&node, {}, {}};
    for (ir::Value v : node.operands) anchor.operands.push_back(of(v));
    for (uint32_t i = 0; i < node.types.size(); ++i) {
      anchor.sources.push_back(static_cast<int>(sources.size()));
      sources.push_back({Source::Kind::anchor, static_cast<int>(anchors.size()), i, nullptr, node.types[i]});
    }
    anchor_of_[id.value] = static_cast<int>(anchors.size());
    anchors.push_back(std::move(anchor));
  }
  const Anchor& made = anchors[static_cast<size_t>(anchor_of_[id.value])];
  return exprs.leaf(made.sources[output], node.types[output]);
}

/// kNoExpr where the op is no view, or no view says it.
ExprId Analysis::movement(const ir::Node& node, uint32_t output) {
  const ir::Attributes& attributes = *node.attributes;
  if (node.op == Op::pad) return pad(node);
  if (node.op == Op::concat) {
    std::vector<ExprId> parts;
    const size_t axis = static_cast<size_t>(attributes.integer("axis"));
    for (ir::Value v : node.operands) {
      const ExprId part = of(v);
      if (exprs[part].dims[axis] != 0) parts.push_back(part);
    }
    if (parts.empty()) parts.push_back(of(node.operands[0]));
    return exprs.concat(std::move(parts), static_cast<int>(axis));
  }
  const ExprId x = of(node.operands[0]);
  const Ints from = exprs[x].dims, to = ints_of(node.types[output].shape);
  switch (node.op) {
    case Op::reshape:
      return exprs.reshape(x, to);
    case Op::broadcast:
      return exprs.broadcast(x, to);
    case Op::transpose: {
      Ints permutation(attributes.ints("perm").begin(), attributes.ints("perm").end());
      for (size_t i = from.size(); permutation.size() < from.size();) permutation.push_back(static_cast<int64_t>(--i));
      return exprs.transpose(x, permutation);
    }
    case Op::slice: {
      ExprId result = x;
      const Ints starts = ints_of(attributes.shape("starts"));
      const std::vector<int64_t>& steps = attributes.ints("steps");
      for (size_t i = 0; i < from.size() && result != kNoExpr; ++i) {
        result = exprs.slice(result, static_cast<int>(i), to[i] == 0 ? 0 : starts[i], to[i], steps[i]);
      }
      return result;
    }
    case Op::split: {
      const size_t axis = static_cast<size_t>(attributes.integer("axis"));
      int64_t start = 0;
      for (uint32_t i = 0; i < output; ++i) start += attributes.shape("sizes")[i].value();
      return exprs.slice(x, static_cast<int>(axis), start, to[axis], 1);
    }
    default:
      return kNoExpr;
  }
}

/// Padding by a constant is a concat with repeated elements; cropping is a slice.
ExprId Analysis::pad(const ir::Node& node) {
  if (node.attributes->text("mode") != "constant") return kNoExpr;
  ExprId result = of(node.operands[0]);
  const ExprId value = exprs.reshape(of(node.operands[1]), {});
  if (value == kNoExpr) return kNoExpr;
  const auto &low = node.attributes->ints("low"), &high = node.attributes->ints("high");
  for (size_t i = 0; i < low.size() && result != kNoExpr; ++i) {
    Ints dims = exprs[result].dims;
    const int64_t start = std::max<int64_t>(0, -low[i]), end = dims[i] + std::min<int64_t>(0, high[i]);
    if (end <= start) return kNoExpr;  // nothing of x is left: not worth a view
    result = exprs.slice(result, static_cast<int>(i), start, end - start, 1);
    std::vector<ExprId> parts;
    const auto filler = [&](int64_t count) {
      dims[i] = count;
      if (count > 0) parts.push_back(exprs.broadcast(value, dims));
    };
    filler(low[i]);
    parts.push_back(result);
    filler(high[i]);
    result = exprs.concat(std::move(parts), static_cast<int>(i));
  }
  return result;
}

}  // namespace weft::backends::tbb
