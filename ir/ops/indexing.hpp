#pragma once
// Axes, dimensions and strides: the shape logic that structured ops share.
#include <cstdint>
#include <functional>
#include <vector>

#include "ir/op.hpp"

namespace weft::ir::ops {

/// `axis` in [-rank, rank) as a number in [0, rank); throws Error(out_of_range) else.
int64_t normal_axis(int64_t axis, size_t rank);
/// All axes normalised and sorted; throws where one stands twice.
std::vector<int64_t> normal_axes(const std::vector<int64_t>& axes, size_t rank);
// Normalize functions of ops: attribute `axis` or `axes` against the rank of the first operand.
void normalize_axis(Attributes& attributes, std::span<const TensorType> operands);
void normalize_axes(Attributes& attributes, std::span<const TensorType> operands);

/// One dimension that must be both: the constant where one is symbolic; throws Error(type_mismatch) on different
/// constants.
Dim same_dim(const Dim& a, const Dim& b, std::string_view what);
/// `operand` has the dtype of `first`, else an Error that names it.
void check_same_dtype(const TensorType& first, const TensorType& operand, std::string_view name);
void check_float(const TensorType& operand);
void check_numeric(const TensorType& operand);
/// As many entries as axes, else an Error that names the attribute.
void check_length(size_t found, size_t expected, std::string_view attribute);

/// A row-major tensor seen around one axis, or around the run of axes [axis, axis + count).
struct AxisView {
  int64_t outer = 1, size = 1, inner = 1;
};
AxisView around_axis(const Shape& shape, int64_t axis, int64_t count = 1);

/// Strides, in elements, of a row-major tensor of `shape` seen as `dims` by numpy broadcasting: 0 along repeated axes.
std::vector<int64_t> broadcast_strides(const std::vector<int64_t>& shape, const std::vector<int64_t>& dims);
/// Copies elements of `element_bytes`, visiting `dims` in row-major order on both sides by their own strides (in
/// elements).
void copy_strided(void* to, const std::vector<int64_t>& to_strides, const void* from,
                  const std::vector<int64_t>& from_strides, const std::vector<int64_t>& dims, size_t element_bytes);

/// Calls f(index) for every index of `dims` in row-major order; once for rank 0, never where a dimension is 0.
template <typename F>
void for_each_index(const std::vector<int64_t>& dims, F&& f) {
  for (int64_t d : dims)
    if (d <= 0) return;
  std::vector<int64_t> index(dims.size(), 0);
  for (;;) {
    f(static_cast<const std::vector<int64_t>&>(index));
    size_t axis = dims.size();
    while (axis > 0 && ++index[axis - 1] == dims[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

inline int64_t dot(const std::vector<int64_t>& index, const std::vector<int64_t>& strides) {
  int64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i) offset += index[i] * strides[i];
  return offset;
}

/// Every operand read once, every output written once.
Work bytes_moved(std::span<const TensorType> operands, std::span<const TensorType> outputs);
/// That, and `kFlops` operations an element of the first operand.
template <int kFlops>
Work work_per_input(std::span<const TensorType> operands, const Attributes&, std::span<const TensorType> outputs) {
  Work work = bytes_moved(operands, outputs);
  work.flops = kFlops * static_cast<double>(operands[0].elements());
  return work;
}

}  // namespace weft::ir::ops
