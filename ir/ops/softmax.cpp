// softmax and log_softmax, the greatest element subtracted first.
#include "ir/ops/element.hpp"
#include "ir/ops/indexing.hpp"
#include "ir/ops/record.hpp"

namespace weft::ir::ops {
namespace {

std::vector<TensorType> infer_softmax(std::span<const TensorType> operands, const Attributes& attributes) {
  check_float(operands[0]);
  normal_axis(attributes.integer("axis"), operands[0].rank());
  return {operands[0]};
}

template <bool kLog>
void softmax_lane(std::vector<double>& lane) {
  double greatest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (double v : lane) greatest = element::max(greatest, v);
  for (double v : lane) sum += std::exp(v - greatest);
  for (double& v : lane) v = kLog ? v - greatest - std::log(sum) : std::exp(v - greatest) / sum;
}

template <bool kLog>
void evaluate_softmax(std::span<const Tensor> operands, const Attributes& attributes, std::span<Tensor> outputs) {
  AxisView view = around_axis(operands[0].shape(), normal_axis(attributes.integer("axis"), operands[0].type().rank()));
  std::vector<double> lane(static_cast<size_t>(view.size));
  dispatch(operands[0].dtype(), [&]<typename T>() {
    for (int64_t i = 0; i < view.outer * view.inner; ++i) {
      int64_t start = i / view.inner * view.size * view.inner + i % view.inner;
      const T* x = static_cast<const T*>(operands[0].data()) + start;
      T* y = static_cast<T*>(outputs[0].mutable_data()) + start;
      for (int64_t j = 0; j < view.size; ++j)
        lane[static_cast<size_t>(j)] = static_cast<double>(element::load(x[j * view.inner]));
      softmax_lane<kLog>(lane);
      for (int64_t j = 0; j < view.size; ++j) y[j * view.inner] = element::convert<T>(lane[static_cast<size_t>(j)]);
    }
  });
}

}  // namespace

OpInfo softmax_record() {
  return {.op = Op::softmax,
          .summary = "exp(x - max) / sum(exp(x - max)) along an axis (ONNX Softmax 13)",
          .operands = {{"x"}},
          .attributes = {integer("axis", -1)},
          .infer = infer_softmax,
          .eval = evaluate_softmax<false>,
          .work = work_per_input<14>,
          .normalize = normalize_axis,
          .gradient = "y * (dy - reduce_sum(dy * y, axes=[axis]))",
          .examples = {"softmax(f32[1,2][-1000, -1000], axis=1) == f32[1,2][0.5, 0.5]"}};
}

OpInfo log_softmax_record() {
  return {.op = Op::log_softmax,
          .summary = "x - max - log(sum(exp(x - max))) along an axis (ONNX LogSoftmax 13)",
          .operands = {{"x"}},
          .attributes = {integer("axis", -1)},
          .infer = infer_softmax,
          .eval = evaluate_softmax<true>,
          .work = work_per_input<14>,
          .normalize = normalize_axis,
          .gradient = "dy - exp(y) * reduce_sum(dy, axes=[axis])",
          .examples = {"log_softmax(f32[2][1000, 0], axis=0) == f32[2][0, -1000]"}};
}

}  // namespace weft::ir::ops
