// Activation functions.
#include <cmath>
#include <limits>

#include "ir/import/onnx/emit.hpp"
#include "ir/import/onnx/handlers.hpp"
#include "ir/support/error.hpp"

namespace weft::ir::onnx_import {
namespace {

template <Op op>
Refs plain(Call& n) {
  n.expect_inputs(1, 1);
  n.ignore({"consumed_inputs"});
  return {n.b.add(op, {n.in(0)}, {}, n.name())};
}

Refs leaky_relu(Call& n) {
  n.ignore({"consumed_inputs"});
  return {n.b.add(Op::leaky_relu, {n.in(0)}, {{"alpha", n.real("alpha", 0.01f)}}, n.name())};
}

Refs elu(Call& n) {
  n.ignore({"consumed_inputs"});
  return {n.b.add(Op::elu, {n.in(0)}, {{"alpha", n.real("alpha", 1)}}, n.name())};
}

Refs hard_sigmoid(Call& n) {
  n.ignore({"consumed_inputs"});
  return {n.b.add(Op::hard_sigmoid, {n.in(0)}, {{"alpha", n.real("alpha", 0.2f)}, {"beta", n.real("beta", 0.5f)}},
                  n.name())};
}

Refs gelu(Call& n) {
  std::string approximate = n.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    fail(ErrorCode::parse, "approximate='{}', expected none or tanh", approximate);
  return {n.b.add(Op::gelu, {n.in(0)}, {{"approximate", approximate}}, n.name())};
}

/// gamma * (x or alpha * (exp(x) - 1)).
Refs selu(Call& n) {
  n.ignore({"consumed_inputs"});
  double alpha = n.real("alpha", n.opset < 6 ? 1.6732f : 1.67326319217681884765625f);
  double gamma = n.real("gamma", n.opset < 6 ? 1.0507f : 1.05070102214813232421875f);
  return {mul(n.b, n.b.add(Op::elu, {n.in(0)}, {{"alpha", alpha}}), gamma)};
}

/// max(0, x) + min(0, alpha * (exp(x / alpha) - 1)) = alpha * elu(x / alpha) for alpha > 0.
Refs celu(Call& n) {
  double alpha = n.real("alpha", 1);
  Ref x = n.in(0), inner = div(n.b, x, alpha);
  Ref negative = mul(n.b, n.b.add(Op::elu, {inner}, {{"alpha", 1.0}}), alpha);
  return {where(n.b, binary(n.b, Op::less, x, 0.0), negative, x)};
}

Refs thresholded_relu(Call& n) {
  Ref x = n.in(0);
  return {where(n.b, binary(n.b, Op::greater, x, n.real("alpha", 1)), x, n.b.scalar(n.b.dtype(x), 0))};
}

/// x + bias below -lambda, x - bias above lambda, else 0.
Refs shrink(Call& n) {
  double bias = n.real("bias", 0), lambda = n.real("lambd", 0.5);
  Ref x = n.in(0), zero = n.b.scalar(n.b.dtype(x), 0);
  Ref high = where(n.b, binary(n.b, Op::greater, x, lambda), sub(n.b, x, bias), zero);
  return {where(n.b, binary(n.b, Op::less, x, -lambda), add(n.b, x, bias), high)};
}

Refs softsign(Call& n) { return {div(n.b, n.in(0), add(n.b, unary(n.b, Op::abs, n.in(0)), 1.0))}; }

Refs mish(Call& n) { return {mul(n.b, n.in(0), unary(n.b, Op::tanh, unary(n.b, Op::softplus, n.in(0))))}; }

/// x * sigmoid(alpha * x).
Refs swish(Call& n) {
  double alpha = n.real("alpha", n.op_type() == "QuickGelu" ? 1.702f : 1);
  if (alpha == 1) return {n.b.add(Op::silu, {n.in(0)}, {}, n.name())};
  return {mul(n.b, n.in(0), unary(n.b, Op::sigmoid, mul(n.b, n.in(0), alpha)))};
}

/// Slope broadcasts to x; before opset 7 it is a vector along axis 1.
Refs prelu(Call& n) {
  n.expect_inputs(2, 2);
  n.ignore({"consumed_inputs"});
  Ref x = n.in(0), slope = n.in(1);
  if (n.opset < 7 && n.b.rank(slope) == 1 && n.b.rank(x) > 1) {
    bool shared = n.b.shape(slope)[0].is(1);
    if (!shared) slope = along_axis(n.b, slope, 1, n.b.rank(x));
  }
  Ref zero = n.b.scalar(n.b.dtype(x), 0);
  return {where(n.b, binary(n.b, Op::less, x, zero), mul(n.b, x, slope), x)};
}

/// Softmax over one axis; before opset 13 over all axes from `axis` on, as if flattened to a matrix.
template <Op op>
Refs softmax(Call& n) {
  n.expect_inputs(1, 1);
  Ref x = n.in(0);
  int64_t rank = n.b.rank(x);
  int64_t axis = normalise_axis(n.integer("axis", n.opset < 13 ? 1 : -1), std::max<int64_t>(rank, 1));
  if (rank == 0) return {reshape(n.b, n.b.add(op, {reshape(n.b, x, {Dim(1)})}, {{"axis", int64_t{0}}}), {})};
  bool one_axis = axis == rank - 1;
  if (n.opset < 13 && !one_axis) {
    // Trailing axes of size 1 change nothing.
    one_axis = true;
    for (int64_t i = axis + 1; i < rank; ++i) one_axis &= n.b.shape(x)[static_cast<size_t>(i)].is(1);
  }
  if (n.opset >= 13 || one_axis) return {n.b.add(op, {x}, {{"axis", axis}}, n.name())};
  Shape shape = n.b.shape(x);
  size_t from = static_cast<size_t>(axis);
  Ref flat = reshape(n.b, x, {product(shape, 0, from), product(shape, from)});
  return {reshape(n.b, n.b.add(op, {flat}, {{"axis", int64_t{1}}}, n.name()), shape)};
}

/// 1 where an element is the first greatest of its row, else 0.
Refs hardmax(Call& n) {
  Ref x = n.in(0);
  Shape shape = n.b.shape(x), whole = shape;
  int64_t axis = normalise_axis(n.integer("axis", n.opset < 13 ? 1 : -1), n.b.rank(x));
  if (n.opset < 13) {
    size_t from = static_cast<size_t>(axis);
    x = reshape(n.b, x, {product(shape, 0, from), product(shape, from)});
    axis = 1;
    whole = n.b.shape(x);
  }
  Ref best = n.b.add(Op::argmax, {x}, {{"axis", axis}, {"keepdims", true}});
  Ref index = along_axis(n.b, iota(n.b, whole[static_cast<size_t>(axis)]), axis, n.b.rank(x));
  return {reshape(n.b, cast(n.b, binary(n.b, Op::equal, best, index), n.b.dtype(x)), shape)};
}

constexpr OpRow kRows[] = {
    {"Celu", celu},
    {"Elu", elu},
    {"FastGelu",
     [](Call& n) -> Refs {
       Ref x = n.has(1) ? add(n.b, n.in(0), n.in(1)) : n.in(0);
       return {n.b.add(Op::gelu, {x}, {{"approximate", std::string("tanh")}}, n.name())};
     },
     "com.microsoft"},
    {"BiasGelu", [](Call& n) -> Refs { return {unary(n.b, Op::gelu, add(n.b, n.in(0), n.in(1)))}; }, "com.microsoft"},
    {"Gelu", gelu},
    {"Gelu", plain<Op::gelu>, "com.microsoft"},
    {"HardSigmoid", hard_sigmoid},
    {"HardSwish", plain<Op::hard_swish>},
    {"Hardmax", hardmax},
    {"LeakyRelu", leaky_relu},
    {"LogSoftmax", softmax<Op::log_softmax>},
    {"Mish", mish},
    {"PRelu", prelu},
    {"QuickGelu", swish, "com.microsoft"},
    {"Relu", plain<Op::relu>},
    {"Selu", selu},
    {"Shrink", shrink},
    {"Sigmoid", plain<Op::sigmoid>},
    {"Softmax", softmax<Op::softmax>},
    {"Softplus", plain<Op::softplus>},
    {"Softsign", softsign},
    {"Swish", swish},
    {"ThresholdedRelu", thresholded_relu},
};

}  // namespace

std::span<const OpRow> activation_ops() { return kRows; }

}  // namespace weft::ir::onnx_import
