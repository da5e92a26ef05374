#pragma once
// Short spellings for tests of the op table: tensors from literals, an op run on them, comparison by bits with NaN
// equal to NaN.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "ir/op.hpp"
#include "ir/support/error.hpp"
#include "tests/catch.hpp"

namespace weft::ir {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename T>
Tensor tensor(std::vector<int64_t> dims, std::vector<T> values) {
  return Tensor::from<T>(std::move(dims), values);
}
inline Tensor f32(std::vector<float> values) { return tensor<float>({static_cast<int64_t>(values.size())}, values); }
inline Tensor i32(std::vector<int32_t> values) {
  return tensor<int32_t>({static_cast<int64_t>(values.size())}, values);
}
inline Tensor f32(std::vector<int64_t> dims, std::vector<float> values) {
  return tensor<float>(std::move(dims), values);
}
inline Tensor i64(std::vector<int64_t> dims, std::vector<int64_t> values) {
  return tensor<int64_t>(std::move(dims), values);
}
/// first, first + step, ... as many as the shape holds.
inline Tensor counted(std::vector<int64_t> dims, float first = 0, float step = 1) {
  Tensor t = Tensor::allocate({DType::f32, to_shape(dims)});
  float value = first;
  for (float& v : t.mutable_as<float>()) v = value, value += step;
  return t;
}

inline std::vector<TensorType> types_of(const std::vector<Tensor>& tensors) {
  std::vector<TensorType> types;
  for (const Tensor& t : tensors) types.push_back(t.type());
  return types;
}

inline std::vector<Tensor> run_all(Op op, const std::vector<Tensor>& operands, const Attributes& attributes = {}) {
  return evaluate(op, operands, complete(op, attributes, types_of(operands)));
}
inline Tensor run(Op op, const std::vector<Tensor>& operands, const Attributes& attributes = {}) {
  return run_all(op, operands, attributes).at(0);
}

inline std::string show(const Tensor& t) {
  std::string out = to_string(t.type()) + "[";
  for (int64_t i = 0; i < t.elements(); ++i) {
    double value = t.at_double(i);
    out += (i ? ", " : "") + (std::signbit(value) && value == 0 ? std::string("-0") : fmt::format("{}", value));
  }
  return out + "]";
}

/// Equal types and bits, where any NaN equals any other.
inline bool same(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type()) return false;
  if (a.same_bits(b)) return true;
  if (!is_float(a.dtype())) return false;
  for (int64_t i = 0; i < a.elements(); ++i) {
    double x = a.at_double(i), y = b.at_double(i);
    if (std::bit_cast<uint64_t>(x) != std::bit_cast<uint64_t>(y) && !(std::isnan(x) && std::isnan(y))) return false;
  }
  return true;
}

#define CHECK_SAME(found, expected)                              \
  do {                                                           \
    ::weft::ir::Tensor found_ = (found), expected_ = (expected); \
    INFO(show(found_) << "\nexpected\n" << show(expected_));     \
    CHECK(same(found_, expected_));                              \
  } while (false)

inline void check_near(const Tensor& found, const Tensor& expected, double relative, double absolute) {
  INFO(show(found) << "\nexpected\n" << show(expected));
  REQUIRE(found.type() == expected.type());
  for (int64_t i = 0; i < found.elements(); ++i) {
    double x = found.at_double(i), y = expected.at_double(i);
    bool near = x == y || (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= absolute + relative * std::fabs(y);
    INFO("element " << i);
    CHECK(near);
  }
}

/// The message of the Error that f throws; fails where it throws none.
template <typename F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    CHECK(error.code() != ErrorCode::internal);
    return error.what();
  }
  FAIL_CHECK("no Error was thrown");
  return {};
}

}  // namespace weft::ir
