#include <algorithm>

#include "ir/ops/element.hpp"
#include "ir/ops/window.hpp"

namespace weft::ir::ops {
namespace {

/// Checks w [O, C/groups, spatial] against x and gives the groups.
int64_t check_filter(const TensorType& x, const TensorType& w, const Attributes& attributes) {
  check_numeric(x);
  check_same_dtype(x, w, "w");
  if (w.rank() != x.rank()) fail(ErrorCode::type_mismatch, "w is of rank {}, expected {} as x", w.rank(), x.rank());
  int64_t groups = attributes.integer("groups");
  if (groups < 1) fail(ErrorCode::invalid_argument, "attribute 'groups' is {}, expected 1 or more", groups);
  same_dim(x.shape[channel_axis(x, channels_last(attributes))], w.shape[1] * Dim(groups),
           "channels of x against those of w times groups");
  if (w.shape[0].is_constant() && w.shape[0].value() % groups != 0)
    fail(ErrorCode::type_mismatch, "{} output channels do not divide into {} groups", w.shape[0].text(), groups);
  return groups;
}

std::vector<TensorType> infer_conv(std::span<const TensorType> operands, const Attributes& attributes) {
  const TensorType &x = operands[0], &w = operands[1];
  size_t spatial = spatial_axes(x);
  check_filter(x, w, attributes);
  bool last = channels_last(attributes);
  Window window = window_of(attributes, spatial);
  Shape out = spatial_shape(x, last);
  for (size_t i = 0; i < spatial; ++i) out[i] = window_count(out[i], w.shape[2 + i], window, i, false);
  return {{x.dtype, arranged(x.shape[0], w.shape[0], out, last)}};
}

/// One convolution with all that its loops need. Filters are kept as [group][tap][channel][output channel of the
/// group].
template <typename T>
struct Convolution {
  using A = element::Accumulator<T>;
  std::vector<int64_t> in, out, kernel;
  int64_t groups, channels, outputs;  // channels and outputs of one group
  SpatialStrides x_strides, y_strides;
  Window window;
  std::vector<A> filters;

  Convolution(const Tensor& x, const Tensor& w, const Tensor& y, const Attributes& attributes) {
    bool last = channels_last(attributes);
    in = to_ints(spatial_shape(x.type(), last)), out = to_ints(spatial_shape(y.type(), last));
    kernel = to_ints(Shape(w.shape().begin() + 2, w.shape().end()));
    groups = attributes.integer("groups"), channels = w.shape()[1].value(), outputs = w.shape()[0].value() / groups;
    x_strides = spatial_strides(x.type(), last), y_strides = spatial_strides(y.type(), last);
    window = window_of(attributes, in.size());
    int64_t taps = element_count(to_shape(kernel));
    const T* from = static_cast<const T*>(w.data());
    filters.resize(static_cast<size_t>(w.elements()));
    for (int64_t g = 0; g < groups; ++g)
      for (int64_t o = 0; o < outputs; ++o)
        for (int64_t c = 0; c < channels; ++c)
          for (int64_t t = 0; t < taps; ++t)
            filters[static_cast<size_t>(((g * taps + t) * channels + c) * outputs + o)] = element::load_wide(*from++);
  }

  /// The sums of one group at one output position. Padding is zeros, multiplied like any other element.
  void sum_at(const T* x, int64_t group, const std::vector<int64_t>& position, std::vector<A>& sums) const {
    std::fill(sums.begin(), sums.end(), A{0});
    const A* filter = filters.data() + group * static_cast<int64_t>(filters.size()) / groups;
    for_each_index(kernel, [&](const std::vector<int64_t>& tap) {
      int64_t offset = group * channels * x_strides.c;
      bool inside = true;
      for (size_t d = 0; d < tap.size(); ++d) {
        int64_t i = position[d] * window.strides[d] - window.low[d] + tap[d] * window.dilations[d];
        inside &= i >= 0 && i < in[d];
        offset += i * x_strides.spatial[d];
      }
      for (int64_t c = 0; c < channels; ++c, filter += outputs) {
        A value = inside ? element::load_wide(x[offset + c * x_strides.c]) : A{0};
        for (int64_t o = 0; o < outputs; ++o) sums[static_cast<size_t>(o)] += value * filter[o];
      }
    });
  }

  void run(const T* x, T* y, int64_t batch) const {
    std::vector<A> sums(static_cast<size_t>(outputs));
    for (int64_t n = 0; n < batch; ++n)
      for (int64_t g = 0; g < groups; ++g)
        for_each_index(out, [&](const std::vector<int64_t>& position) {
          sum_at(x + n * x_strides.n, g, position, sums);
          T* to = y + n * y_strides.n + g * outputs * y_strides.c + dot(position, y_strides.spatial);
          for (int64_t o = 0; o < outputs; ++o) to[o * y_strides.c] = element::convert<T>(sums[static_cast<size_t>(o)]);
        });
  }
};

void evaluate_conv(std::span<const Tensor> operands, const Attributes& attributes, std::span<Tensor> outputs) {
  dispatch(operands[0].dtype(), [&]<typename T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      if (outputs[0].elements() == 0) return;
      Convolution<T>(operands[0], operands[1], outputs[0], attributes)
          .run(static_cast<const T*>(operands[0].data()), static_cast<T*>(outputs[0].mutable_data()),
               outputs[0].shape()[0].value());
    }
  });
}

Work work_conv(std::span<const TensorType> operands, const Attributes&, std::span<const TensorType> outputs) {
  Work work = bytes_moved(operands, outputs);
  const TensorType& w = operands[1];
  double taps = w.shape[0].is(0) ? 0 : static_cast<double>(w.elements()) / static_cast<double>(w.shape[0].value());
  work.flops = 2 * taps * static_cast<double>(outputs[0].elements());
  return work;
}

}  // namespace

OpInfo conv_record() {
  return {.op = Op::conv,
          .summary =
              "cross-correlation of x [N,C,spatial] with w [O,C/groups,spatial], zero padding, no bias (ONNX Conv 11)",
          .operands = {{"x"}, {"w"}},
          .attributes = window_specs({}, {integer("groups", 1)}),
          .infer = infer_conv,
          .eval = evaluate_conv,
          .work = work_conv,
          .normalize = normalize_window,
          .examples = {"conv(f32[1,1,3][1, 2, 3], f32[1,1,2][1, 10]) == f32[1,1,2][21, 32]",
                       "conv(f32[1,1,3][1, 2, 3], f32[1,1,2][1, 10], strides=[2], pads=[1,0]) == f32[1,1,2][10, 32]"}};
}

}  // namespace weft::ir::ops
