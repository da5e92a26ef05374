// reduce_sum, reduce_mean, reduce_max, reduce_min, reduce_prod.
#include <algorithm>

#include "ir/ops/element.hpp"
#include "ir/ops/indexing.hpp"
#include "ir/ops/record.hpp"

namespace weft::ir::ops {
namespace {

enum class Reduction { sum, mean, max, min, prod };
constexpr bool is_order(Reduction kind) { return kind == Reduction::max || kind == Reduction::min; }

template <Reduction kKind>
std::vector<TensorType> infer_reduce(std::span<const TensorType> operands, const Attributes& attributes) {
  const TensorType& x = operands[0];
  if (!is_order(kKind)) check_numeric(x);
  std::vector<int64_t> axes = normal_axes(attributes.ints("axes"), x.rank());
  TensorType out{x.dtype, {}};
  for (size_t i = 0; i < x.rank(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(i)))
      out.shape.push_back(x.shape[i]);
    else if (attributes.boolean("keepdims"))
      out.shape.push_back(1);
  }
  return {out};
}

/// What is held for each result while elements arrive: the dtype itself for max and min, else a wide sum or product.
template <typename T>
using Ordered = std::conditional_t<std::is_same_v<T, bool>, uint8_t, element::Compute<T>>;
template <typename T, Reduction kKind>
using Held = std::conditional_t<is_order(kKind), Ordered<T>, element::Accumulator<T>>;

template <typename T, Reduction kKind>
Held<T, kKind> initial() {
  using H = Held<T, kKind>;
  using Limits = std::numeric_limits<H>;
  if constexpr (kKind == Reduction::max)
    return Limits::has_infinity ? static_cast<H>(-Limits::infinity()) : Limits::lowest();
  else if constexpr (kKind == Reduction::min)
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  else
    return kKind == Reduction::prod ? H{1} : H{0};
}

template <typename T, Reduction kKind>
Held<T, kKind> joined(Held<T, kKind> held, T value) {
  if constexpr (kKind == Reduction::max)
    return element::max<Ordered<T>>(held, element::load(value));
  else if constexpr (kKind == Reduction::min)
    return element::min<Ordered<T>>(held, element::load(value));
  else if constexpr (kKind == Reduction::prod)
    return held * element::load_wide(value);
  else
    return held + element::load_wide(value);
}

template <typename T, Reduction kKind>
T finished(Held<T, kKind> held, int64_t count) {
  if constexpr (kKind != Reduction::mean)
    return element::convert<T>(held);
  else if constexpr (std::is_same_v<Held<T, kKind>, double>)
    return element::convert<T>(held / static_cast<double>(count));
  else if (count == 0)
    fail(ErrorCode::invalid_argument, "mean of no integers");
  else if constexpr (std::is_signed_v<T>)
    return static_cast<T>(static_cast<int64_t>(held) / count);
  else
    return static_cast<T>(held / static_cast<uint64_t>(count));
}

template <typename T, Reduction kKind>
void reduce(const Tensor& x, const std::vector<int64_t>& axes, Tensor& out) {
  std::vector<int64_t> dims = to_ints(x.shape()), kept = dims;
  int64_t count = 1;
  for (int64_t axis : axes) {
    kept[static_cast<size_t>(axis)] = 1;
    count *= dims[static_cast<size_t>(axis)];
  }
  std::vector<int64_t> strides = broadcast_strides(kept, dims);
  std::vector<Held<T, kKind>> held(static_cast<size_t>(out.elements()), initial<T, kKind>());
  const T* value = static_cast<const T*>(x.data());
  for_each_index(dims, [&](const std::vector<int64_t>& index) {
    auto& slot = held[static_cast<size_t>(dot(index, strides))];
    slot = joined<T, kKind>(slot, *value++);
  });
  T* result = static_cast<T*>(out.mutable_data());
  for (const auto& h : held) *result++ = finished<T, kKind>(h, count);
}

template <Reduction kKind>
void evaluate_reduce(std::span<const Tensor> operands, const Attributes& attributes, std::span<Tensor> outputs) {
  std::vector<int64_t> axes = normal_axes(attributes.ints("axes"), operands[0].type().rank());
  dispatch(operands[0].dtype(), [&]<typename T>() {
    if constexpr (is_order(kKind) || !std::is_same_v<T, bool>) reduce<T, kKind>(operands[0], axes, outputs[0]);
  });
}

template <Reduction kKind>
OpInfo record(Op op, std::string_view summary, std::string_view gradient, std::string_view example) {
  return {.op = op,
          .summary = summary,
          .operands = {{"x"}},
          .attributes = {ints("axes"), boolean("keepdims", true)},
          .traits = kReduction,
          .infer = infer_reduce<kKind>,
          .eval = evaluate_reduce<kKind>,
          .work = work_per_input<1>,
          .normalize = normalize_axes,
          .gradient = gradient,
          .examples = {example}};
}

}  // namespace

OpInfo reduce_sum_record() {
  return record<Reduction::sum>(Op::reduce_sum, "sum over axes; integers wrap; of no axes x itself (ONNX ReduceSum)",
                                "spread(dy, shape(x), axes)",
                                "reduce_sum(f32[2,2][1, 2, 3, 4], axes=[1]) == f32[2,1][3, 7]");
}
OpInfo reduce_mean_record() {
  return record<Reduction::mean>(Op::reduce_mean, "mean over axes; integers truncate; of nothing NaN (ONNX ReduceMean)",
                                 "spread(dy, shape(x), axes) / size(x, axes)",
                                 "reduce_mean(f32[2,2][1, 2, 3, 4], axes=[0,1], keepdims=false) == f32[][2.5]");
}
OpInfo reduce_max_record() {
  return record<Reduction::max>(
      Op::reduce_max, "greatest over axes; NaN propagates; of nothing -inf or the lowest integer (ONNX ReduceMax 20)",
      "spread(dy, shape(x), axes) * cast(equal(x, spread(y, shape(x), axes)), to=dtype(x)) / "
      "spread(reduce_sum(cast(equal(x, spread(y, shape(x), axes)), to=dtype(x)), axes=axes, keepdims=keepdims), "
      "shape(x), axes)",
      "reduce_max(f32[2,2][1, 2, 3, 4], axes=[0]) == f32[1,2][3, 4]");
}
OpInfo reduce_min_record() {
  return record<Reduction::min>(
      Op::reduce_min, "least over axes; NaN propagates; of nothing inf or the highest integer (ONNX ReduceMin 20)",
      "spread(dy, shape(x), axes) * cast(equal(x, spread(y, shape(x), axes)), to=dtype(x)) / "
      "spread(reduce_sum(cast(equal(x, spread(y, shape(x), axes)), to=dtype(x)), axes=axes, keepdims=keepdims), "
      "shape(x), axes)",
      "reduce_min(f32[2,2][1, 2, 3, 4], axes=[0]) == f32[1,2][1, 2]");
}
OpInfo reduce_prod_record() {
  return record<Reduction::prod>(Op::reduce_prod, "product over axes; integers wrap (ONNX ReduceProd)", "",
                                 "reduce_prod(f32[2,2][1, 2, 3, 4], axes=[1]) == f32[2,1][2, 12]");
}

}  // namespace weft::ir::ops
