#include "ir/text/number.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "tests/catch.hpp"
#include "tests/ir/random_graph.hpp"

using namespace weft;
using namespace weft::ir;

namespace {

template <typename Bits>
bool reads_back(DType dtype, Bits bits) {
  Bits back = static_cast<Bits>(~bits);
  std::string text = print_number(dtype, &bits);
  return !read_number(text, dtype, &back) && back == bits;
}

template <typename T>
std::string print(DType dtype, T value) {
  return print_number(dtype, &value);
}

float read_f32(std::string_view text) {
  float value = 0;
  REQUIRE(!read_number(text, DType::f32, &value));
  return value;
}

}  // namespace

TEST_CASE("all 16-bit floats read back") {
  int failures = 0;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    failures += !reads_back(DType::f16, static_cast<uint16_t>(bits));
    failures += !reads_back(DType::bf16, static_cast<uint16_t>(bits));
  }
  CHECK(failures == 0);
}

TEST_CASE("random bits of every dtype read back") {
  test::Random random(1);
  int failures = 0;
  for (int i = 0; i < 20000; ++i) {
    uint64_t bits = random.next();
    if (i % 4 == 0) bits &= 0x807fffff807fffff;  // subnormals
    if (i % 4 == 1) bits |= 0x7f8000007f800000;  // infinities and NaN
    failures += !reads_back(DType::f32, static_cast<uint32_t>(bits));
    failures += !reads_back(DType::f64, bits);
    failures += !reads_back(DType::i64, bits) + !reads_back(DType::u64, bits) +
                !reads_back(DType::i8, static_cast<uint8_t>(bits));
    failures +=
        !reads_back(DType::i32, static_cast<uint32_t>(bits)) + !reads_back(DType::u16, static_cast<uint16_t>(bits));
  }
  CHECK(failures == 0);
}

TEST_CASE("numbers are printed with the fewest digits") {
  CHECK(print(DType::f32, 0.1f) == "0.1");
  CHECK(print(DType::f32, 16777216.0f) == "16777216");
  CHECK(print(DType::f64, 0.1) == "0.1");
  CHECK(print(DType::f64, -0.0) == "-0");
  CHECK(print(DType::f16, f32_to_f16(0.1f)) == "0.1");
  CHECK(print(DType::f16, f32_to_f16(65504.0f)) == "65500");
  CHECK(print(DType::bf16, f32_to_bf16(-3.14f)) == "-3.14");
  CHECK(print(DType::f32, std::bit_cast<float>(0x7fc00000u)) == "nan");
  CHECK(print(DType::f32, std::bit_cast<float>(0xff800001u)) == "-nan(0x1)");
  CHECK(print(DType::u64, UINT64_MAX) == "18446744073709551615");
  CHECK(print(DType::boolean, true) == "true");
}

TEST_CASE("spellings are read exactly") {
  CHECK(read_f32("0x1.8p-3") == 0.1875f);
  CHECK(read_f32("0x10") == 16.0f);
  CHECK(std::bit_cast<uint32_t>(read_f32("-0")) == 0x80000000u);
  CHECK(std::bit_cast<uint32_t>(read_f32("-nan(0x7)")) == 0xff800007u);
  CHECK(read_f32("16777217") == 16777216.0f);                                     // rounds to even, once
  CHECK(read_f32("1.00000017881393432617187499") == 1.00000011920928955078125f);  // would round up through double
  CHECK(read_integer("-9223372036854775808") == INT64_MIN);
  CHECK(read_integer("0x1f") == 31);
  CHECK(!read_integer("9223372036854775808"));
  CHECK(!read_integer("1e3"));
  CHECK(!read_integer("nan(0x1)"));
}

TEST_CASE("numbers that do not fit are refused with the reason") {
  uint64_t slot = 0;
  auto reason = [&](std::string_view text, DType dtype) {
    return read_number(text, dtype, &slot).value_or("accepted");
  };
  CHECK(reason("256", DType::u8) == "256 does not fit u8, which goes from 0 to 255");
  CHECK(reason("-129", DType::i8) == "-129 does not fit i8, which goes from -128 to 127");
  CHECK(reason("-128", DType::i8) == "accepted");
  CHECK(reason("-0", DType::u8) == "accepted");
  CHECK(reason("-1", DType::u64) == "-1 does not fit u64, which goes from 0 to 18446744073709551615");
  CHECK(reason("0.5", DType::i32) == "0.5 is no i32");
  CHECK(reason("2.0", DType::i32) == "accepted");
  CHECK(reason("1e39", DType::f32) == "1e39 does not fit f32");
  CHECK(reason("65520", DType::f16) == "65520 does not fit f16");
  CHECK(reason("65519", DType::f16) == "accepted");
  CHECK(reason("nan(0x400)", DType::f16) == "nan(0x400) is no NaN of f16: its payload is from 0x1 to 0x3ff");
  CHECK(reason("nan", DType::i32) == "nan is no i32");
  CHECK(reason("true", DType::f32) == "true does not fit f32");
  CHECK(reason("2", DType::boolean) == "2 is no bool; expected true or false");
}
