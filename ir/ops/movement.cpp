// reshape, transpose, broadcast: the same elements in another order or number.
#include <cstring>
#include <numeric>

#include "ir/ops/indexing.hpp"
#include "ir/ops/record.hpp"

namespace weft::ir::ops {
namespace {

std::vector<TensorType> infer_reshape(std::span<const TensorType> operands, const Attributes& attributes) {
  const Shape &from = operands[0].shape, &to = attributes.shape("shape");
  for (const Dim& d : to)
    if (d.is_constant() && d.value() < 0)
      fail(ErrorCode::invalid_argument, "shape {} has the negative dimension {}", to_string(to), d.text());
  if (is_static(from) && is_static(to) && element_count(from) != element_count(to))
    fail(ErrorCode::type_mismatch, "{} elements cannot take the shape {} of {}", element_count(from), to_string(to),
         element_count(to));
  return {{operands[0].dtype, to}};
}

void evaluate_reshape(std::span<const Tensor> operands, const Attributes&, std::span<Tensor> outputs) {
  std::memcpy(outputs[0].mutable_data(), operands[0].data(), operands[0].bytes());
}

/// The permutation: an empty list reverses all axes (ONNX).
std::vector<int64_t> permutation(const Attributes& attributes, size_t rank) {
  std::vector<int64_t> perm = attributes.ints("perm");
  if (perm.empty()) {
    perm.resize(rank);
    std::iota(perm.rbegin(), perm.rend(), 0);
  }
  check_length(perm.size(), rank, "perm");
  for (int64_t& axis : perm) axis = normal_axis(axis, rank);
  normal_axes(perm, rank);  // every axis once
  return perm;
}

void normalize_transpose(Attributes& attributes, std::span<const TensorType> operands) {
  attributes.set("perm", permutation(attributes, operands[0].rank()));
}

std::vector<TensorType> infer_transpose(std::span<const TensorType> operands, const Attributes& attributes) {
  TensorType out{operands[0].dtype, {}};
  for (int64_t axis : permutation(attributes, operands[0].rank()))
    out.shape.push_back(operands[0].shape[static_cast<size_t>(axis)]);
  return {out};
}

void evaluate_transpose(std::span<const Tensor> operands, const Attributes& attributes, std::span<Tensor> outputs) {
  std::vector<int64_t> dims = to_ints(outputs[0].shape()), from = row_major_strides(to_ints(operands[0].shape())),
                       permuted;
  for (int64_t axis : permutation(attributes, dims.size())) permuted.push_back(from[static_cast<size_t>(axis)]);
  copy_strided(outputs[0].mutable_data(), row_major_strides(dims), operands[0].data(), permuted, dims,
               size_of(operands[0].dtype()));
}

std::vector<TensorType> infer_broadcast(std::span<const TensorType> operands, const Attributes& attributes) {
  const Shape &from = operands[0].shape, &to = attributes.shape("shape");
  bool fits = from.size() <= to.size();
  for (size_t i = 0; fits && i < from.size(); ++i) {
    const Dim &have = from[i], &want = to[to.size() - from.size() + i];
    fits = have.is(1) || have == want || (have.is_constant() != want.is_constant() && !want.is(1));
  }
  if (!fits) fail(ErrorCode::type_mismatch, "shape {} does not broadcast to {}", to_string(from), to_string(to));
  return {{operands[0].dtype, to}};
}

void evaluate_broadcast(std::span<const Tensor> operands, const Attributes&, std::span<Tensor> outputs) {
  std::vector<int64_t> dims = to_ints(outputs[0].shape());
  copy_strided(outputs[0].mutable_data(), row_major_strides(dims), operands[0].data(),
               broadcast_strides(to_ints(operands[0].shape()), dims), dims, size_of(operands[0].dtype()));
}

}  // namespace

OpInfo reshape_record() {
  return {.op = Op::reshape,
          .summary = "the same row-major elements under another shape (ONNX Reshape, shape already resolved)",
          .operands = {{"x"}},
          .attributes = {shape("shape")},
          .traits = kMovement | kView,
          .infer = infer_reshape,
          .eval = evaluate_reshape,
          .gradient = "reshape(dy, shape=shape(x))",
          .examples = {"reshape(f32[2,3][1, 2, 3, 4, 5, 6], shape=[3,2]) == f32[3,2][1, 2, 3, 4, 5, 6]"}};
}

OpInfo transpose_record() {
  return {.op = Op::transpose,
          .summary = "axis i of the result is axis perm[i] of x (ONNX Transpose)",
          .operands = {{"x"}},
          .attributes = {ints_or_default("perm")},
          .traits = kMovement,
          .infer = infer_transpose,
          .eval = evaluate_transpose,
          .normalize = normalize_transpose,
          .gradient = "transpose(dy, perm=inverse(perm))",
          .examples = {"transpose(f32[2,3][1, 2, 3, 4, 5, 6], perm=[1,0]) == f32[3,2][1, 4, 2, 5, 3, 6]"}};
}

OpInfo broadcast_record() {
  return {.op = Op::broadcast,
          .summary = "x repeated to exactly this shape by numpy broadcasting (numpy.broadcast_to)",
          .operands = {{"x"}},
          .attributes = {shape("shape")},
          .traits = kMovement,
          .infer = infer_broadcast,
          .eval = evaluate_broadcast,
          .gradient = "sum_to(dy, shape(x))",
          .examples = {"broadcast(f32[2,1][1, 2], shape=[2,3]) == f32[2,3][1, 1, 1, 2, 2, 2]"}};
}

}  // namespace weft::ir::ops
