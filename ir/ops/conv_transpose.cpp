#include <algorithm>

#include "ir/ops/element.hpp"
#include "ir/ops/window.hpp"

namespace weft::ir::ops {
namespace {

std::vector<int64_t> output_padding(const Attributes& attributes, const Window& window) {
  std::vector<int64_t> extra = attributes.ints("output_padding");
  if (extra.empty()) extra.assign(window.strides.size(), 0);
  check_length(extra.size(), window.strides.size(), "output_padding");
  for (size_t i = 0; i < extra.size(); ++i)
    if (extra[i] < 0 || extra[i] >= std::max(window.strides[i], window.dilations[i]))
      fail(ErrorCode::invalid_argument,
           "attribute 'output_padding' has the entry {}, expected 0 or more and below the stride or dilation",
           extra[i]);
  return extra;
}

void normalize_conv_transpose(Attributes& attributes, std::span<const TensorType> operands) {
  normalize_window(attributes, operands);
  attributes.set("output_padding", output_padding(attributes, window_of(attributes, spatial_axes(operands[0]))));
}

/// Checks w [C, O/groups, spatial] against x.
void check_filter(const TensorType& x, const TensorType& w, const Attributes& attributes) {
  check_numeric(x);
  check_same_dtype(x, w, "w");
  if (w.rank() != x.rank()) fail(ErrorCode::type_mismatch, "w is of rank {}, expected {} as x", w.rank(), x.rank());
  int64_t groups = attributes.integer("groups");
  if (groups < 1) fail(ErrorCode::invalid_argument, "attribute 'groups' is {}, expected 1 or more", groups);
  Dim channels =
      same_dim(x.shape[channel_axis(x, channels_last(attributes))], w.shape[0], "channels of x against those of w");
  if (channels.is_constant() && channels.value() % groups != 0)
    fail(ErrorCode::type_mismatch, "{} channels do not divide into {} groups", channels.text(), groups);
}

std::vector<TensorType> infer_conv_transpose(std::span<const TensorType> operands, const Attributes& attributes) {
  const TensorType &x = operands[0], &w = operands[1];
  size_t spatial = spatial_axes(x);
  check_filter(x, w, attributes);
  bool last = channels_last(attributes);
  Window window = window_of(attributes, spatial);
  std::vector<int64_t> extra = output_padding(attributes, window);
  Shape out = spatial_shape(x, last);
  for (size_t i = 0; i < spatial; ++i) {
    Dim reach = Dim(window.dilations[i]) * (w.shape[2 + i] - 1) + 1;
    Dim in = out[i];
    out[i] = Dim(window.strides[i]) * (in - 1) + reach + extra[i] - window.low[i] - window.high[i];
    if (in.is(0) || (out[i].is_constant() && out[i].value() < 0))
      fail(ErrorCode::type_mismatch, "spatial axis {} of size {} gives a result of size {}", i, in.text(),
           out[i].text());
  }
  return {{x.dtype, arranged(x.shape[0], w.shape[1] * Dim(attributes.integer("groups")), out, last)}};
}

/// Scatters every element of x, times its filters, into sums [spatial][O of the group] that are rounded once at the
/// end.
template <typename T>
struct Scatter {
  using A = element::Accumulator<T>;
  std::vector<int64_t> in, out, kernel;
  int64_t groups, channels, outputs;  // channels and outputs of one group
  SpatialStrides x_strides, y_strides;
  Window window;
  std::vector<A> filters;  // [C][tap][O of the group]

  Scatter(const Tensor& x, const Tensor& w, const Tensor& y, const Attributes& attributes) {
    bool last = channels_last(attributes);
    in = to_ints(spatial_shape(x.type(), last)), out = to_ints(spatial_shape(y.type(), last));
    kernel = to_ints(Shape(w.shape().begin() + 2, w.shape().end()));
    groups = attributes.integer("groups"), channels = w.shape()[0].value() / groups, outputs = w.shape()[1].value();
    x_strides = spatial_strides(x.type(), last), y_strides = spatial_strides(y.type(), last);
    window = window_of(attributes, in.size());
    int64_t taps = element_count(to_shape(kernel));
    const T* from = static_cast<const T*>(w.data());
    filters.resize(static_cast<size_t>(w.elements()));
    for (int64_t c = 0; c < groups * channels; ++c)
      for (int64_t o = 0; o < outputs; ++o)
        for (int64_t t = 0; t < taps; ++t)
          filters[static_cast<size_t>((c * taps + t) * outputs + o)] = element::load_wide(*from++);
  }

  void scatter(A value, const A* filter, const std::vector<int64_t>& position, std::vector<A>& sums) const {
    for_each_index(kernel, [&](const std::vector<int64_t>& tap) {
      int64_t at = 0;
      bool inside = true;
      for (size_t d = 0; d < tap.size(); ++d) {
        int64_t i = position[d] * window.strides[d] - window.low[d] + tap[d] * window.dilations[d];
        inside &= i >= 0 && i < out[d];
        at = at * out[d] + i;
      }
      if (inside)
        for (int64_t o = 0; o < outputs; ++o) sums[static_cast<size_t>(at * outputs + o)] += value * filter[o];
      filter += outputs;
    });
  }

  void run(const T* x, T* y, int64_t batch) const {
    std::vector<A> sums(static_cast<size_t>(element_count(to_shape(out)) * outputs));
    int64_t filter_size = element_count(to_shape(kernel)) * outputs;
    for (int64_t n = 0; n < batch; ++n)
      for (int64_t g = 0; g < groups; ++g) {
        std::fill(sums.begin(), sums.end(), A{0});
        for (int64_t c = g * channels; c < (g + 1) * channels; ++c)
          for_each_index(in, [&](const std::vector<int64_t>& position) {
            A value = element::load_wide(x[n * x_strides.n + c * x_strides.c + dot(position, x_strides.spatial)]);
            scatter(value, filters.data() + c * filter_size, position, sums);
          });
        const A* sum = sums.data();
        for_each_index(out, [&](const std::vector<int64_t>& position) {
          T* to = y + n * y_strides.n + g * outputs * y_strides.c + dot(position, y_strides.spatial);
          for (int64_t o = 0; o < outputs; ++o) to[o * y_strides.c] = element::convert<T>(*sum++);
        });
      }
  }
};

void evaluate_conv_transpose(std::span<const Tensor> operands, const Attributes& attributes,
                             std::span<Tensor> outputs) {
  dispatch(operands[0].dtype(), [&]<typename T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      if (outputs[0].elements() == 0) return;
      Scatter<T>(operands[0], operands[1], outputs[0], attributes)
          .run(static_cast<const T*>(operands[0].data()), static_cast<T*>(outputs[0].mutable_data()),
               outputs[0].shape()[0].value());
    }
  });
}

Work work_conv_transpose(std::span<const TensorType> operands, const Attributes&, std::span<const TensorType> outputs) {
  Work work = bytes_moved(operands, outputs);
  const TensorType& w = operands[1];
  double taps = w.shape[0].is(0) ? 0 : static_cast<double>(w.elements()) / static_cast<double>(w.shape[0].value());
  work.flops = 2 * taps * static_cast<double>(operands[0].elements());
  return work;
}

}  // namespace

OpInfo conv_transpose_record() {
  return {.op = Op::conv_transpose,
          .summary = "the transpose (adjoint) of conv: w is [C,O/groups,spatial], no bias (ONNX ConvTranspose 11)",
          .operands = {{"x"}, {"w"}},
          .attributes = window_specs({}, {ints_or_default("output_padding"), integer("groups", 1)}),
          .infer = infer_conv_transpose,
          .eval = evaluate_conv_transpose,
          .work = work_conv_transpose,
          .normalize = normalize_conv_transpose,
          .examples = {"conv_transpose(f32[1,1,2][1, 2], f32[1,1,2][1, 10], strides=[2]) == f32[1,1,4][1, 10, 2, 20]"}};
}

}  // namespace weft::ir::ops
