// max_pool and avg_pool.
#include "ir/ops/element.hpp"
#include "ir/ops/window.hpp"

namespace weft::ir::ops {
namespace {

std::vector<TensorType> infer_pool(const TensorType& x, const Attributes& attributes) {
  size_t spatial = spatial_axes(x);
  const std::vector<int64_t>& kernel = attributes.ints("kernel");
  check_length(kernel.size(), spatial, "kernel");
  bool last = channels_last(attributes);
  Window window = window_of(attributes, spatial);
  Shape out = spatial_shape(x, last);
  for (size_t i = 0; i < spatial; ++i)
    out[i] = window_count(out[i], kernel[i], window, i, attributes.boolean("ceil_mode"));
  return {{x.dtype, arranged(x.shape[0], x.shape[channel_axis(x, last)], out, last)}};
}

std::vector<TensorType> infer_max_pool(std::span<const TensorType> operands, const Attributes& attributes) {
  check_numeric(operands[0]);
  return infer_pool(operands[0], attributes);
}

std::vector<TensorType> infer_avg_pool(std::span<const TensorType> operands, const Attributes& attributes) {
  check_float(operands[0]);
  return infer_pool(operands[0], attributes);
}

template <typename T>
struct Maximum {
  using H = element::Compute<T>;
  using Limits = std::numeric_limits<H>;
  H held = Limits::has_infinity ? static_cast<H>(-Limits::infinity()) : Limits::lowest();
  void take(T value) { held = element::max(held, element::load(value)); }
  T result(int64_t) const { return element::convert<T>(held); }
};

template <typename T>
struct Average {
  double sum = 0;
  void take(T value) { sum += element::load_wide(value); }
  T result(int64_t count) const { return element::convert<T>(sum / static_cast<double>(count)); }
};

/// Visits every window: elements inside x are taken; the result sees how many elements the window has, with padding or
/// not. What ceil_mode adds beyond the high padding is never counted.
template <typename T, template <typename> typename Held>
void pool(const Tensor& x, const Attributes& attributes, bool count_padding, Tensor& y) {
  bool last = channels_last(attributes);
  std::vector<int64_t> in = to_ints(spatial_shape(x.type(), last)), out = to_ints(spatial_shape(y.type(), last));
  const std::vector<int64_t>& kernel = attributes.ints("kernel");
  Window window = window_of(attributes, in.size());
  SpatialStrides from = spatial_strides(x.type(), last), to = spatial_strides(y.type(), last);
  int64_t batch = x.shape()[0].value(), channels = x.shape()[channel_axis(x.type(), last)].value();
  const T* source = static_cast<const T*>(x.data());
  T* target = static_cast<T*>(y.mutable_data());
  for_each_index({batch, channels}, [&](const std::vector<int64_t>& plane) {
    const T* base = source + plane[0] * from.n + plane[1] * from.c;
    for_each_index(out, [&](const std::vector<int64_t>& position) {
      Held<T> held;
      int64_t count = 0;
      for_each_index(kernel, [&](const std::vector<int64_t>& tap) {
        int64_t offset = 0;
        bool inside = true, padded = true;
        for (size_t d = 0; d < tap.size(); ++d) {
          int64_t i = position[d] * window.strides[d] - window.low[d] + tap[d] * window.dilations[d];
          inside &= i >= 0 && i < in[d];
          padded &= i < in[d] + window.high[d];
          offset += i * from.spatial[d];
        }
        if (inside) held.take(base[offset]);
        count += count_padding ? padded : inside;
      });
      target[plane[0] * to.n + plane[1] * to.c + dot(position, to.spatial)] = held.result(count);
    });
  });
}

void evaluate_max_pool(std::span<const Tensor> operands, const Attributes& attributes, std::span<Tensor> outputs) {
  dispatch(operands[0].dtype(), [&]<typename T>() {
    if constexpr (!std::is_same_v<T, bool>) pool<T, Maximum>(operands[0], attributes, false, outputs[0]);
  });
}

void evaluate_avg_pool(std::span<const Tensor> operands, const Attributes& attributes, std::span<Tensor> outputs) {
  dispatch(operands[0].dtype(), [&]<typename T>() {
    if constexpr (DTypeOf<T>::value >= DType::f16)
      pool<T, Average>(operands[0], attributes, attributes.boolean("count_include_pad"), outputs[0]);
  });
}

Work work_pool(std::span<const TensorType> operands, const Attributes& attributes,
               std::span<const TensorType> outputs) {
  Work work = bytes_moved(operands, outputs);
  work.flops = static_cast<double>(outputs[0].elements()) *
               static_cast<double>(element_count(to_shape(attributes.ints("kernel"))));
  return work;
}

}  // namespace

OpInfo max_pool_record() {
  return {.op = Op::max_pool,
          .summary = "greatest of each window; padding counts as nothing; NaN propagates (ONNX MaxPool 12)",
          .operands = {{"x"}},
          .attributes = window_specs({ints("kernel")}, {boolean("ceil_mode", false)}),
          .infer = infer_max_pool,
          .eval = evaluate_max_pool,
          .work = work_pool,
          .normalize = normalize_window,
          .examples = {"max_pool(f32[1,1,4][1, 3, 2, 4], kernel=[2], strides=[2]) == f32[1,1,2][3, 4]"}};
}

OpInfo avg_pool_record() {
  return {
      .op = Op::avg_pool,
      .summary = "mean of each window, over its elements inside x or also over padding (ONNX AveragePool 19)",
      .operands = {{"x"}},
      .attributes = window_specs({ints("kernel")}, {boolean("ceil_mode", false), boolean("count_include_pad", false)}),
      .infer = infer_avg_pool,
      .eval = evaluate_avg_pool,
      .work = work_pool,
      .normalize = normalize_window,
      .examples = {"avg_pool(f32[1,1,4][1, 3, 2, 4], kernel=[2], strides=[2]) == f32[1,1,2][2, 3]"}};
}

}  // namespace weft::ir::ops
