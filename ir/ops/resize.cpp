#include <algorithm>

#include "ir/ops/element.hpp"
#include "ir/ops/indexing.hpp"
#include "ir/ops/record.hpp"

namespace weft::ir::ops {
namespace {

std::vector<TensorType> infer_resize(std::span<const TensorType> operands, const Attributes& attributes) {
  const TensorType& x = operands[0];
  check_numeric(x);
  const Shape& to = attributes.shape("shape");
  const std::vector<double>& scales = attributes.reals("scales");
  check_length(to.size(), x.rank(), "shape");
  check_length(scales.size(), x.rank(), "scales");
  for (size_t i = 0; i < to.size(); ++i) {
    if (!(scales[i] > 0) || std::isinf(scales[i]))
      fail(ErrorCode::invalid_argument, "scale {} of axis {}, expected a positive number", scales[i], i);
    if (to[i].is_constant() && to[i].value() < 0)
      fail(ErrorCode::invalid_argument, "negative size {} of axis {}", to[i].text(), i);
    if (x.shape[i].is(0) && !to[i].is(0))
      fail(ErrorCode::type_mismatch, "axis {} is empty and cannot become {}", i, to[i].text());
  }
  return {{x.dtype, to}};
}

/// The length of the resized axis before it was rounded down, as the ONNX reference takes it: scale * in. Where the
/// scale came from the size, rounding of the scale must not show.
double unrounded_length(int64_t in, int64_t out, double scale) {
  double length = scale * static_cast<double>(in), rounded = static_cast<double>(out);
  return std::fabs(length - rounded) < 1e-5 * rounded ? rounded : length;
}

/// Where output index i of an axis lies between the elements of the input (ONNX coordinate_transformation_mode).
double source_position(std::string_view mode, int64_t i, int64_t in, int64_t out, double scale) {
  double at = static_cast<double>(i), size = static_cast<double>(in);
  if (mode == "asymmetric") return at / scale;
  if (mode == "align_corners") return out == 1 ? 0 : at * (size - 1) / (unrounded_length(in, out, scale) - 1);
  if (mode == "pytorch_half_pixel" && out == 1) return 0;
  if (mode == "tf_half_pixel_for_nn") return (at + 0.5) / scale;
  double half_pixel = (at + 0.5) / scale - 0.5;
  if (mode != "half_pixel_symmetric") return half_pixel;
  return half_pixel + size / 2 * (1 - static_cast<double>(out) / (scale * size));
}

int64_t nearest_index(std::string_view rounding, double position) {
  double index = rounding == "floor"               ? std::floor(position)
                 : rounding == "ceil"              ? std::ceil(position)
                 : rounding == "round_prefer_ceil" ? std::floor(position + 0.5)
                                                   : std::ceil(position - 0.5);
  return static_cast<int64_t>(index);
}

/// Weights of the elements from `first` on.
struct Taps {
  int64_t first = 0;
  std::vector<double> weights;
};

/// Cubic convolution kernel (Keys 1981) at the fraction t between elements 1 and 2 of four.
std::vector<double> cubic_weights(double t, double a) {
  auto near = [a](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  auto far = [a](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(1 + t), near(t), near(1 - t), far(2 - t)};
}

Taps taps_at(const Attributes& attributes, int64_t i, int64_t in, int64_t out, double scale) {
  double position = source_position(attributes.text("coordinate"), i, in, out, scale);
  position = std::clamp(position, -2.0, static_cast<double>(in) + 1.0);  // beyond that only edges are seen
  const std::string& mode = attributes.text("mode");
  if (mode == "nearest") return {nearest_index(attributes.text("nearest"), position), {1}};
  double base = std::floor(position), t = position - base;
  if (mode == "linear") return {static_cast<int64_t>(base), {1 - t, t}};
  Taps taps{static_cast<int64_t>(base) - 1, cubic_weights(t, attributes.real("cubic_coeff_a"))};
  if (!attributes.boolean("exclude_outside")) return taps;
  double sum = 0;
  for (size_t k = 0; k < 4; ++k) {
    int64_t index = taps.first + static_cast<int64_t>(k);
    if (index < 0 || index >= in) taps.weights[k] = 0;
    sum += taps.weights[k];
  }
  for (double& weight : taps.weights) weight /= sum;
  return taps;
}

/// Resizes one axis; indices outside are held at the edges.
std::vector<double> resize_axis(const std::vector<double>& x, const AxisView& view, int64_t out, double scale,
                                const Attributes& attributes) {
  std::vector<double> y(static_cast<size_t>(view.outer * out * view.inner), 0);
  for (int64_t i = 0; i < out; ++i) {
    Taps taps = taps_at(attributes, i, view.size, out, scale);
    for (size_t k = 0; k < taps.weights.size(); ++k) {
      if (taps.weights[k] == 0) continue;  // an element without weight has no part, even if infinite
      int64_t source = std::clamp<int64_t>(taps.first + static_cast<int64_t>(k), 0, view.size - 1);
      for (int64_t o = 0; o < view.outer; ++o)
        for (int64_t j = 0; j < view.inner; ++j)
          y[static_cast<size_t>((o * out + i) * view.inner + j)] +=
              taps.weights[k] * x[static_cast<size_t>((o * view.size + source) * view.inner + j)];
    }
  }
  return y;
}

void resize_nearest(const Tensor& x, const Attributes& attributes, Tensor& y) {
  std::vector<int64_t> in = to_ints(x.shape()), out = to_ints(y.shape()), strides = row_major_strides(in);
  std::vector<std::vector<int64_t>> offsets(in.size());
  for (size_t d = 0; d < in.size(); ++d)
    for (int64_t i = 0; i < out[d]; ++i) {
      bool same = in[d] == out[d] && attributes.reals("scales")[d] == 1;
      int64_t source = same ? i : taps_at(attributes, i, in[d], out[d], attributes.reals("scales")[d]).first;
      offsets[d].push_back(std::clamp<int64_t>(source, 0, in[d] - 1) * strides[d]);
    }
  dispatch(x.dtype(), [&]<typename T>() {
    const T* from = static_cast<const T*>(x.data());
    T* to = static_cast<T*>(y.mutable_data());
    for_each_index(out, [&](const std::vector<int64_t>& index) {
      int64_t offset = 0;
      for (size_t d = 0; d < index.size(); ++d) offset += offsets[d][static_cast<size_t>(index[d])];
      *to++ = from[offset];
    });
  });
}

void evaluate_resize(std::span<const Tensor> operands, const Attributes& attributes, std::span<Tensor> outputs) {
  if (outputs[0].elements() == 0) return;
  if (attributes.text("mode") == "nearest") return resize_nearest(operands[0], attributes, outputs[0]);
  Shape shape = operands[0].shape();
  std::vector<double> values;
  for (int64_t i = 0; i < operands[0].elements(); ++i) values.push_back(operands[0].at_double(i));
  for (size_t d = 0; d < shape.size(); ++d) {
    double scale = attributes.reals("scales")[d];
    int64_t out = outputs[0].shape()[d].value();
    if (scale == 1 && shape[d].is(out)) continue;
    values = resize_axis(values, around_axis(shape, static_cast<int64_t>(d)), out, scale, attributes);
    shape[d] = out;
  }
  dispatch(outputs[0].dtype(), [&]<typename T>() {
    T* to = static_cast<T*>(outputs[0].mutable_data());
    for (double value : values) *to++ = element::convert<T>(value);
  });
}

Work work_resize(std::span<const TensorType> operands, const Attributes& attributes,
                 std::span<const TensorType> outputs) {
  Work work = bytes_moved(operands, outputs);
  double taps = attributes.text("mode") == "nearest" ? 0 : attributes.text("mode") == "linear" ? 2 : 4, each = 0;
  for (double scale : attributes.reals("scales")) each += scale == 1 ? 0 : 2 * taps;
  work.flops = each * static_cast<double>(outputs[0].elements());
  return work;
}

}  // namespace

OpInfo resize_record() {
  return {.op = Op::resize,
          .summary = "x sampled at another size along every axis whose scale is not 1; edges are held (ONNX Resize 13)",
          .operands = {{"x"}},
          .attributes = {shape("shape"), reals("scales"), text("mode", "nearest", {"nearest", "linear", "cubic"}),
                         text("coordinate", "half_pixel",
                              {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel",
                               "half_pixel_symmetric", "tf_half_pixel_for_nn"}),
                         text("nearest", "round_prefer_floor",
                              {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}),
                         real("cubic_coeff_a", -0.75), boolean("exclude_outside", false)},
          .infer = infer_resize,
          .eval = evaluate_resize,
          .work = work_resize,
          .examples = {"resize(f32[1,1,2][1, 3], shape=[1,1,4], scales=[1, 1, 2]) == f32[1,1,4][1, 1, 3, 3]",
                       "resize(f32[2][1, 3], shape=[4], scales=[2], mode=\"linear\") == f32[4][1, 1.5, 2.5, 3]"}};
}

}  // namespace weft::ir::ops
