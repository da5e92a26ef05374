// layer_norm and rms_norm, over all axes from `axis` on.
#include "ir/ops/element.hpp"
#include "ir/ops/indexing.hpp"
#include "ir/ops/record.hpp"

namespace weft::ir::ops {
namespace {

std::vector<TensorType> infer_norm(std::span<const TensorType> operands, const Attributes& attributes) {
  const TensorType& x = operands[0];
  check_float(x);
  int64_t axis = normal_axis(attributes.integer("axis"), x.rank());
  Shape normalised(x.shape.begin() + axis, x.shape.end());
  for (size_t i = 1; i < operands.size(); ++i) {
    check_same_dtype(x, operands[i], i == 1 ? "scale" : "bias");
    if (broadcast(normalised, operands[i].shape) != normalised)
      fail(ErrorCode::type_mismatch, "{} of shape {} does not broadcast to {}", i == 1 ? "scale" : "bias",
           to_string(operands[i].shape), to_string(normalised));
  }
  return {x};
}

/// The operand as one wide value an element of a normalised row.
template <typename T>
std::vector<double> row_of(const Tensor& operand, const std::vector<int64_t>& dims) {
  std::vector<double> row;
  std::vector<int64_t> strides = broadcast_strides(to_ints(operand.shape()), dims);
  for_each_index(dims, [&](const std::vector<int64_t>& index) {
    row.push_back(static_cast<double>(element::load(static_cast<const T*>(operand.data())[dot(index, strides)])));
  });
  return row;
}

double mean(const std::vector<double>& row) {
  double sum = 0;
  for (double v : row) sum += v;
  return sum / static_cast<double>(row.size());
}

/// Centres the row where asked, and divides it by the root of its mean square.
void normalise(std::vector<double>& row, bool centre, double epsilon) {
  if (centre) {
    double middle = mean(row);
    for (double& v : row) v -= middle;
  }
  double squares = 0;
  for (double v : row) squares += v * v;
  double scale = 1 / std::sqrt(squares / static_cast<double>(row.size()) + epsilon);
  for (double& v : row) v *= scale;
}

template <bool kCentre>
void evaluate_norm(std::span<const Tensor> operands, const Attributes& attributes, std::span<Tensor> outputs) {
  const Tensor& x = operands[0];
  if (x.elements() == 0) return;
  int64_t axis = normal_axis(attributes.integer("axis"), x.type().rank());
  std::vector<int64_t> dims = to_ints(Shape(x.shape().begin() + axis, x.shape().end()));
  size_t size = static_cast<size_t>(element_count(to_shape(dims)));
  dispatch(x.dtype(), [&]<typename T>() {
    const T* from = static_cast<const T*>(x.data());
    T* to = static_cast<T*>(outputs[0].mutable_data());
    std::vector<double> scale = row_of<T>(operands[1], dims), bias(size, 0), row(size);
    if (operands.size() > 2) bias = row_of<T>(operands[2], dims);
    for (const T* end = from + x.elements(); from != end; from += size) {
      for (size_t i = 0; i < size; ++i) row[i] = static_cast<double>(element::load(from[i]));
      normalise(row, kCentre, attributes.real("eps"));
      for (size_t i = 0; i < size; ++i) *to++ = element::convert<T>(row[i] * scale[i] + bias[i]);
    }
  });
}

}  // namespace

OpInfo layer_norm_record() {
  return {
      .op = Op::layer_norm,
      .summary =
          "(x - mean) / sqrt(variance + eps) * scale + bias over axes [axis, rank), variance in two passes (Ba et al. "
          "2016; ONNX LayerNormalization 17)",
      .operands = {{"x"}, {"scale"}, {"bias"}},
      .attributes = {integer("axis", -1), real("eps", 1e-5)},
      .infer = infer_norm,
      .eval = evaluate_norm<true>,
      .work = work_per_input<8>,
      .normalize = normalize_axis,
      .examples = {"layer_norm(f32[2][-3, 3], f32[2][1, 2], f32[2][0, 1], eps=7) == f32[2][-0.75, 2.5]"}};
}

OpInfo rms_norm_record() {
  return {.op = Op::rms_norm,
          .summary =
              "x / sqrt(mean(x * x) + eps) * scale over axes [axis, rank) (Zhang & Sennrich 2019; ONNX "
              "RMSNormalization 23)",
          .operands = {{"x"}, {"scale"}},
          .attributes = {integer("axis", -1), real("eps", 1e-5)},
          .infer = infer_norm,
          .eval = evaluate_norm<false>,
          .work = work_per_input<6>,
          .normalize = normalize_axis,
          .examples = {"rms_norm(f32[2][-3, 3], f32[2][1, 2], eps=7) == f32[2][-0.75, 1.5]"}};
}

}  // namespace weft::ir::ops
