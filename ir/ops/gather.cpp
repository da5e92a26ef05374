#include <cstring>

#include "ir/ops/indexing.hpp"
#include "ir/ops/record.hpp"

namespace weft::ir::ops {
namespace {

std::vector<TensorType> infer_gather(std::span<const TensorType> operands, const Attributes& attributes) {
  const TensorType &x = operands[0], &indices = operands[1];
  if (!is_integer(indices.dtype))
    fail(ErrorCode::type_mismatch, "operand indices has dtype {}, expected an integer", to_string(indices.dtype));
  int64_t axis = normal_axis(attributes.integer("axis"), x.rank());
  TensorType out{x.dtype, Shape(x.shape.begin(), x.shape.begin() + axis)};
  out.shape.insert(out.shape.end(), indices.shape.begin(), indices.shape.end());
  out.shape.insert(out.shape.end(), x.shape.begin() + axis + 1, x.shape.end());
  return {out};
}

int64_t checked_index(const Tensor& indices, int64_t position, int64_t size) {
  int64_t index = indices.at_int(position);
  if (index < -size || index >= size || (index < 0 && !is_signed(indices.dtype())))
    fail(ErrorCode::out_of_range, "index {} at position {} is outside [{}, {}]", index, position, -size, size - 1);
  return index < 0 ? index + size : index;
}

void evaluate_gather(std::span<const Tensor> operands, const Attributes& attributes, std::span<Tensor> outputs) {
  const Tensor &x = operands[0], &indices = operands[1];
  AxisView view = around_axis(x.shape(), normal_axis(attributes.integer("axis"), x.type().rank()));
  int64_t row_bytes = view.inner * static_cast<int64_t>(size_of(x.dtype()));
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < indices.elements(); ++i) rows.push_back(checked_index(indices, i, view.size));
  char* out = static_cast<char*>(outputs[0].mutable_data());
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t row : rows) {
      std::memcpy(out, static_cast<const char*>(x.data()) + (o * view.size + row) * row_bytes,
                  static_cast<size_t>(row_bytes));
      out += row_bytes;
    }
}

Work work_gather(std::span<const TensorType> operands, const Attributes&, std::span<const TensorType> outputs) {
  double moved = static_cast<double>(outputs[0].bytes());
  return {0, moved + static_cast<double>(operands[1].bytes()), moved};
}

}  // namespace

OpInfo gather_record() {
  return {.op = Op::gather,
          .summary = "slices of x along an axis by index; negative ones count from the end (ONNX Gather, numpy.take)",
          .operands = {{"x"}, {"indices"}},
          .attributes = {integer("axis", 0)},
          .traits = kMovement,
          .infer = infer_gather,
          .eval = evaluate_gather,
          .work = work_gather,
          .normalize = normalize_axis,
          .examples = {"gather(f32[3,2][1, 2, 3, 4, 5, 6], i64[2][0, -1], axis=0) == f32[2,2][1, 2, 5, 6]"}};
}

}  // namespace weft::ir::ops
