// concat and its inverse, split.
#include "ir/ops/indexing.hpp"
#include "ir/ops/record.hpp"

namespace weft::ir::ops {
namespace {

std::vector<TensorType> infer_concat(std::span<const TensorType> operands, const Attributes& attributes) {
  TensorType out = operands[0];
  size_t axis = static_cast<size_t>(normal_axis(attributes.integer("axis"), out.rank()));
  for (const TensorType& operand : operands.subspan(1)) {
    check_same_dtype(out, operand, "of concat");
    if (operand.rank() != out.rank())
      fail(ErrorCode::type_mismatch, "operands of rank {} and {}", out.rank(), operand.rank());
    for (size_t i = 0; i < out.rank(); ++i)
      out.shape[i] = i == axis
                         ? out.shape[i] + operand.shape[i]
                         : same_dim(out.shape[i], operand.shape[i], fmt::format("different sizes along axis {}", i));
  }
  return {out};
}

/// Copies rows of `part` between a part and the place in the whole where it starts along the axis.
void evaluate_concat(std::span<const Tensor> operands, const Attributes& attributes, std::span<Tensor> outputs) {
  int64_t axis = normal_axis(attributes.integer("axis"), outputs[0].type().rank());
  std::vector<int64_t> strides = row_major_strides(to_ints(outputs[0].shape()));
  int64_t bytes = static_cast<int64_t>(size_of(outputs[0].dtype())), start = 0;
  for (const Tensor& part : operands) {
    std::vector<int64_t> dims = to_ints(part.shape());
    if (part.elements() != 0)
      copy_strided(static_cast<char*>(outputs[0].mutable_data()) + start * strides[static_cast<size_t>(axis)] * bytes,
                   strides, part.data(), row_major_strides(dims), dims, static_cast<size_t>(bytes));
    start += dims[static_cast<size_t>(axis)];
  }
}

std::vector<TensorType> infer_split(std::span<const TensorType> operands, const Attributes& attributes) {
  const TensorType& x = operands[0];
  size_t axis = static_cast<size_t>(normal_axis(attributes.integer("axis"), x.rank()));
  std::vector<TensorType> outputs;
  Dim sum = 0;
  for (const Dim& size : attributes.shape("sizes")) {
    if (size.is_constant() && size.value() < 0)
      fail(ErrorCode::invalid_argument, "negative size {} in split", size.text());
    outputs.push_back(x);
    outputs.back().shape[axis] = size;
    sum = sum + size;
  }
  if (outputs.empty()) fail(ErrorCode::invalid_argument, "attribute 'sizes' is empty");
  same_dim(x.shape[axis], sum, fmt::format("size of axis {} against the sum of sizes", axis));
  return outputs;
}

void evaluate_split(std::span<const Tensor> operands, const Attributes& attributes, std::span<Tensor> outputs) {
  size_t axis = static_cast<size_t>(normal_axis(attributes.integer("axis"), operands[0].type().rank()));
  std::vector<int64_t> strides = row_major_strides(to_ints(operands[0].shape()));
  int64_t bytes = static_cast<int64_t>(size_of(operands[0].dtype())), start = 0;
  for (Tensor& part : outputs) {
    std::vector<int64_t> dims = to_ints(part.shape());
    if (part.elements() != 0)
      copy_strided(part.mutable_data(), row_major_strides(dims),
                   static_cast<const char*>(operands[0].data()) + start * strides[axis] * bytes, strides, dims,
                   static_cast<size_t>(bytes));
    start += dims[axis];
  }
}

}  // namespace

OpInfo concat_record() {
  return {.op = Op::concat,
          .summary = "operands one after another along an axis; empty ones count nothing (ONNX Concat)",
          .operands = {{"xs", true}},
          .attributes = {integer("axis")},
          .traits = kMovement,
          .infer = infer_concat,
          .eval = evaluate_concat,
          .normalize = normalize_axis,
          .gradient = "split(dy, axis=axis, sizes=dims(xs, axis))",
          .examples = {"concat(f32[1,2][1, 2], f32[1,2][3, 4], axis=0) == f32[2,2][1, 2, 3, 4]"}};
}

OpInfo split_record() {
  return {.op = Op::split,
          .summary = "x cut along an axis into parts of these sizes, one output a part (ONNX Split)",
          .operands = {{"x"}},
          .attributes = {integer("axis"), shape("sizes")},
          .traits = kMovement,
          .infer = infer_split,
          .eval = evaluate_split,
          .normalize = normalize_axis,
          .gradient = "concat(dys..., axis=axis)",
          .examples = {"split(f32[2][1, 2], axis=0, sizes=[2]) == f32[2][1, 2]"}};
}

}  // namespace weft::ir::ops
