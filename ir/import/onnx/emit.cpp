#include "ir/import/onnx/emit.hpp"

#include <algorithm>
#include <numeric>

#include "ir/support/error.hpp"

namespace weft::ir::onnx_import {

Ref binary(Builder& b, Op op, Ref x, Ref y) { return b.add(op, {x, y}); }
Ref binary(Builder& b, Op op, Ref x, double y) { return b.add(op, {x, b.scalar(b.dtype(x), y)}); }
Ref binary(Builder& b, Op op, double x, Ref y) { return b.add(op, {b.scalar(b.dtype(y), x), y}); }
Ref where(Builder& b, Ref condition, Ref x, Ref y) { return b.add(Op::where, {condition, x, y}); }

Ref cast(Builder& b, Ref x, DType to) { return b.dtype(x) == to ? x : b.add(Op::cast, {x}, {{"to", to}}); }

Ref reshape(Builder& b, Ref x, Shape shape) {
  if (b.shape(x) == shape) return x;
  return b.add(Op::reshape, {x}, {{"shape", std::move(shape)}});
}

Ref transpose(Builder& b, Ref x, Ints perm) {
  if (std::is_sorted(perm.begin(), perm.end()) && static_cast<int64_t>(perm.size()) == b.rank(x)) return x;
  return b.add(Op::transpose, {x}, {{"perm", std::move(perm)}});
}

Ref broadcast_to(Builder& b, Ref x, Shape shape) {
  if (b.shape(x) == shape) return x;
  return b.add(Op::broadcast, {x}, {{"shape", std::move(shape)}});
}

Ref concat(Builder& b, Refs parts, int64_t axis) {
  if (parts.size() == 1) return parts[0];
  return b.add(Op::concat, std::move(parts), {{"axis", axis}});
}

Ref slice(Builder& b, Ref x, Shape starts, Shape ends, Ints steps) {
  bool whole = ends == b.shape(x);
  for (size_t i = 0; i < steps.size(); ++i) whole &= starts[i].is(0) && steps[i] == 1;
  if (whole) return x;
  return b.add(Op::slice, {x}, {{"starts", std::move(starts)}, {"ends", std::move(ends)}, {"steps", std::move(steps)}});
}

Ref slice(Builder& b, Ref x, int64_t axis, Dim start, Dim end, int64_t step) {
  size_t rank = b.shape(x).size();
  Shape starts(rank, Dim(0)), ends = b.shape(x);
  Ints steps(rank, 1);
  starts[static_cast<size_t>(axis)] = start;
  ends[static_cast<size_t>(axis)] = end;
  steps[static_cast<size_t>(axis)] = step;
  return slice(b, x, std::move(starts), std::move(ends), std::move(steps));
}

Ref pad(Builder& b, Ref x, Ref value, Ints low, Ints high, std::string_view mode) {
  bool none = std::all_of(low.begin(), low.end(), [](int64_t n) { return n == 0; }) &&
              std::all_of(high.begin(), high.end(), [](int64_t n) { return n == 0; });
  if (none) return x;
  return b.add(Op::pad, {x, value}, {{"low", std::move(low)}, {"high", std::move(high)}, {"mode", std::string(mode)}});
}

Ref pad(Builder& b, Ref x, Ints low, Ints high, double value) {
  return pad(b, x, b.scalar(b.dtype(x), value), std::move(low), std::move(high), "constant");
}

Ref gather(Builder& b, Ref x, Ref indices, int64_t axis) { return b.add(Op::gather, {x, indices}, {{"axis", axis}}); }

Ref reduce(Builder& b, Op op, Ref x, Ints axes, bool keepdims) {
  return b.add(op, {x}, {{"axes", std::move(axes)}, {"keepdims", keepdims}});
}

Ref matmul(Builder& b, Ref x, Ref y, bool transpose_x, bool transpose_y) {
  return b.add(Op::matmul, {x, y}, {{"transpose_a", transpose_x}, {"transpose_b", transpose_y}});
}

Ref along_axis(Builder& b, Ref vector, int64_t axis, int64_t rank) {
  if (b.rank(vector) != 1) fail(ErrorCode::type_mismatch, "{}, expected rank 1", b.describe(vector));
  Shape shape(static_cast<size_t>(rank), Dim(1));
  shape[static_cast<size_t>(axis)] = b.shape(vector)[0];
  return reshape(b, vector, std::move(shape));
}

Ref unsqueeze(Builder& b, Ref x, int64_t axis) {
  Shape shape = b.shape(x);
  shape.insert(shape.begin() + axis, Dim(1));
  return reshape(b, x, std::move(shape));
}

Ref squeeze(Builder& b, Ref x, int64_t axis) {
  Shape shape = b.shape(x);
  shape.erase(shape.begin() + axis);
  return reshape(b, x, std::move(shape));
}

Ref iota(Builder& b, Dim n) {
  constexpr int64_t kConstant = 4096;
  if (n.is_constant() && n.value() <= kConstant) {
    Ints values(static_cast<size_t>(std::max<int64_t>(n.value(), 0)));
    std::iota(values.begin(), values.end(), int64_t{0});
    return b.ints(values);
  }
  Ref ones = full(b, DType::i64, 1, {n});
  return binary(b, Op::sub, b.add(Op::cumsum, {ones}, {{"axis", int64_t{0}}}), 1.0);
}

Ref full(Builder& b, DType dtype, double value, Shape shape) {
  return broadcast_to(b, b.scalar(dtype, value), std::move(shape));
}

Dim product(const Shape& shape, size_t from, size_t to) {
  Dim out = 1;
  for (size_t i = from; i < std::min(to, shape.size()); ++i) out = out * shape[i];
  return out;
}

Ints range_of(int64_t first, int64_t last) {
  Ints out;
  for (int64_t i = first; i < last; ++i) out.push_back(i);
  return out;
}

}  // namespace weft::ir::onnx_import
