// Ops on shapes and constants: Shape, Size, Constant, ConstantOfShape, Range, EyeLike.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/import/onnx/emit.hpp"
#include "ir/import/onnx/handlers.hpp"
#include "ir/support/error.hpp"

namespace weft::ir::onnx_import {
namespace {

Refs shape_op(Call& n) {
  n.expect_inputs(1, 1);
  const Shape& shape = n.b.shape(n.in(0));
  int64_t rank = n.b.rank(n.in(0));
  auto bound = [&](std::string_view name, int64_t fallback) {
    int64_t v = n.integer(name, fallback);
    return std::clamp(v < 0 ? v + rank : v, int64_t{0}, rank);
  };
  int64_t start = bound("start", 0), end = std::max(start, bound("end", rank));
  return {n.b.dims({shape.begin() + start, shape.begin() + end})};
}

Refs size_op(Call& n) {
  n.expect_inputs(1, 1);
  return {n.b.dims({product(n.b.shape(n.in(0)))}, true)};
}

Refs constant(Call& n) {
  n.expect_inputs(0, 0);
  auto named = [&](Tensor t) -> Refs { return {n.b.constant(std::move(t), n.name())}; };
  if (auto value = n.tensor("value")) return named(*value);
  if (auto value = n.sparse_tensor("sparse_value")) return named(*value);
  if (n.has_attribute("value_float")) return named(Tensor::scalar(static_cast<float>(n.real("value_float", 0))));
  if (n.has_attribute("value_int")) return named(Tensor::scalar<int64_t>(n.integer("value_int")));
  if (auto values = n.reals("value_floats"))
    return named(Tensor::from<float>({static_cast<int64_t>(values->size())}, *values));
  if (auto values = n.ints("value_ints"))
    return named(Tensor::from<int64_t>({static_cast<int64_t>(values->size())}, *values));
  for (const char* text : {"value_string", "value_strings"})
    if (n.has_attribute(text)) fail(ErrorCode::unsupported, "{} (strings)", text);
  fail(ErrorCode::parse, "no value");
}

Refs constant_of_shape(Call& n) {
  n.expect_inputs(1, 1);
  Tensor value = n.tensor("value").value_or(Tensor::from<float>({1}, {0}));
  if (value.elements() != 1)
    fail(ErrorCode::type_mismatch, "value is {}, expected one element", to_string(value.type()));
  std::vector<Dim> shape = n.known_dims(0);
  for (const Dim& d : shape)
    if (d.is_constant() && d.value() < 0)
      fail(ErrorCode::parse, "the shape {} has the dimension {}", to_string(shape), d.text());
  return {broadcast_to(n.b, n.b.constant(value.reshaped({})), shape)};
}

/// start + i * delta; the number of elements is ceil((limit - start) / delta), and must be known or symbolic.
Refs range(Call& n) {
  n.expect_inputs(3, 3);
  n.ignore({"stash_type"});
  DType dtype = n.b.dtype(n.in(0));
  for (size_t i = 0; i < 3; ++i)
    if (std::optional<Ref> r = n.in(i); product(n.b.shape(*r)) != Dim(1) || n.b.dtype(*r) != dtype)
      fail(ErrorCode::type_mismatch, "input {} is {}, expected one {}", i, n.b.describe(n.in(i)), to_string(dtype));
  auto start = n.b.contents(n.in(0)), limit = n.b.contents(n.in(1)), delta = n.b.contents(n.in(2));
  Dim count;
  if (start && limit && delta && (*delta)[0].is_constant() && !(*delta)[0].is(0)) {
    Dim step = (*delta)[0], span = (*limit)[0] - (*start)[0];
    count = step.value() > 0 ? ceil_div(span, step) : ceil_div(Dim(0) - span, Dim(0) - step);
  } else {
    double from = n.known_reals(0)[0], to = n.known_reals(1)[0], step = n.known_reals(2)[0];
    if (step == 0 || std::isnan(from + to + step))
      fail(ErrorCode::parse, "start {}, limit {}, delta {}", from, to, step);
    double steps = std::ceil((to - from) / step);
    if (steps >= 0x1p62) fail(ErrorCode::limit, "{} elements from {} to {} by {}", steps, from, to, step);
    count = static_cast<int64_t>(std::max(0.0, steps));
  }
  if (count.is_constant() && count.value() < 0) count = 0;
  Ref index = cast(n.b, iota(n.b, count), dtype);
  return {add(n.b, mul(n.b, index, reshape(n.b, n.in(2), {})), reshape(n.b, n.in(0), {}))};
}

/// bool[rows, columns]: column - row compared with k.
Ref diagonal(Builder& b, Op op, Dim rows, Dim columns, Ref k) {
  Ref row = unsqueeze(b, iota(b, rows), 1), column = unsqueeze(b, iota(b, columns), 0);
  return binary(b, op, binary(b, Op::sub, column, row), k);
}

Refs eye_like(Call& n) {
  const Shape& shape = n.b.shape(n.in(0));
  if (shape.size() != 2) fail(ErrorCode::type_mismatch, "{}, expected rank 2", n.b.describe(n.in(0)));
  DType dtype = n.has_attribute("dtype") ? dtype_of(static_cast<int32_t>(n.integer("dtype"))) : n.b.dtype(n.in(0));
  Ref k = n.b.constant(Tensor::scalar<int64_t>(n.integer("k", 0)));
  return {cast(n.b, diagonal(n.b, Op::equal, shape[0], shape[1], k), dtype)};
}

/// Keeps the part of each matrix above (or below) its k-th diagonal.
Refs trilu(Call& n) {
  Ref x = n.in(0);
  if (n.b.rank(x) < 2) fail(ErrorCode::type_mismatch, "{}, expected rank 2 or more", n.b.describe(x));
  bool upper = n.flag("upper", true);
  Ref k = n.has(1) ? cast(n.b, reshape(n.b, n.in(1), {}), DType::i64) : n.b.constant(Tensor::scalar<int64_t>(0));
  const Shape& shape = n.b.shape(x);
  Ref keep = diagonal(n.b, upper ? Op::greater_equal : Op::less_equal, shape[shape.size() - 2], shape.back(), k);
  return {where(n.b, keep, x, n.b.scalar(n.b.dtype(x), 0))};
}

constexpr OpRow kRows[] = {
    {"Constant", constant}, {"ConstantOfShape", constant_of_shape},
    {"EyeLike", eye_like},  {"Range", range},
    {"Shape", shape_op},    {"Size", size_op},
    {"Trilu", trilu},
};

}  // namespace

std::span<const OpRow> shape_ops() { return kRows; }

}  // namespace weft::ir::onnx_import
