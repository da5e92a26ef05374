// argmax, argmin, cumsum: along one axis, in order.
#include "ir/ops/element.hpp"
#include "ir/ops/indexing.hpp"
#include "ir/ops/record.hpp"

namespace weft::ir::ops {
namespace {

std::vector<TensorType> infer_arg(std::span<const TensorType> operands, const Attributes& attributes) {
  const TensorType& x = operands[0];
  check_numeric(x);
  int64_t axis = normal_axis(attributes.integer("axis"), x.rank());
  TensorType out{DType::i64, x.shape};
  if (x.shape[static_cast<size_t>(axis)].is(0))
    fail(ErrorCode::invalid_argument, "axis {} is empty: it has no extreme", axis);
  if (attributes.boolean("keepdims"))
    out.shape[static_cast<size_t>(axis)] = 1;
  else
    out.shape.erase(out.shape.begin() + axis);
  return {out};
}

/// Whether `value` takes the place of `best`: NaN beats every number, among equals the first or the last wins.
template <typename T>
bool beats(T value, T best, bool greatest, bool last) {
  if constexpr (element::kFloating<T>)
    if (std::isnan(value) || std::isnan(best)) return std::isnan(value) && (!std::isnan(best) || last);
  if (value == best) return last;
  return greatest ? value > best : value < best;
}

template <bool kGreatest>
void evaluate_arg(std::span<const Tensor> operands, const Attributes& attributes, std::span<Tensor> outputs) {
  AxisView view = around_axis(operands[0].shape(), normal_axis(attributes.integer("axis"), operands[0].type().rank()));
  bool last = attributes.boolean("select_last");
  int64_t* out = static_cast<int64_t*>(outputs[0].mutable_data());
  dispatch(operands[0].dtype(), [&]<typename T>() {
    const T* x = static_cast<const T*>(operands[0].data());
    for (int64_t o = 0; o < view.outer; ++o)
      for (int64_t i = 0; i < view.inner; ++i) {
        const T* lane = x + o * view.size * view.inner + i;
        int64_t best = 0;
        for (int64_t j = 1; j < view.size; ++j)
          if (beats(element::load(lane[j * view.inner]), element::load(lane[best * view.inner]), kGreatest, last))
            best = j;
        *out++ = best;
      }
  });
}

template <bool kGreatest>
OpInfo arg_record(Op op, std::string_view summary, std::string_view example) {
  return {.op = op,
          .summary = summary,
          .operands = {{"x"}},
          .attributes = {integer("axis", 0), boolean("keepdims", true), boolean("select_last", false)},
          .traits = kPiecewiseConstant,
          .infer = infer_arg,
          .eval = evaluate_arg<kGreatest>,
          .work = work_per_input<1>,
          .normalize = normalize_axis,
          .examples = {example}};
}

std::vector<TensorType> infer_cumsum(std::span<const TensorType> operands, const Attributes& attributes) {
  check_numeric(operands[0]);
  normal_axis(attributes.integer("axis"), operands[0].rank());
  return {operands[0]};
}

void evaluate_cumsum(std::span<const Tensor> operands, const Attributes& attributes, std::span<Tensor> outputs) {
  AxisView view = around_axis(operands[0].shape(), normal_axis(attributes.integer("axis"), operands[0].type().rank()));
  bool exclusive = attributes.boolean("exclusive"), reverse = attributes.boolean("reverse");
  dispatch(operands[0].dtype(), [&]<typename T>() {
    for (int64_t lane = 0; lane < view.outer * view.inner; ++lane) {
      int64_t start = lane / view.inner * view.size * view.inner + lane % view.inner;
      const T* x = static_cast<const T*>(operands[0].data()) + start;
      T* y = static_cast<T*>(outputs[0].mutable_data()) + start;
      element::Accumulator<T> sum{0};
      for (int64_t j = 0; j < view.size; ++j) {
        int64_t at = (reverse ? view.size - 1 - j : j) * view.inner;
        auto before = sum;
        sum += element::load_wide(x[at]);
        y[at] = element::convert<T>(exclusive ? before : sum);
      }
    }
  });
}

}  // namespace

OpInfo argmax_record() {
  return arg_record<true>(Op::argmax,
                          "index of the greatest along an axis, NaN above all (ONNX ArgMax 13, numpy.argmax)",
                          "argmax(f32[2,2][1, 2, 4, 3], axis=1, keepdims=false) == i64[2][1, 0]");
}

OpInfo argmin_record() {
  return arg_record<false>(Op::argmin, "index of the least along an axis, NaN below all (ONNX ArgMin 13, numpy.argmin)",
                           "argmin(f32[2,2][1, 2, 4, 3], axis=1, keepdims=false) == i64[2][0, 1]");
}

OpInfo cumsum_record() {
  return {.op = Op::cumsum,
          .summary = "running sum along an axis, with or without the element itself, from either end (ONNX CumSum 14)",
          .operands = {{"x"}},
          .attributes = {integer("axis"), boolean("exclusive", false), boolean("reverse", false)},
          .infer = infer_cumsum,
          .eval = evaluate_cumsum,
          .work = work_per_input<1>,
          .normalize = normalize_axis,
          .gradient = "cumsum(dy, axis=axis, exclusive=exclusive, reverse=logical_not(reverse))",
          .examples = {"cumsum(f32[3][1, 2, 3], axis=0) == f32[3][1, 3, 6]",
                       "cumsum(f32[3][1, 2, 3], axis=0, exclusive=true, reverse=true) == f32[3][5, 3, 0]"}};
}

}  // namespace weft::ir::ops
