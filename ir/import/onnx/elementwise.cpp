// Arithmetic, comparisons, logic, casts.
#include "ir/import/onnx/emit.hpp"
#include "ir/import/onnx/handlers.hpp"
#include "ir/support/error.hpp"

namespace weft::ir::onnx_import {
namespace {

template <Op op>
Refs unary_op(Call& n) {
  n.expect_inputs(1, 1);
  n.ignore({"consumed_inputs"});  // opset 1: a hint on buffers
  return {n.b.add(op, {n.in(0)}, {}, n.name())};
}

/// Opset 1 and 6 align the second operand with `axis` of the first where `broadcast` is set.
Refs aligned_operands(Call& n) {
  n.expect_inputs(2, 2);
  n.ignore({"consumed_inputs"});
  Ref x = n.in(0), y = n.in(1);
  if (n.opset >= 7) return {x, y};
  bool broadcast = n.flag("broadcast", false);
  bool has_axis = n.has_attribute("axis");
  int64_t axis = n.integer("axis", 0), rank = n.b.rank(x), small = n.b.rank(y);
  if (!broadcast || !has_axis || small == 0) return {x, y};
  axis = normalise_axis(axis, rank);
  if (axis + small > rank)
    fail(ErrorCode::type_mismatch, "{} does not fit {} at axis {}", n.b.describe(y), n.b.describe(x), axis);
  Shape shape = n.b.shape(y);
  shape.insert(shape.end(), static_cast<size_t>(rank - axis - small), Dim(1));
  return {x, reshape(n.b, y, std::move(shape))};
}

template <Op op>
Refs binary_op(Call& n) {
  return {n.b.add(op, aligned_operands(n), {}, n.name())};
}

template <Op op>
Refs variadic_op(Call& n) {
  n.expect_inputs(1, SIZE_MAX);
  n.ignore({"consumed_inputs"});
  Ref result = n.in(0);
  for (size_t i = 1; i < n.inputs(); ++i) result = n.b.add(op, {result, n.in(i)}, {}, n.name());
  return {result};
}

Refs mean(Call& n) {
  size_t count = n.inputs();
  return {div(n.b, variadic_op<Op::add>(n)[0], static_cast<double>(count))};
}

/// Base and exponent may differ in dtype; the result has that of the base.
Refs power(Call& n) {
  Refs xy = aligned_operands(n);
  DType base = n.b.dtype(xy[0]), exponent = n.b.dtype(xy[1]);
  if (base == exponent) return {n.b.add(Op::pow, xy, {}, n.name())};
  DType common = is_float(base) || !is_float(exponent) ? base : exponent;
  return {cast(n.b, binary(n.b, Op::pow, cast(n.b, xy[0], common), cast(n.b, xy[1], common)), base)};
}

Refs modulo(Call& n) {
  bool c_like = n.flag("fmod", false);
  if (!c_like && is_float(n.b.dtype(n.in(0)))) fail(ErrorCode::type_mismatch, "Mod of floats needs fmod=1");
  return {n.b.add(c_like ? Op::fmod : Op::mod, {n.in(0), n.in(1)}, {}, n.name())};
}

Refs bit_shift(Call& n) {
  n.expect_inputs(2, 2);
  std::string direction = n.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    fail(ErrorCode::parse, "direction '{}', expected LEFT or RIGHT", direction);
  return {n.b.add(direction == "LEFT" ? Op::shift_left : Op::shift_right, {n.in(0), n.in(1)}, {}, n.name())};
}

Refs is_inf(Call& n) {
  bool positive = n.flag("detect_positive", true), negative = n.flag("detect_negative", true);
  Ref x = n.in(0), infinite = unary(n.b, Op::is_inf, x);
  if (positive && negative) return {infinite};
  if (!positive && !negative) return {binary(n.b, Op::logical_and, infinite, unary(n.b, Op::logical_not, infinite))};
  return {binary(n.b, Op::logical_and, infinite, binary(n.b, positive ? Op::greater : Op::less, x, 0.0))};
}

DType named_dtype(const std::string& name) {  // opset 1 spells the target of Cast as text
  ::onnx::TensorProto::DataType type;
  if (!::onnx::TensorProto::DataType_Parse(name, &type)) fail(ErrorCode::parse, "to='{}' is not a data type", name);
  return dtype_of(type);
}

Refs cast_op(Call& n) {
  n.expect_inputs(1, 1);
  n.ignore({"saturate", "round_mode"});  // of 8-bit floats only
  DType to = n.opset < 6 ? named_dtype(n.text("to", "")) : dtype_of(static_cast<int32_t>(n.integer("to")));
  return {cast(n.b, n.in(0), to)};
}

Refs cast_like(Call& n) {
  n.expect_inputs(2, 2);
  n.ignore({"saturate", "round_mode"});
  return {cast(n.b, n.in(0), n.b.dtype(n.in(1)))};
}

Refs where_op(Call& n) {
  n.expect_inputs(3, 3);
  return {n.b.add(Op::where, {n.in(0), n.in(1), n.in(2)}, {}, n.name())};
}

Refs clip(Call& n) {
  n.ignore({"consumed_inputs"});
  Ref x = n.in(0), low, high;
  if (n.opset < 11) {
    if (n.has_attribute("min")) low = n.b.scalar(n.b.dtype(x), n.real("min", 0));
    if (n.has_attribute("max")) high = n.b.scalar(n.b.dtype(x), n.real("max", 0));
  } else {
    n.expect_inputs(1, 3);
    low = n.optional(1);
    high = n.optional(2);
  }
  for (Ref bound : {low, high})
    if (bound.valid() && n.b.rank(bound) > 1)
      fail(ErrorCode::type_mismatch, "bound {}, expected a scalar", n.b.describe(bound));
  auto scalar = [&](Ref bound) { return n.b.rank(bound) == 0 ? bound : reshape(n.b, bound, {}); };
  if (low.valid() && high.valid()) return {n.b.add(Op::clip, {x, scalar(low), scalar(high)}, {}, n.name())};
  if (low.valid()) return {n.b.add(Op::max, {x, scalar(low)}, {}, n.name())};
  if (high.valid()) return {n.b.add(Op::min, {x, scalar(high)}, {}, n.name())};
  return {x};
}

Refs identity(Call& n) {
  n.expect_inputs(1, 1);
  return {n.in(0)};
}

/// Inference: the input as it is. Training mode draws random numbers and is refused.
Refs dropout(Call& n) {
  n.ignore({"consumed_inputs", "is_test", "ratio", "seed"});
  if (n.has(2)) {
    const Tensor& training = n.known(2);
    bool no_ratio = n.has(1) && n.known_reals(1) == std::vector<double>{0};
    if (training.elements() == 1 && training.at_int(0) != 0 && !no_ratio)
      fail(ErrorCode::unsupported, "training_mode=true (random)");
  }
  Refs out{n.in(0)};
  if (n.wants(1)) out.push_back(full(n.b, n.opset < 10 ? n.b.dtype(out[0]) : DType::boolean, 1, n.b.shape(out[0])));
  return out;
}

// Functions without an op of their own, from those that have one.
Refs tan(Call& n) { return {div(n.b, unary(n.b, Op::sin, n.in(0)), unary(n.b, Op::cos, n.in(0)))}; }

Refs sinh(Call& n) {
  Ref x = n.in(0);
  return {mul(n.b, sub(n.b, unary(n.b, Op::exp, x), unary(n.b, Op::exp, unary(n.b, Op::neg, x))), 0.5)};
}

Refs cosh(Call& n) {
  Ref x = n.in(0);
  return {mul(n.b, add(n.b, unary(n.b, Op::exp, x), unary(n.b, Op::exp, unary(n.b, Op::neg, x))), 0.5)};
}

/// sign(x) log(|x| + sqrt(x^2 + 1)): on |x|, because the sum cancels for a large negative x.
Refs asinh(Call& n) {
  Ref size = unary(n.b, Op::abs, n.in(0));
  Ref root = unary(n.b, Op::sqrt, add(n.b, mul(n.b, size, size), 1.0));
  return {mul(n.b, unary(n.b, Op::sign, n.in(0)), unary(n.b, Op::log, add(n.b, size, root)))};
}

Refs acosh(Call& n) {
  Ref x = n.in(0);
  return {unary(n.b, Op::log, add(n.b, x, unary(n.b, Op::sqrt, sub(n.b, mul(n.b, x, x), 1.0))))};
}

Refs atanh(Call& n) {
  Ref x = n.in(0);
  return {mul(n.b, unary(n.b, Op::log, div(n.b, add(n.b, x, 1.0), sub(n.b, 1.0, x))), 0.5)};
}

constexpr OpRow kRows[] = {
    {"Abs", unary_op<Op::abs>},
    {"Acosh", acosh},
    {"Add", binary_op<Op::add>},
    {"And", binary_op<Op::logical_and>},
    {"Asinh", asinh},
    {"Atanh", atanh},
    {"BitShift", bit_shift},
    {"BitwiseAnd", binary_op<Op::bit_and>},
    {"BitwiseNot", unary_op<Op::bit_not>},
    {"BitwiseOr", binary_op<Op::bit_or>},
    {"BitwiseXor", binary_op<Op::bit_xor>},
    {"Cast", cast_op},
    {"CastLike", cast_like},
    {"Ceil", unary_op<Op::ceil>},
    {"Clip", clip},
    {"Cos", unary_op<Op::cos>},
    {"Cosh", cosh},
    {"Div", binary_op<Op::div>},
    {"Dropout", dropout},
    {"Equal", binary_op<Op::equal>},
    {"Erf", unary_op<Op::erf>},
    {"Exp", unary_op<Op::exp>},
    {"Floor", unary_op<Op::floor>},
    {"Greater", binary_op<Op::greater>},
    {"GreaterOrEqual", binary_op<Op::greater_equal>},
    {"Identity", identity},
    {"IsInf", is_inf},
    {"IsNaN", unary_op<Op::is_nan>},
    {"Less", binary_op<Op::less>},
    {"LessOrEqual", binary_op<Op::less_equal>},
    {"Log", unary_op<Op::log>},
    {"Max", variadic_op<Op::max>},
    {"Mean", mean},
    {"Min", variadic_op<Op::min>},
    {"Mod", modulo},
    {"Mul", binary_op<Op::mul>},
    {"Neg", unary_op<Op::neg>},
    {"Not", unary_op<Op::logical_not>},
    {"Or", binary_op<Op::logical_or>},
    {"Pow", power},
    {"Reciprocal", unary_op<Op::reciprocal>},
    {"Round", unary_op<Op::round>},
    {"Sign", unary_op<Op::sign>},
    {"Sin", unary_op<Op::sin>},
    {"Sinh", sinh},
    {"Sqrt", unary_op<Op::sqrt>},
    {"Sub", binary_op<Op::sub>},
    {"Sum", variadic_op<Op::add>},
    {"Tan", tan},
    {"Tanh", unary_op<Op::tanh>},
    {"Where", where_op},
    {"Xor", binary_op<Op::logical_xor>},
};

}  // namespace

std::span<const OpRow> elementwise_ops() { return kRows; }

}  // namespace weft::ir::onnx_import
