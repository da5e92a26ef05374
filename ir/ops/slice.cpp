#include "ir/ops/indexing.hpp"
#include "ir/ops/record.hpp"

namespace weft::ir::ops {
namespace {

/// Elements that [start, end) by `step` has. Symbolic bounds are taken to be in order.
Dim slice_size(const Dim& start, const Dim& end, int64_t step) {
  Dim size = step > 0 ? ceil_div(end - start, step) : ceil_div(start - end, -step);
  return size.is_constant() && size.value() < 0 ? Dim(0) : size;
}

void check_bounds(const Dim& start, const Dim& size, int64_t step, const Dim& dim, size_t axis) {
  if (!start.is_constant() || !size.is_constant() || !dim.is_constant() || size.is(0)) return;
  Dim last = start + (size - 1) * Dim(step);
  for (const Dim& index : {start, last})
    if (index.value() < 0 || index.value() >= dim.value())
      fail(ErrorCode::out_of_range, "slice along axis {} reaches index {} outside [0, {})", axis, index.text(),
           dim.text());
}

std::vector<TensorType> infer_slice(std::span<const TensorType> operands, const Attributes& attributes) {
  const TensorType& x = operands[0];
  const Shape &starts = attributes.shape("starts"), &ends = attributes.shape("ends");
  const std::vector<int64_t>& steps = attributes.ints("steps");
  check_length(starts.size(), x.rank(), "starts");
  check_length(ends.size(), x.rank(), "ends");
  check_length(steps.size(), x.rank(), "steps");
  TensorType out{x.dtype, {}};
  for (size_t i = 0; i < x.rank(); ++i) {
    if (steps[i] == 0 || steps[i] == INT64_MIN) fail(ErrorCode::invalid_argument, "step {} along axis {}", steps[i], i);
    out.shape.push_back(slice_size(starts[i], ends[i], steps[i]));
    check_bounds(starts[i], out.shape[i], steps[i], x.shape[i], i);
  }
  return {out};
}

void evaluate_slice(std::span<const Tensor> operands, const Attributes& attributes, std::span<Tensor> outputs) {
  if (outputs[0].elements() == 0) return;
  std::vector<int64_t> dims = to_ints(outputs[0].shape()), from = row_major_strides(to_ints(operands[0].shape()));
  int64_t offset = dot(to_ints(attributes.shape("starts")), from);
  for (size_t i = 0; i < from.size(); ++i) from[i] = dims[i] == 1 ? 0 : from[i] * attributes.ints("steps")[i];
  size_t bytes = size_of(operands[0].dtype());
  copy_strided(outputs[0].mutable_data(), row_major_strides(dims),
               static_cast<const char*>(operands[0].data()) + offset * static_cast<int64_t>(bytes), from, dims, bytes);
}

}  // namespace

OpInfo slice_record() {
  return {
      .op = Op::slice,
      .summary = "x[start:end:step] of every axis; bounds are already clamped, an end of -1 is before 0 (ONNX Slice)",
      .operands = {{"x"}},
      .attributes = {shape("starts"), shape("ends"), ints("steps")},
      .traits = kMovement,
      .infer = infer_slice,
      .eval = evaluate_slice,
      .gradient = "slice_gradient(dy, shape(x), starts, ends, steps)",
      .examples = {"slice(f32[5][0, 1, 2, 3, 4], starts=[1], ends=[4], steps=[2]) == f32[2][1, 3]",
                   "slice(f32[3][0, 1, 2], starts=[2], ends=[-1], steps=[-1]) == f32[3][2, 1, 0]"}};
}

}  // namespace weft::ir::ops
