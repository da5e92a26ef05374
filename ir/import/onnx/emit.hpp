#pragma once
// Short spellings of the IR ops that handlers are made of. Shapes may be symbolic; axes are normalised.
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/import/onnx/builder.hpp"

namespace weft::ir::onnx_import {

using Ints = std::vector<int64_t>;

/// An elementwise op of two operands; a double is a scalar of the first operand's dtype.
Ref binary(Builder& b, Op op, Ref x, Ref y);
Ref binary(Builder& b, Op op, Ref x, double y);
Ref binary(Builder& b, Op op, double x, Ref y);
inline Ref add(Builder& b, Ref x, auto y) { return binary(b, Op::add, x, y); }
inline Ref sub(Builder& b, auto x, auto y) { return binary(b, Op::sub, x, y); }
inline Ref mul(Builder& b, Ref x, auto y) { return binary(b, Op::mul, x, y); }
inline Ref div(Builder& b, auto x, auto y) { return binary(b, Op::div, x, y); }
inline Ref unary(Builder& b, Op op, Ref x) { return b.add(op, {x}); }
Ref where(Builder& b, Ref condition, Ref x, Ref y);
Ref cast(Builder& b, Ref x, DType to);  ///< x itself where it has the dtype

// The value itself is returned where nothing would change.
Ref reshape(Builder& b, Ref x, Shape shape);
Ref transpose(Builder& b, Ref x, Ints perm);
/// Broadcast to exactly this shape.
Ref broadcast_to(Builder& b, Ref x, Shape shape);
Ref concat(Builder& b, Refs parts, int64_t axis);
/// [start, end) with a step, on one axis; already normalised.
Ref slice(Builder& b, Ref x, int64_t axis, Dim start, Dim end, int64_t step = 1);
Ref slice(Builder& b, Ref x, Shape starts, Shape ends, Ints steps);
/// Zero (or another constant) padding; one number an axis.
Ref pad(Builder& b, Ref x, Ints low, Ints high, double value = 0);
Ref pad(Builder& b, Ref x, Ref value, Ints low, Ints high, std::string_view mode);
Ref gather(Builder& b, Ref x, Ref indices, int64_t axis);
Ref reduce(Builder& b, Op op, Ref x, Ints axes, bool keepdims);
Ref matmul(Builder& b, Ref x, Ref y, bool transpose_x = false, bool transpose_y = false);

/// A [1,..,C,..,1] view of a vector [C], to meet `axis` of a tensor of this rank.
Ref along_axis(Builder& b, Ref vector, int64_t axis, int64_t rank);
/// New axes of size 1 behind the others, up to a rank.
Ref unsqueeze(Builder& b, Ref x, int64_t axis);
Ref squeeze(Builder& b, Ref x, int64_t axis);
/// i64[n] of 0, 1, ..., n-1.
Ref iota(Builder& b, Dim n);
/// A scalar of x's dtype, broadcast to a shape.
Ref full(Builder& b, DType dtype, double value, Shape shape);

/// Product of dimensions.
Dim product(const Shape& shape, size_t from = 0, size_t to = SIZE_MAX);
Ints range_of(int64_t first, int64_t last);  ///< first, first+1, ..., last-1

}  // namespace weft::ir::onnx_import
