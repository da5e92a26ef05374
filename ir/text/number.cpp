#include "ir/text/number.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace weft::ir {
namespace {

/// The bits of a floating type taken apart.
struct FloatFormat {
  int mantissa_bits, exponent_bits;
  uint64_t mantissa_mask() const { return (uint64_t{1} << mantissa_bits) - 1; }
  uint64_t exponent_mask() const { return ((uint64_t{1} << exponent_bits) - 1) << mantissa_bits; }
  uint64_t sign() const { return uint64_t{1} << (mantissa_bits + exponent_bits); }
  uint64_t quiet() const { return uint64_t{1} << (mantissa_bits - 1); }
};

FloatFormat format_of(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return {10, 5};
    case DType::bf16:
      return {7, 8};
    case DType::f32:
      return {23, 8};
    default:
      return {52, 11};
  }
}

uint64_t load_bits(DType dtype, const void* element) {
  uint64_t bits = 0;
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(&bits, element, size_of(dtype));
  return bits;
}

std::optional<uint64_t> unsigned_value(std::string_view digits) {
  int base = digits.starts_with("0x") ? 16 : 10;
  if (base == 16) digits.remove_prefix(2);
  uint64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.empty()) return std::nullopt;
  return value;
}

template <typename T>
std::optional<T> float_value(std::string_view digits) {
  auto format = std::chars_format::general;
  if (digits.starts_with("0x")) digits.remove_prefix(2), format = std::chars_format::hex;
  T value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, format);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.empty()) return std::nullopt;
  return value;
}

/// Bits of an unsigned number in the format, if finite.
std::optional<uint64_t> finite_bits(std::string_view digits, DType dtype) {
  if (dtype == DType::f64) {
    auto v = float_value<double>(digits);
    return v ? std::optional(std::bit_cast<uint64_t>(*v)) : std::nullopt;
  }
  auto v = float_value<float>(digits);
  if (!v) return std::nullopt;
  if (dtype == DType::f32) return std::bit_cast<uint32_t>(*v);
  uint64_t bits = dtype == DType::f16 ? f32_to_f16(*v) : f32_to_bf16(*v);
  uint64_t exponent = format_of(dtype).exponent_mask();
  return (bits & exponent) == exponent ? std::nullopt : std::optional(bits);
}

std::optional<std::string> read_float(std::string_view spelling, DType dtype, void* element) {
  FloatFormat format = format_of(dtype);
  bool negative = spelling.starts_with('-');
  std::string_view digits = spelling.substr(negative);
  std::optional<uint64_t> bits;
  if (digits == "inf") {
    bits = format.exponent_mask();
  } else if (digits == "nan") {
    bits = format.exponent_mask() | format.quiet();
  } else if (digits.starts_with("nan(") && digits.ends_with(")")) {
    auto payload = unsigned_value(digits.substr(4, digits.size() - 5));
    if (!payload || *payload == 0 || *payload > format.mantissa_mask())
      return fmt::format("{} is no NaN of {}: its payload is from 0x1 to 0x{:x}", spelling, to_string(dtype),
                         format.mantissa_mask());
    bits = format.exponent_mask() | *payload;
  } else {
    bits = finite_bits(digits, dtype);
  }
  if (!bits) return fmt::format("{} does not fit {}", spelling, to_string(dtype));
  if (negative) *bits |= format.sign();
  std::memcpy(element, &*bits, size_of(dtype));
  return std::nullopt;
}

template <typename T>
std::optional<std::string> read_int(std::string_view spelling, DType dtype, void* element) {
  bool negative = spelling.starts_with('-');
  std::string_view digits = spelling.substr(negative);
  std::optional<uint64_t> magnitude = unsigned_value(digits);
  if (!magnitude) {  // 1e3, 2.0: integers all the same where exact
    auto v = float_value<double>(digits);
    if (v && *v == std::floor(*v) && *v < 0x1p53) magnitude = static_cast<uint64_t>(*v);
  }
  if (!magnitude) return fmt::format("{} is no {}", spelling, to_string(dtype));
  uint64_t bound = negative ? std::is_signed_v<T> ? static_cast<uint64_t>(std::numeric_limits<T>::max()) + 1 : 0
                            : static_cast<uint64_t>(std::numeric_limits<T>::max());
  if (*magnitude > bound)
    return fmt::format("{} does not fit {}, which goes from {} to {}", spelling, to_string(dtype),
                       std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  T value = static_cast<T>(negative ? 0 - *magnitude : *magnitude);
  std::memcpy(element, &value, sizeof value);
  return std::nullopt;
}

std::optional<std::string> read_bool(std::string_view spelling, void* element) {
  if (spelling != "true" && spelling != "false" && spelling != "1" && spelling != "0")
    return fmt::format("{} is no bool; expected true or false", spelling);
  bool value = spelling == "true" || spelling == "1";
  std::memcpy(element, &value, 1);
  return std::nullopt;
}

/// Fewest significant digits of a 16-bit float that read back.
std::string print_half(DType dtype, uint64_t bits, float value) {
  for (int digits = 1; digits < 9; ++digits) {
    std::string s = fmt::format("{:.{}g}", std::fabs(value), digits);
    if (finite_bits(s, dtype) != (bits & ~format_of(dtype).sign())) continue;
    return fmt::format("{}{}", std::signbit(value) ? "-" : "", *float_value<double>(s));  // 65500, not 6.55e+04
  }
  return fmt::format("{}", value);
}

std::string print_float(DType dtype, uint64_t bits) {
  FloatFormat format = format_of(dtype);
  std::string sign = bits & format.sign() ? "-" : "";
  if ((bits & format.exponent_mask()) == format.exponent_mask()) {
    uint64_t mantissa = bits & format.mantissa_mask();
    if (mantissa == 0) return sign + "inf";
    return mantissa == format.quiet() ? sign + "nan" : fmt::format("{}nan(0x{:x})", sign, mantissa);
  }
  switch (dtype) {
    case DType::f16:
      return print_half(dtype, bits, f16_to_f32(static_cast<uint16_t>(bits)));
    case DType::bf16:
      return print_half(dtype, bits, bf16_to_f32(static_cast<uint16_t>(bits)));
    case DType::f32:
      return fmt::format("{}", std::bit_cast<float>(static_cast<uint32_t>(bits)));
    default:
      return fmt::format("{}", std::bit_cast<double>(bits));
  }
}

}  // namespace

std::optional<std::string> read_number(std::string_view spelling, DType dtype, void* element) {
  if (dtype == DType::boolean) return read_bool(spelling, element);
  if (is_float(dtype)) return read_float(spelling, dtype, element);
  return dispatch(dtype, [&]<typename T>() -> std::optional<std::string> {
    if constexpr (std::is_integral_v<T>)
      return read_int<T>(spelling, dtype, element);
    else
      return "no integer";
  });
}

std::string print_number(DType dtype, const void* element) {
  uint64_t bits = load_bits(dtype, element);
  if (dtype == DType::boolean) return bits ? "true" : "false";
  if (is_float(dtype)) return print_float(dtype, bits);
  return dispatch(dtype, [&]<typename T>() -> std::string {
    if constexpr (std::is_integral_v<T>) {
      T value;
      std::memcpy(&value, element, sizeof value);
      return fmt::format("{}", value);
    } else {
      return {};
    }
  });
}

std::optional<int64_t> read_integer(std::string_view spelling) {
  int64_t value = 0;
  if (spelling.find_first_of(spelling.find('x') == std::string_view::npos ? ".en" : ".pn") != std::string_view::npos ||
      read_int<int64_t>(spelling, DType::i64, &value))
    return std::nullopt;
  return value;
}

}  // namespace weft::ir
