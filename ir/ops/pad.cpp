#include <cstring>

#include "ir/ops/indexing.hpp"
#include "ir/ops/record.hpp"

namespace weft::ir::ops {
namespace {

std::vector<TensorType> infer_pad(std::span<const TensorType> operands, const Attributes& attributes) {
  const TensorType &x = operands[0], &value = operands[1];
  check_same_dtype(x, value, "value");
  if (is_static(value.shape) && value.elements() != 1)
    fail(ErrorCode::type_mismatch, "operand value is {}, expected one element", to_string(value));
  const std::vector<int64_t>&low = attributes.ints("low"), &high = attributes.ints("high");
  check_length(low.size(), x.rank(), "low");
  check_length(high.size(), x.rank(), "high");
  bool constant = attributes.text("mode") == "constant";
  TensorType out{x.dtype, {}};
  for (size_t i = 0; i < x.rank(); ++i) {
    constexpr int64_t kFar = int64_t{1} << 62;
    if (low[i] < -kFar || low[i] > kFar || high[i] < -kFar || high[i] > kFar)
      fail(ErrorCode::out_of_range, "padding {} and {} of axis {} is beyond 2^62", low[i], high[i], i);
    Dim size = x.shape[i] + low[i] + high[i];
    if (size.is_constant() && size.value() < 0)
      fail(ErrorCode::invalid_argument, "axis {} of size {} is cropped by more than that: {} and {}", i,
           x.shape[i].text(), low[i], high[i]);
    if (!constant && x.shape[i].is(0) && !size.is(0))
      fail(ErrorCode::invalid_argument, "axis {} is empty: nothing to pad it from", i);
    out.shape.push_back(size);
  }
  return {out};
}

int64_t floor_mod(int64_t a, int64_t b) { return (a % b + b) % b; }

/// The element of an axis of `size` that stands at `index`, which may lie outside; -1 for the padding value.
int64_t source_index(int64_t index, int64_t size, std::string_view mode) {
  if (index >= 0 && index < size) return index;
  if (mode == "constant") return -1;
  if (mode == "edge") return index < 0 ? 0 : size - 1;
  if (mode == "wrap") return floor_mod(index, size);
  if (size == 1) return 0;
  int64_t period = 2 * (size - 1), folded = floor_mod(index, period);
  return folded < size ? folded : period - folded;
}

void evaluate_pad(std::span<const Tensor> operands, const Attributes& attributes, std::span<Tensor> outputs) {
  std::vector<int64_t> dims = to_ints(outputs[0].shape()), sizes = to_ints(operands[0].shape());
  std::vector<int64_t> strides = row_major_strides(sizes);
  std::vector<std::vector<int64_t>> sources(dims.size());
  if (outputs[0].elements() == 0) return;
  for (size_t d = 0; d < dims.size(); ++d)
    for (int64_t i = 0; i < dims[d]; ++i)
      sources[d].push_back(source_index(i - attributes.ints("low")[d], sizes[d], attributes.text("mode")));
  size_t bytes = size_of(outputs[0].dtype());
  char* out = static_cast<char*>(outputs[0].mutable_data());
  for_each_index(dims, [&](const std::vector<int64_t>& index) {
    int64_t offset = 0;
    bool inside = true;
    for (size_t d = 0; d < dims.size(); ++d) {
      int64_t source = sources[d][static_cast<size_t>(index[d])];
      inside &= source >= 0;
      offset += source * strides[d];
    }
    const void* from = inside ? static_cast<const char*>(operands[0].data()) + offset * static_cast<int64_t>(bytes)
                              : operands[1].data();
    std::memcpy(out, from, bytes);
    out += bytes;
  });
}

}  // namespace

OpInfo pad_record() {
  return {.op = Op::pad,
          .summary = "x with `low` and `high` elements put before and after each axis; negative ones crop (ONNX Pad)",
          .operands = {{"x"}, {"value"}},
          .attributes = {ints("low"), ints("high"), text("mode", "constant", {"constant", "reflect", "edge", "wrap"})},
          .traits = kMovement,
          .infer = infer_pad,
          .eval = evaluate_pad,
          .gradient = "if(mode, \"constant\", pad(dy, 0, low=neg(low), high=neg(high)), none); _",
          .examples = {"pad(f32[2][1, 2], f32[][0], low=[1], high=[2]) == f32[5][0, 1, 2, 0, 0]",
                       "pad(f32[3][1, 2, 3], f32[][0], low=[2], high=[-1], mode=\"reflect\") == f32[4][3, 2, 1, 2]"}};
}

}  // namespace weft::ir::ops
