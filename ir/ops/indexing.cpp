#include "ir/ops/indexing.hpp"

#include <algorithm>
#include <cstring>

#include "ir/support/error.hpp"

namespace weft::ir::ops {

int64_t normal_axis(int64_t axis, size_t rank) {
  int64_t r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r) fail(ErrorCode::out_of_range, "axis {} is outside [{}, {}) of rank {}", axis, -r, r, r);
  return axis < 0 ? axis + r : axis;
}

std::vector<int64_t> normal_axes(const std::vector<int64_t>& axes, size_t rank) {
  std::vector<int64_t> out;
  for (int64_t axis : axes) out.push_back(normal_axis(axis, rank));
  std::sort(out.begin(), out.end());
  auto twice = std::adjacent_find(out.begin(), out.end());
  if (twice != out.end()) fail(ErrorCode::invalid_argument, "axis {} stands twice", *twice);
  return out;
}

void normalize_axis(Attributes& attributes, std::span<const TensorType> operands) {
  attributes.set("axis", normal_axis(attributes.integer("axis"), operands[0].rank()));
}

void normalize_axes(Attributes& attributes, std::span<const TensorType> operands) {
  attributes.set("axes", normal_axes(attributes.ints("axes"), operands[0].rank()));
}

Dim same_dim(const Dim& a, const Dim& b, std::string_view what) {
  if (a.is_constant() && b.is_constant() && a != b)
    fail(ErrorCode::type_mismatch, "{}: {} against {}", what, a.text(), b.text());
  return a.is_constant() ? a : b.is_constant() ? b : a;
}

void check_same_dtype(const TensorType& first, const TensorType& operand, std::string_view name) {
  if (operand.dtype != first.dtype)
    fail(ErrorCode::type_mismatch, "operand {} has dtype {}, expected {}", name, to_string(operand.dtype),
         to_string(first.dtype));
}

void check_float(const TensorType& operand) {
  if (!is_float(operand.dtype))
    fail(ErrorCode::type_mismatch, "dtype {} where a float is expected", to_string(operand.dtype));
}

void check_numeric(const TensorType& operand) {
  if (operand.dtype == DType::boolean) fail(ErrorCode::type_mismatch, "dtype bool where a number is expected");
}

void check_length(size_t found, size_t expected, std::string_view attribute) {
  if (found != expected)
    fail(ErrorCode::invalid_argument, "attribute '{}' has {} entries, expected {}", attribute, found, expected);
}

AxisView around_axis(const Shape& shape, int64_t axis, int64_t count) {
  AxisView view;
  for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i) {
    int64_t& part = i < axis ? view.outer : i < axis + count ? view.size : view.inner;
    part *= shape[static_cast<size_t>(i)].value();
  }
  return view;
}

std::vector<int64_t> broadcast_strides(const std::vector<int64_t>& shape, const std::vector<int64_t>& dims) {
  std::vector<int64_t> own = row_major_strides(shape), out(dims.size(), 0);
  size_t offset = dims.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) out[offset + i] = shape[i] == 1 ? 0 : own[i];
  return out;
}

namespace {

template <size_t kBytes>
void copy_row(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    std::memcpy(to + i * to_step * static_cast<int64_t>(kBytes), from + i * from_step * static_cast<int64_t>(kBytes),
                kBytes);
}

}  // namespace

void copy_strided(void* to, const std::vector<int64_t>& to_strides, const void* from,
                  const std::vector<int64_t>& from_strides, const std::vector<int64_t>& dims, size_t element_bytes) {
  WEFT_CHECK(to_strides.size() == dims.size() && from_strides.size() == dims.size());
  std::vector<int64_t> outer = dims;
  int64_t n = 1, to_step = 0, from_step = 0;
  if (!dims.empty()) {
    n = outer.back(), to_step = to_strides.back(), from_step = from_strides.back();
    outer.pop_back();
  }
  if (n <= 0) return;
  auto copy = element_bytes == 1   ? copy_row<1>
              : element_bytes == 2 ? copy_row<2>
              : element_bytes == 4 ? copy_row<4>
                                   : copy_row<8>;
  for_each_index(outer, [&](const std::vector<int64_t>& index) {
    int64_t to_offset = dot(index, to_strides), from_offset = dot(index, from_strides);
    copy(static_cast<char*>(to) + to_offset * static_cast<int64_t>(element_bytes), to_step,
         static_cast<const char*>(from) + from_offset * static_cast<int64_t>(element_bytes), from_step, n);
  });
}

Work bytes_moved(std::span<const TensorType> operands, std::span<const TensorType> outputs) {
  Work work;
  for (const TensorType& type : operands) work.bytes_read += static_cast<double>(type.bytes());
  for (const TensorType& type : outputs) work.bytes_written += static_cast<double>(type.bytes());
  return work;
}

}  // namespace weft::ir::ops
