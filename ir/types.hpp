#pragma once
// What a value is: its element type and its shape, whose dimensions may be symbolic.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::ir {

enum class DType : uint8_t { boolean, u8, u16, u32, u64, i8, i16, i32, i64, f16, bf16, f32, f64 };
inline constexpr int kDTypeCount = 13;

std::string_view to_string(DType dtype);                     ///< "f32", "bool", ...
std::optional<DType> dtype_from_string(std::string_view s);  ///< nothing where no dtype is spelled so
size_t size_of(DType dtype);                                 ///< bytes of one element
bool is_float(DType dtype);
bool is_integer(DType dtype);  ///< signed or unsigned; not bool
bool is_signed(DType dtype);   ///< signed integer or float

/// One dimension: a constant, or an expression over named symbols ("N", "H/2+1"). Expressions are interned, so equal
/// expressions compare equal. Arithmetic on constants is checked and throws Error(out_of_range) where int64 overflows.
class Dim {
 public:
  Dim(int64_t value = 0) : value_(value) {}
  static Dim symbol(std::string_view name);
  bool is_constant() const { return expression_ == 0; }
  int64_t value() const;  ///< throws Error(invalid_argument) where symbolic
  bool is(int64_t constant) const { return is_constant() && value_ == constant; }
  std::string text() const;
  /// The dimension with symbols replaced where bound; others stay.
  Dim substitute(const std::map<std::string, int64_t, std::less<>>& bindings) const;
  /// Names of all symbols in the expression, sorted.
  std::vector<std::string> symbols() const;
  bool operator==(const Dim&) const = default;

  friend Dim operator+(Dim a, Dim b);
  friend Dim operator-(Dim a, Dim b);
  friend Dim operator*(Dim a, Dim b);
  friend Dim floor_div(Dim a, Dim b);  ///< b must not be 0
  friend Dim ceil_div(Dim a, Dim b);
  friend Dim max(Dim a, Dim b);
  friend Dim min(Dim a, Dim b);

 private:
  friend struct DimTable;
  int64_t value_;
  uint32_t expression_ = 0;  // 0 = constant, else index into the table of expressions
};

using DimBindings = std::map<std::string, int64_t, std::less<>>;
using Shape = std::vector<Dim>;

std::string to_string(const Shape& shape);  ///< "[1,3,H,W]"
bool is_static(const Shape& shape);
/// Product of all dimensions; throws where symbolic, negative, or above 2^58.
int64_t element_count(const Shape& shape);
std::vector<int64_t> to_ints(const Shape& shape);  ///< throws where symbolic
Shape to_shape(const std::vector<int64_t>& dims);
/// numpy broadcasting of both; throws Error(type_mismatch) where two constants do not fit. A
/// symbolic dimension is taken to fit whatever it meets (the constant, else the simpler expression is the result): the
/// shapes are inferred again, and checked, once it is bound to a number.
Shape broadcast(const Shape& a, const Shape& b);
/// Row-major strides in elements.
std::vector<int64_t> row_major_strides(const std::vector<int64_t>& dims);

struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
  bool operator==(const TensorType&) const = default;
  int64_t elements() const { return element_count(shape); }
  int64_t bytes() const { return elements() * static_cast<int64_t>(size_of(dtype)); }
  size_t rank() const { return shape.size(); }
};
std::string to_string(const TensorType& type);  ///< "f32[1,3,H,W]"; rank 0 is "f32[]"

// Conversions of the 16-bit floats, round to nearest even, NaN stays NaN (IEEE 754 binary16; bfloat16).
float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value);
float bf16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float value);

struct float16 {
  uint16_t bits = 0;
  float16() = default;
  explicit float16(float v) : bits(f32_to_f16(v)) {}
  explicit operator float() const { return f16_to_f32(bits); }
};
struct bfloat16 {
  uint16_t bits = 0;
  bfloat16() = default;
  explicit bfloat16(float v) : bits(f32_to_bf16(v)) {}
  explicit operator float() const { return bf16_to_f32(bits); }
};

template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::boolean;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::u8;
};
template <>
struct DTypeOf<uint16_t> {
  static constexpr DType value = DType::u16;
};
template <>
struct DTypeOf<uint32_t> {
  static constexpr DType value = DType::u32;
};
template <>
struct DTypeOf<uint64_t> {
  static constexpr DType value = DType::u64;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType value = DType::i8;
};
template <>
struct DTypeOf<int16_t> {
  static constexpr DType value = DType::i16;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct DTypeOf<float16> {
  static constexpr DType value = DType::f16;
};
template <>
struct DTypeOf<bfloat16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};

/// Calls f.template operator()<T>() with the C++ type of a dtype.
template <typename F>
decltype(auto) dispatch(DType dtype, F&& f) {
  switch (dtype) {
    case DType::boolean:
      return f.template operator()<bool>();
    case DType::u8:
      return f.template operator()<uint8_t>();
    case DType::u16:
      return f.template operator()<uint16_t>();
    case DType::u32:
      return f.template operator()<uint32_t>();
    case DType::u64:
      return f.template operator()<uint64_t>();
    case DType::i8:
      return f.template operator()<int8_t>();
    case DType::i16:
      return f.template operator()<int16_t>();
    case DType::i32:
      return f.template operator()<int32_t>();
    case DType::i64:
      return f.template operator()<int64_t>();
    case DType::f16:
      return f.template operator()<float16>();
    case DType::bf16:
      return f.template operator()<bfloat16>();
    case DType::f32:
      return f.template operator()<float>();
    case DType::f64:
      break;
  }
  return f.template operator()<double>();
}

}  // namespace weft::ir
