// Quantised tensors as arithmetic on their values.
#include <algorithm>

#include "ir/import/onnx/emit.hpp"
#include "ir/import/onnx/handlers.hpp"
#include "ir/support/error.hpp"

namespace weft::ir::onnx_import {
namespace {

/// Scale or zero point in the shape that meets x: one for all, one a slice of `axis`, or one a block along it.
Ref fit(Call& n, Ref p, Ref x, int64_t axis, int64_t block) {
  Builder& b = n.b;
  if (product(b.shape(p)) == Dim(1)) return reshape(b, p, {});
  axis = normalise_axis(axis, b.rank(x));
  if (block == 0) return along_axis(b, p, axis, b.rank(x));
  Shape shape = b.shape(p), spread;
  if (static_cast<int64_t>(shape.size()) != b.rank(x))
    fail(ErrorCode::type_mismatch, "{} with block_size {} for {}", b.describe(p), block, b.describe(x));
  Ref wide = unsqueeze(b, p, axis + 1);
  spread = b.shape(wide);
  spread[static_cast<size_t>(axis) + 1] = block;
  shape[static_cast<size_t>(axis)] = shape[static_cast<size_t>(axis)] * Dim(block);
  Ref whole = reshape(b, broadcast_to(b, wide, spread), shape);
  return slice(b, whole, axis, 0, b.shape(x)[static_cast<size_t>(axis)]);
}

/// saturate(round(x / scale) + zero_point): the cast to an integer saturates.
Ref quantize(Builder& b, Ref x, Ref scale, Ref zero, DType to) {
  Ref q = unary(b, Op::round, div(b, x, cast(b, scale, b.dtype(x))));
  if (zero.valid()) q = binary(b, Op::add, q, cast(b, zero, b.dtype(x)));
  return cast(b, q, to);
}

Ref dequantize(Builder& b, Ref x, Ref scale, Ref zero) {
  Ref wide = cast(b, x, DType::i32);
  if (zero.valid()) wide = binary(b, Op::sub, wide, cast(b, zero, DType::i32));
  return binary(b, Op::mul, cast(b, wide, b.dtype(scale)), scale);
}

Refs quantize_linear(Call& n) {
  n.expect_inputs(2, 3);
  n.ignore({"saturate", "precision"});
  Ref x = n.in(0);
  int64_t axis = n.integer("axis", 1), block = n.integer("block_size", 0), wanted = n.integer("output_dtype", 0);
  DType to = n.has(2) ? n.b.dtype(n.in(2)) : wanted ? dtype_of(static_cast<int32_t>(wanted)) : DType::u8;
  if (!is_integer(to)) fail(ErrorCode::unsupported, "quantisation to {}", to_string(to));
  if (!is_float(n.b.dtype(x))) x = cast(n.b, x, DType::f32);
  Ref zero = n.has(2) ? fit(n, n.in(2), x, axis, block) : Ref{};
  return {quantize(n.b, x, fit(n, n.in(1), x, axis, block), zero, to)};
}

Refs dequantize_linear(Call& n) {
  n.expect_inputs(2, 3);
  Ref x = n.in(0);
  int64_t axis = n.integer("axis", 1), block = n.integer("block_size", 0), wanted = n.integer("output_dtype", 0);
  if (!is_integer(n.b.dtype(x))) fail(ErrorCode::unsupported, "dequantisation from {}", to_string(n.b.dtype(x)));
  Ref zero = n.has(2) ? fit(n, n.in(2), x, axis, block) : Ref{};
  Ref y = dequantize(n.b, x, fit(n, n.in(1), x, axis, block), zero);
  return {wanted ? cast(n.b, y, dtype_of(static_cast<int32_t>(wanted))) : y};
}

/// Scale and zero point from the range of x together with 0, for u8.
Refs dynamic_quantize(Call& n) {
  n.expect_inputs(1, 1);
  Builder& b = n.b;
  Ref x = n.in(0);
  Ints axes = range_of(0, b.rank(x));
  Ref high = binary(b, Op::max, reduce(b, Op::reduce_max, x, axes, false), 0.0);
  Ref low = binary(b, Op::min, reduce(b, Op::reduce_min, x, axes, false), 0.0);
  Ref scale = div(b, binary(b, Op::sub, high, low), 255.0);
  Ref zero = cast(b, unary(b, Op::round, div(b, unary(b, Op::neg, low), scale)), DType::u8);
  return {quantize(b, x, scale, zero, DType::u8), scale, zero};
}

/// x - zero_point as i32; a vector of zero points belongs to rows (of the left) or columns (of the right), `axis` from
/// the back.
Ref centred(Builder& b, Ref x, Ref zero, int64_t axis_from_back) {
  Ref wide = cast(b, x, DType::i32);
  if (!zero.valid()) return wide;
  zero = cast(b, zero, DType::i32);
  if (product(b.shape(zero)) == Dim(1))
    zero = reshape(b, zero, {});
  else if (b.rank(zero) == 1)
    zero = along_axis(b, zero, b.rank(x) - axis_from_back, b.rank(x));
  return binary(b, Op::sub, wide, zero);
}

Refs matmul_integer(Call& n) {
  n.expect_inputs(2, 4);
  return {matmul(n.b, centred(n.b, n.in(0), n.optional(2), 2), centred(n.b, n.in(1), n.optional(3), 1))};
}

/// a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero.
Refs qlinear_matmul(Call& n) {
  n.expect_inputs(8, 8);
  Builder& b = n.b;
  Ref sum = matmul(b, centred(b, n.in(0), n.in(2), 2), centred(b, n.in(3), n.in(5), 1));
  auto scale = [&](size_t i, int64_t from_back) {
    Ref s = cast(b, n.in(i), DType::f32);
    if (product(b.shape(s)) == Dim(1)) return reshape(b, s, {});
    return b.rank(s) == 1 ? along_axis(b, s, b.rank(sum) - from_back, b.rank(sum)) : s;
  };
  Ref real = mul(b, mul(b, cast(b, sum, DType::f32), scale(1, 2)), scale(4, 1));
  return {quantize(b, real, scale(6, 2), reshape(b, n.in(7), {}), b.dtype(n.in(7)))};
}

/// The integer convolution: x and w minus their zero points, in i32.
Ref convolve(Call& n, Ref x, Ref x_zero, Ref w, Ref w_zero) {
  Builder& b = n.b;
  Ref centred_x = centred(b, x, x_zero, 0), centred_w = cast(b, w, DType::i32);
  if (w_zero.valid()) {
    Ref zero = cast(b, w_zero, DType::i32);
    zero = product(b.shape(zero)) == Dim(1) ? reshape(b, zero, {}) : along_axis(b, zero, 0, b.rank(w));
    centred_w = binary(b, Op::sub, centred_w, zero);
  }
  size_t axes = b.shape(x).size() - 2;
  auto list = [&](std::string_view name, size_t count, int64_t fallback) {
    return n.ints(name).value_or(Ints(count, fallback));
  };
  std::string mode = n.text("auto_pad", "NOTSET");
  if (mode != "NOTSET" && mode != "VALID")
    fail(ErrorCode::unsupported, "auto_pad '{}' of a quantised convolution", mode);
  n.ignore({"kernel_shape"});
  Ints pads = list("pads", 2 * axes, 0);
  return b.add(Op::conv, {centred_x, centred_w},
               {{"strides", list("strides", axes, 1)},
                {"pads", mode == "VALID" ? Ints(2 * axes, 0) : pads},
                {"dilations", list("dilations", axes, 1)},
                {"groups", n.integer("group", 1)}});
}

Refs conv_integer(Call& n) {
  n.expect_inputs(2, 4);
  return {convolve(n, n.in(0), n.optional(2), n.in(1), n.optional(3))};
}

/// x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias.
Refs qlinear_conv(Call& n) {
  n.expect_inputs(8, 9);
  Builder& b = n.b;
  Ref sum = convolve(n, n.in(0), n.in(2), n.in(3), n.in(5));
  if (n.has(8)) sum = add(b, sum, along_axis(b, n.in(8), 1, b.rank(sum)));
  Ref w_scale = n.in(4);
  w_scale = product(b.shape(w_scale)) == Dim(1) ? reshape(b, w_scale, {}) : along_axis(b, w_scale, 1, b.rank(sum));
  Ref real = mul(b, mul(b, cast(b, sum, DType::f32), reshape(b, n.in(1), {})), w_scale);
  return {quantize(b, real, reshape(b, n.in(6), {}), reshape(b, n.in(7), {}), b.dtype(n.in(7)))};
}

constexpr OpRow kRows[] = {
    {"ConvInteger", conv_integer},
    {"DequantizeLinear", dequantize_linear},
    {"DynamicQuantizeLinear", dynamic_quantize},
    {"MatMulInteger", matmul_integer},
    {"QLinearConv", qlinear_conv},
    {"QLinearMatMul", qlinear_matmul},
    {"QuantizeLinear", quantize_linear},
};

}  // namespace

std::span<const OpRow> quantize_ops() { return kRows; }

}  // namespace weft::ir::onnx_import
