// Elementwise ops: everything that the lines of elementwise.inc have in common.
#include <algorithm>
#include <array>

#include "ir/ops/element.hpp"
#include "ir/ops/indexing.hpp"
#include "ir/ops/record.hpp"

namespace weft::ir::ops {
namespace {

enum class Domain { any, numeric, floating, integer, boolean, select };
enum class Result { same, boolean, target };

std::string_view described(Domain domain) {
  static constexpr std::string_view kNames[] = {"any dtype", "a number", "a float", "an integer", "bool", "any dtype"};
  return kNames[static_cast<int>(domain)];
}

constexpr bool allows(Domain domain, DType dtype) {
  bool half_or_float = dtype >= DType::f16, boolean_type = dtype == DType::boolean;
  switch (domain) {
    case Domain::numeric:
      return !boolean_type;
    case Domain::floating:
      return half_or_float;
    case Domain::integer:
      return !half_or_float && !boolean_type;
    case Domain::boolean:
      return boolean_type;
    case Domain::any:
    case Domain::select:
      break;
  }
  return true;
}

TensorType infer_type(Domain domain, Result result, std::span<const TensorType> operands,
                      const Attributes& attributes) {
  size_t first = domain == Domain::select ? 1 : 0;
  if (first == 1 && operands[0].dtype != DType::boolean)
    fail(ErrorCode::type_mismatch, "operand a must be bool, found {}", to_string(operands[0].dtype));
  DType dtype = operands[first].dtype;
  for (const TensorType& operand : operands.subspan(first))
    if (operand.dtype != dtype)
      fail(ErrorCode::type_mismatch, "operands of different dtypes: {} and {}", to_string(dtype),
           to_string(operand.dtype));
  if (!allows(domain, dtype))
    fail(ErrorCode::type_mismatch, "dtype {} where {} is expected", to_string(dtype), described(domain));
  Shape shape = operands[0].shape;
  for (const TensorType& operand : operands.subspan(1)) shape = broadcast(shape, operand.shape);
  if (result == Result::boolean) dtype = DType::boolean;
  if (result == Result::target) dtype = attributes.dtype("to");
  return {dtype, std::move(shape)};
}

/// One row of the output: elements `strides[k]` apart of each operand.
using RowFunction = void (*)(const void* const* operands, const int64_t* strides, void* out, int64_t n,
                             const double* p);

template <typename Element, Domain kDomain, typename S, typename O>
void row(const void* const* operands, const int64_t* strides, void* out, int64_t n, const double* p) {
  using T = element::Compute<S>;
  auto value = [&](int k, int64_t i) { return static_cast<T>(static_cast<const S*>(operands[k])[i * strides[k]]); };
  auto condition = [&](int64_t i) { return static_cast<T>(static_cast<const bool*>(operands[0])[i * strides[0]]); };
  auto store = [&](int64_t i, auto v) {
    if constexpr (std::is_same_v<O, bool> && std::is_same_v<decltype(v), bool>)
      static_cast<O*>(out)[i] = v;
    else
      static_cast<O*>(out)[i] = element::convert<O>(static_cast<T>(v));
  };
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (Element::kArity == 1)
      store(i, Element::apply(value(0, i), p));
    else if constexpr (Element::kArity == 2)
      store(i, Element::apply(value(0, i), value(1, i), p));
    else if constexpr (kDomain == Domain::select)
      store(i, Element::apply(condition(i), value(1, i), value(2, i), p));
    else
      store(i, Element::apply(value(0, i), value(1, i), value(2, i), p));
  }
}

template <typename Element, Domain kDomain, Result kResult>
RowFunction row_function(DType in, DType out) {
  return dispatch(in, [&]<typename S>() -> RowFunction {
    if constexpr (!allows(kDomain, DTypeOf<S>::value))
      return nullptr;
    else if constexpr (kResult == Result::target)
      return dispatch(out, []<typename O>() -> RowFunction { return &row<Element, kDomain, S, O>; });
    else
      return &row<Element, kDomain, S, std::conditional_t<kResult == Result::boolean, bool, S>>;
  });
}

std::array<double, 2> parameters(const std::vector<AttributeSpec>& specs, const Attributes& attributes) {
  std::array<double, 2> p{};
  for (size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].kind == AttributeKind::real) p.at(i) = attributes.real(specs[i].name);
    if (specs[i].kind != AttributeKind::text) continue;
    const std::string& value = attributes.text(specs[i].name);
    while (p.at(i) < static_cast<double>(specs[i].choices.size()) &&
           specs[i].choices[static_cast<size_t>(p[i])] != value)
      ++p[i];
  }
  return p;
}

/// Runs `row` over all rows of the output. Operands are broadcast: their strides are 0 along repeated axes.
void run_rows(RowFunction row, std::span<const Tensor> operands, Tensor& out, const double* p) {
  std::vector<int64_t> dims = to_ints(out.shape());
  if (out.elements() == 0) return;
  if (std::all_of(operands.begin(), operands.end(), [&](const Tensor& t) { return t.shape() == out.shape(); }))
    dims = {out.elements()};
  if (dims.empty()) dims = {1};
  int64_t inner = dims.back();
  std::array<std::vector<int64_t>, 3> strides;
  std::array<int64_t, 3> inner_strides{};
  for (size_t k = 0; k < operands.size(); ++k) {
    std::vector<int64_t> shape = to_ints(operands[k].shape());
    if (dims.size() == 1) shape = {operands[k].elements()};
    strides[k] = broadcast_strides(shape, dims);
    inner_strides[k] = strides[k].back();
  }
  dims.pop_back();
  int64_t done = 0;
  for_each_index(dims, [&](const std::vector<int64_t>& index) {
    std::array<const void*, 3> start{};
    for (size_t k = 0; k < operands.size(); ++k) {
      int64_t offset = 0;
      for (size_t d = 0; d < index.size(); ++d) offset += index[d] * strides[k][d];
      start[k] =
          static_cast<const char*>(operands[k].data()) + offset * static_cast<int64_t>(size_of(operands[k].dtype()));
    }
    row(start.data(), inner_strides.data(),
        static_cast<char*>(out.mutable_data()) + done * static_cast<int64_t>(size_of(out.dtype())), inner, p);
    done += inner;
  });
}

template <Domain kDomain, Result kResult>
std::vector<TensorType> infer_elementwise(std::span<const TensorType> operands, const Attributes& attributes) {
  return {infer_type(kDomain, kResult, operands, attributes)};
}

template <typename Element, Domain kDomain, Result kResult>
void evaluate_elementwise(std::span<const Tensor> operands, const Attributes& attributes, std::span<Tensor> outputs) {
  static const std::vector<AttributeSpec> specs = Element::specs();
  DType dtype = operands[kDomain == Domain::select ? 1 : 0].dtype();
  std::array<double, 2> p = parameters(specs, attributes);
  run_rows(row_function<Element, kDomain, kResult>(dtype, outputs[0].dtype()), operands, outputs[0], p.data());
}

template <int kFlops>
Work work_elementwise(std::span<const TensorType> operands, const Attributes&, std::span<const TensorType> outputs) {
  Work work = bytes_moved(operands, outputs);
  work.flops = kFlops * static_cast<double>(outputs[0].elements());
  return work;
}

std::vector<OperandSpec> operand_specs(int arity) {
  if (arity == 1) return {{"x"}};
  if (arity == 2) return {{"a"}, {"b"}};
  return {{"a"}, {"b"}, {"c"}};
}

#define WEFT_ELEMENTS_1 T x
#define WEFT_ELEMENTS_2 T a, T b
#define WEFT_ELEMENTS_3 T a, T b, T c
#define WEFT_ELEMENTWISE(name, arity, domain, result, flops, value, gradient, traits, summary, example, ...) \
  struct name##_element {                                                                                    \
    static constexpr int kArity = arity;                                                                     \
    static std::vector<AttributeSpec> specs() { return {__VA_ARGS__}; }                                      \
    template <typename T>                                                                                    \
    static auto apply(WEFT_ELEMENTS_##arity, [[maybe_unused]] const double* p) {                             \
      using namespace element;                                                                               \
      return value;                                                                                          \
    }                                                                                                        \
  };
#include "ir/ops/elementwise.inc"
#undef WEFT_ELEMENTWISE

}  // namespace

std::vector<OpInfo> elementwise_records() {
  std::vector<OpInfo> records;
#define WEFT_ELEMENTWISE(op, arity, domain, result, flop_count, value, gradient_text, trait_bits, summary_text, \
                         example, ...)                                                                          \
  {                                                                                                             \
    OpInfo& r = records.emplace_back();                                                                         \
    r.summary = summary_text;                                                                                   \
    r.operands = operand_specs(arity);                                                                          \
    r.attributes = op##_element::specs();                                                                       \
    r.traits = kElementwise | (trait_bits);                                                                     \
    r.infer = infer_elementwise<Domain::domain, Result::result>;                                                \
    r.eval = evaluate_elementwise<op##_element, Domain::domain, Result::result>;                                \
    r.work = work_elementwise<flop_count>;                                                                      \
    r.gradient = gradient_text;                                                                                 \
    r.examples = {example};                                                                                     \
  }
#include "ir/ops/elementwise.inc"
#undef WEFT_ELEMENTWISE
  return records;
}

}  // namespace weft::ir::ops
