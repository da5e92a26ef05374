#pragma once
// Arithmetic on one element: conversions between dtypes, and the scalar functions that elementwise.inc is written with.
// f16 and bf16 are computed in float; integers wrap; NaN propagates.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ir/support/error.hpp"
#include "ir/types.hpp"

namespace weft::ir::element {

template <typename T>
inline constexpr bool kHalf = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
template <typename T>
inline constexpr bool kFloating = std::is_floating_point_v<T>;
template <typename T>
inline constexpr bool kInteger = std::is_integral_v<T> && !std::is_same_v<T, bool>;

/// The type that elements of T are computed in.
template <typename T>
using Compute = std::conditional_t<kHalf<T>, float, T>;
/// The type that sums and products of many elements of T are held in: double, or integers modulo 2^64.
template <typename T>
using Accumulator = std::conditional_t<kHalf<T> || kFloating<T>, double, uint64_t>;

template <typename T>
Compute<T> load(T value) {
  return static_cast<Compute<T>>(value);
}
template <typename T>
Accumulator<T> load_wide(T value) {
  return static_cast<Accumulator<T>>(load(value));
}

/// To float with the last bit set where inexact ("round to odd"): rounding the result once more, to f16 or bf16, is
/// then as if the value had been rounded once.
inline float round_to_odd(double value) {
  float nearest = static_cast<float>(value);
  if (std::isnan(value) || std::isinf(nearest) || static_cast<double>(nearest) == value) return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (bits & 1) return nearest;
  bool above = std::fabs(static_cast<double>(nearest)) > std::fabs(value);
  return std::bit_cast<float>(above ? bits - 1 : bits + 1);
}

/// To double, exact up to 2^53, beyond that with the bits that do not fit gathered in the last one.
template <typename T>
double sticky_double(T value) {
  bool negative = value < 0;
  uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  if (magnitude >> 53) magnitude = (magnitude & ~uint64_t{0xfff}) | (magnitude & 0xfff ? 0x800 : 0);
  double wide = static_cast<double>(magnitude);
  return negative ? -wide : wide;
}

/// Truncates toward zero; saturates; NaN gives 0.
template <typename R, typename S>
R saturate(S value) {
  if (std::isnan(value)) return R{0};
  constexpr int kBits = std::numeric_limits<R>::digits;
  S limit = std::ldexp(S{1}, kBits);  // the first value above the range, exact in float
  if (value >= limit) return std::numeric_limits<R>::max();
  if (value <= (std::is_signed_v<R> ? -limit : S{0})) return std::numeric_limits<R>::min();
  return static_cast<R>(value);
}

/// The conversion of `cast`: floats round to nearest even, floats to integers saturate with NaN as 0, integers wrap,
/// anything to bool is "not zero" (NaN is true).
template <typename R, typename S>
R convert(S value) {
  if constexpr (kHalf<S>) {
    return convert<R>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<R, S>) {
    return value;
  } else if constexpr (std::is_same_v<R, bool>) {
    return value != S{0};
  } else if constexpr (kHalf<R>) {
    if constexpr (std::is_same_v<S, float>)
      return R(value);
    else if constexpr (kFloating<S>)
      return R(round_to_odd(value));
    else if constexpr (kInteger<S>)
      return R(round_to_odd(sticky_double(value)));
    else
      return R(value ? 1.0f : 0.0f);
  } else if constexpr (kInteger<R> && kFloating<S>) {
    return saturate<R>(value);
  } else {
    return static_cast<R>(value);
  }
}

/// Float to double, so that a function of the C library is rounded once.
inline double wide(double x) { return x; }

template <typename T>
T neg(T x) {
  if constexpr (kInteger<T>)
    return static_cast<T>(0 - static_cast<uint64_t>(x));
  else
    return -x;
}
template <typename T>
T add(T a, T b) {
  if constexpr (kInteger<T>)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}
template <typename T>
T sub(T a, T b) {
  if constexpr (kInteger<T>)
    return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  else
    return a - b;
}
template <typename T>
T mul(T a, T b) {
  if constexpr (kInteger<T>)
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else
    return a * b;
}
template <typename T>
void check_divisor(T a, T b, const char* what) {
  if (b == 0) fail(ErrorCode::invalid_argument, "integer {} of {} by zero", what, a);
}
template <typename T>
T div(T a, T b) {
  if constexpr (kInteger<T>) {
    check_divisor(a, b, "division");
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return neg(a);
    return static_cast<T>(a / b);
  } else {
    return a / b;
  }
}
/// The sign of the dividend (C).
template <typename T>
T fmod(T a, T b) {
  if constexpr (kInteger<T>) {
    check_divisor(a, b, "remainder");
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
  } else {
    return std::fmod(a, b);
  }
}
/// The sign of the divisor (Python, numpy).
template <typename T>
T mod(T a, T b) {
  T rest = fmod(a, b);
  if constexpr (kFloating<T>)
    if (rest == 0) return std::copysign(rest, b);
  return rest != 0 && (rest < 0) != (b < 0) ? add(rest, b) : rest;
}
/// Floats as C's pow; integers wrap, and a negative exponent gives the quotient truncated.
template <typename T>
T pow(T a, T b) {
  if constexpr (kFloating<T>) {
    if (b == 2) return a * a;  // exact in double too, where the C library may be off by a bit
    return static_cast<T>(std::pow(wide(a), wide(b)));
  } else {
    if constexpr (std::is_signed_v<T>)
      if (b < 0) {
        check_divisor(T{1}, a, "division");
        return a == 1 ? T{1} : a == -1 ? (b % 2 ? T{-1} : T{1}) : T{0};
      }
    T result = 1;
    for (T base = a, rest = b; rest != 0; rest = static_cast<T>(rest >> 1), base = mul(base, base))
      if (rest & 1) result = mul(result, base);
    return result;
  }
}
/// IEEE 754-2019 maximum: NaN propagates, +0 is above -0.
template <typename T>
T max(T a, T b) {
  if constexpr (kFloating<T>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
    if (a == b) return std::signbit(a) ? b : a;
  }
  return a > b ? a : b;
}
/// IEEE 754-2019 minimum: NaN propagates, -0 is below +0.
template <typename T>
T min(T a, T b) {
  if constexpr (kFloating<T>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
    if (a == b) return std::signbit(a) ? a : b;
  }
  return a < b ? a : b;
}
template <typename T>
T abs(T x) {
  if constexpr (kFloating<T>)
    return std::fabs(x);
  else
    return x < 0 ? neg(x) : x;
}
template <typename T>
T sign(T x) {
  return x > 0 ? T(1) : x < 0 ? T(-1) : x == 0 ? T(0) : x;
}
/// Counts outside [0, width) shift everything out.
template <typename T>
T shift_left(T a, T b) {
  constexpr uint64_t kWidth = sizeof(T) * 8;
  uint64_t count = static_cast<uint64_t>(b);
  return count >= kWidth ? T{0} : static_cast<T>(static_cast<uint64_t>(a) << count);
}
template <typename T>
T shift_right(T a, T b) {
  constexpr uint64_t kWidth = sizeof(T) * 8;
  uint64_t count = static_cast<uint64_t>(b);
  if (count >= kWidth) return a < 0 ? static_cast<T>(-1) : T{0};
  return static_cast<T>(a >> count);
}

inline double sigmoid(double x) {
  if (x >= 0) return 1 / (1 + std::exp(-x));
  double e = std::exp(x);
  return e / (1 + e);
}
inline double softplus(double x) { return (x > 0 ? x : 0) + std::log1p(std::exp(-std::fabs(x))); }
inline double gelu_erf(double x) { return 0.5 * x * std::erfc(-x * 0.70710678118654752440); }
inline double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

}  // namespace weft::ir::element
