#include "ir/types.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "ir/support/error.hpp"

namespace weft::ir {
namespace {

struct DTypeRecord {
  std::string_view name;
  size_t size;
  bool floating, integer, is_signed;
};
constexpr DTypeRecord kDTypes[kDTypeCount] = {
    {"bool", 1, false, false, false}, {"u8", 1, false, true, false},  {"u16", 2, false, true, false},
    {"u32", 4, false, true, false},   {"u64", 8, false, true, false}, {"i8", 1, false, true, true},
    {"i16", 2, false, true, true},    {"i32", 4, false, true, true},  {"i64", 8, false, true, true},
    {"f16", 2, true, false, true},    {"bf16", 2, true, false, true}, {"f32", 4, true, false, true},
    {"f64", 8, true, false, true}};
const DTypeRecord& record(DType dtype) { return kDTypes[static_cast<int>(dtype)]; }

}  // namespace

std::string_view to_string(DType dtype) { return record(dtype).name; }
size_t size_of(DType dtype) { return record(dtype).size; }
bool is_float(DType dtype) { return record(dtype).floating; }
bool is_integer(DType dtype) { return record(dtype).integer; }
bool is_signed(DType dtype) { return record(dtype).is_signed; }

std::optional<DType> dtype_from_string(std::string_view s) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (kDTypes[i].name == s) return static_cast<DType>(i);
  return std::nullopt;
}

std::string to_string(const Shape& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += (i ? "," : "") + shape[i].text();
  return out + "]";
}

std::string to_string(const TensorType& type) { return std::string(to_string(type.dtype)) + to_string(type.shape); }

bool is_static(const Shape& shape) {
  for (const Dim& d : shape)
    if (!d.is_constant()) return false;
  return true;
}

int64_t element_count(const Shape& shape) {
  int64_t count = 1;
  bool zero = false;
  for (const Dim& d : shape) {
    int64_t v = d.value();
    if (v < 0) fail(ErrorCode::out_of_range, "shape {} has the negative dimension {}", to_string(shape), v);
    if (v == 0) {
      zero = true;
    } else if (__builtin_mul_overflow(count, v, &count) || count > (int64_t{1} << 58)) {  // bytes fit int64
      fail(ErrorCode::out_of_range, "shape {} has more than 2^58 elements", to_string(shape));
    }
  }
  return zero ? 0 : count;
}

std::vector<int64_t> to_ints(const Shape& shape) {
  std::vector<int64_t> out;
  out.reserve(shape.size());
  for (const Dim& d : shape) out.push_back(d.value());
  return out;
}

Shape to_shape(const std::vector<int64_t>& dims) { return Shape(dims.begin(), dims.end()); }

/// Nothing where both are constants that do not fit.
static std::optional<Dim> broadcast(const Dim& x, const Dim& y) {
  if (x == y || y.is(1)) return x;
  if (x.is(1)) return y;
  if (x.is_constant() && y.is_constant()) return std::nullopt;
  if (x.is_constant()) return x;
  if (y.is_constant()) return y;
  return y.text().size() < x.text().size() ? y : x;
}

Shape broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape out = longer;
  size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    const Dim &x = longer[offset + i], &y = shorter[i];
    const std::optional<Dim> dim = broadcast(x, y);
    if (!dim)
      fail(ErrorCode::type_mismatch, "shapes {} and {} do not broadcast: {} against {}", to_string(a), to_string(b),
           x.text(), y.text());
    out[offset + i] = *dim;
  }
  return out;
}

std::vector<int64_t> row_major_strides(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size());
  int64_t step = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = step;
    step *= dims[i];
  }
  return strides;
}

float f16_to_f32(uint16_t bits) {
  uint32_t sign = uint32_t{bits} >> 15 << 31, exponent = bits >> 10 & 31, mantissa = bits & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent == 0) {
    float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

uint16_t f32_to_f16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);  // rounds to 2^16 or more
  if (magnitude < 0x33000001) return static_cast<uint16_t>(sign);            // 2^-25 and below round to zero
  if (magnitude < 0x38800000) {                                              // subnormal: units of 2^-24
    uint32_t shift = 126 - (magnitude >> 23), mantissa = (magnitude & 0x7fffff) | 0x800000;
    uint32_t kept = mantissa >> shift, rest = mantissa & ((1u << shift) - 1), half = 1u << (shift - 1);
    kept += rest > half || (rest == half && (kept & 1));
    return static_cast<uint16_t>(sign | kept);
  }
  uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}

float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

uint16_t f32_to_bf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace weft::ir
