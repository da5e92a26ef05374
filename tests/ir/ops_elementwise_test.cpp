// Exact values of elementwise ops where implementations are known to go wrong.
#include <algorithm>

#include "tests/ir/tensors.hpp"

namespace weft::ir {
namespace {

float from_bits(uint32_t bits) { return std::bit_cast<float>(bits); }

template <typename T>
Tensor as(const Tensor& x) {
  return run(Op::cast, {x}, {{"to", DTypeOf<T>::value}});
}

TEST_CASE("products and differences keep NaN, infinity and the sign of zero", "[ops]") {
  Tensor x = f32({2, -3, kInf, -kInf, kNan, -0.0f});
  CHECK_SAME(run(Op::mul, {x, f32({0})}), f32({0.0f, -0.0f, kNan, kNan, kNan, -0.0f}));
  CHECK_SAME(run(Op::mul, {x, as<float>(tensor<bool>({1}, {false}))}), f32({0.0f, -0.0f, kNan, kNan, kNan, -0.0f}));
  CHECK_SAME(run(Op::sub, {x, x}), f32({0, 0, kNan, kNan, kNan, 0}));
  CHECK_SAME(run(Op::div, {x, x}), f32({1, 1, kNan, kNan, kNan, kNan}));
  Tensor i = i32({2, -3, 7});
  CHECK_SAME(run(Op::mul, {i, i32({0})}), i32({0, 0, 0}));
  CHECK_SAME(run(Op::sub, {i, i}), i32({0, 0, 0}));
}

TEST_CASE("each exp overflows on its own", "[ops]") {
  Tensor a = run(Op::exp, {f32({100, 1, 80})}), b = run(Op::exp, {f32({-110, 2, 20})});
  Tensor product = run(Op::mul, {a, b});
  check_near(product, f32({kNan, 20.085537f, kInf}), 1e-6, 0);
}

TEST_CASE("NaN goes through relu, clip, max and min at every position and length", "[ops]") {
  for (int64_t n : {1, 3, 8, 16, 17, 64, 1000})
    for (int64_t at : {int64_t{0}, n / 2, n - 1}) {
      std::vector<float> x(static_cast<size_t>(n), 2), expected_one(x.size(), 1), expected_two(x.size(), 2);
      x[static_cast<size_t>(at)] = expected_one[static_cast<size_t>(at)] = expected_two[static_cast<size_t>(at)] = kNan;
      Tensor one = Tensor::scalar(1.0f);
      CHECK_SAME(run(Op::relu, {f32(x)}), f32(expected_two));
      CHECK_SAME(run(Op::clip, {f32(x), Tensor::scalar(0.0f), one}), f32(expected_one));
      CHECK_SAME(run(Op::max, {f32(x), one}), f32(expected_two));
      CHECK_SAME(run(Op::max, {one, f32(x)}), f32(expected_two));
      CHECK_SAME(run(Op::min, {f32(x), f32({1})}), f32(expected_one));
      CHECK_SAME(run(Op::min, {one, f32(x)}), f32(expected_one));
    }
  CHECK_SAME(run(Op::max, {f32({1, 2}), f32({kNan})}), f32({kNan, kNan}));
}

TEST_CASE("max and min order the zeros", "[ops]") {
  CHECK_SAME(run(Op::max, {f32({0.0f, -0.0f, -0.0f}), f32({-0.0f, 0.0f, -0.0f})}), f32({0.0f, 0.0f, -0.0f}));
  CHECK_SAME(run(Op::min, {f32({0.0f, -0.0f, 0.0f}), f32({-0.0f, 0.0f, 0.0f})}), f32({-0.0f, -0.0f, 0.0f}));
  CHECK_SAME(run(Op::relu, {f32({-0.0f})}), f32({0.0f}));
}

TEST_CASE("8-bit integers wrap after every op", "[ops]") {
  Tensor x = tensor<uint8_t>({1}, {128});
  CHECK_SAME(as<int16_t>(run(Op::add, {x, x})), tensor<int16_t>({1}, {0}));
  Tensor negated = run(Op::neg, {tensor<uint8_t>({1}, {6})});
  CHECK_SAME(negated, tensor<uint8_t>({1}, {250}));
  CHECK_SAME(run(Op::less, {negated, tensor<uint8_t>({1}, {4})}), tensor<bool>({1}, {false}));
  Tensor seven = run(Op::neg, {tensor<uint8_t>({1}, {7})});
  CHECK_SAME(as<int32_t>(seven), i32({249}));
  CHECK_SAME(run(Op::add, {as<float>(seven), f32({1.5f})}), f32({250.5f}));
  Tensor difference = run(Op::sub, {tensor<uint8_t>({1}, {3}), tensor<uint8_t>({1}, {5})});
  CHECK_SAME(as<int32_t>(difference), i32({254}));
  Tensor sum = run(Op::add, {tensor<uint8_t>({1}, {200}), tensor<uint8_t>({1}, {100})});
  CHECK_SAME(run(Op::greater, {sum, tensor<uint8_t>({1}, {100})}), tensor<bool>({1}, {false}));
  Tensor parts = run(Op::neg, {tensor<uint8_t>({2}, {200, 200})});
  Tensor four = run(Op::concat, {parts, parts}, {{"axis", int64_t{0}}});
  CHECK_SAME(run(Op::reduce_sum, {four}, {{"axes", std::vector<int64_t>{0}}}), tensor<uint8_t>({1}, {224}));
  Tensor a = tensor<int8_t>({1}, {100}), c = tensor<int8_t>({1}, {2});
  CHECK_SAME(as<int32_t>(run(Op::mul, {run(Op::add, {a, a}), c})), i32({-112}));
  CHECK_SAME(as<int32_t>(run(Op::add, {run(Op::mul, {a, c}), run(Op::mul, {a, c})})), i32({-112}));
}

TEST_CASE("integer division by zero is an Error, the lowest by -1 wraps", "[ops]") {
  for (Op op : {Op::div, Op::mod, Op::fmod}) {
    INFO(to_string(op));
    std::string message = error_of([&] { run(op, {i32({8}), i32({0})}); });
    CHECK(message.find("of 8 by zero") != std::string::npos);
    CHECK(message.find(std::string(to_string(op)) + "(i32[1], i32[1])") != std::string::npos);
  }
  error_of([] { run(Op::pow, {i32({0}), i32({-1})}); });
  Tensor lowest = i32({INT32_MIN}), minus_one = i32({-1});
  CHECK_SAME(run(Op::div, {lowest, minus_one}), lowest);
  CHECK_SAME(run(Op::mod, {lowest, minus_one}), i32({0}));
  CHECK_SAME(run(Op::fmod, {lowest, minus_one}), i32({0}));
  Tensor lowest8 = tensor<int8_t>({1}, {-128});
  CHECK_SAME(run(Op::div, {lowest8, tensor<int8_t>({1}, {-1})}), lowest8);
  CHECK_SAME(run(Op::abs, {lowest8}), lowest8);
  Tensor lowest64 = i64({1}, {INT64_MIN});
  CHECK_SAME(run(Op::div, {lowest64, i64({1}, {-1})}), lowest64);
  CHECK_SAME(run(Op::neg, {lowest64}), lowest64);
}

TEST_CASE("division truncates, mod floors, fmod keeps the sign of the dividend", "[ops]") {
  Tensor a = i32({7, -7, 7, -7}), b = i32({3, 3, -3, -3});
  CHECK_SAME(run(Op::div, {a, b}), i32({2, -2, -2, 2}));
  CHECK_SAME(run(Op::mod, {a, b}), i32({1, 2, -2, -1}));
  CHECK_SAME(run(Op::fmod, {a, b}), i32({1, -1, 1, -1}));
  Tensor x = f32({5.5f, -5.5f, 5.5f, -5.5f, 6, -6}), y = f32({2, 2, -2, -2, -3, 3});
  CHECK_SAME(run(Op::mod, {x, y}), f32({1.5f, 0.5f, -0.5f, -1.5f, -0.0f, 0.0f}));
  CHECK_SAME(run(Op::fmod, {x, y}), f32({1.5f, -1.5f, 1.5f, -1.5f, 0.0f, -0.0f}));
}

TEST_CASE("casts saturate from floats, wrap between integers, and hold NaN as true", "[ops]") {
  CHECK_SAME(as<int64_t>(f32({5e18f, -5e18f, 1e15f, 7.7f, -7.7f})),
             i64({5}, {4999999990253223936, -4999999990253223936, 999999986991104, 7, -7}));
  CHECK_SAME(as<bool>(f32({kNan, -0.0f, 0.5f, 1e-45f})), tensor<bool>({4}, {true, false, true, true}));
  Tensor x = f32({300, kNan, kInf, -kInf, -1, 50});
  CHECK_SAME(as<int8_t>(x), tensor<int8_t>({6}, {127, 0, 127, -128, -1, 50}));
  CHECK_SAME(as<uint8_t>(x), tensor<uint8_t>({6}, {255, 0, 255, 0, 0, 50}));
  CHECK_SAME(as<int32_t>(f32({2147483648.0f, 2147483520.0f, -2147483648.0f})), i32({INT32_MAX, 2147483520, INT32_MIN}));
  CHECK_SAME(as<uint64_t>(f32({-1, 1.8446744073709552e19f})), tensor<uint64_t>({2}, {0, UINT64_MAX}));
  CHECK_SAME(as<uint8_t>(i32({300, -1})), tensor<uint8_t>({2}, {44, 255}));
  CHECK_SAME(as<int64_t>(tensor<double>({2}, {0x1p63, -0x1p63})), i64({2}, {INT64_MAX, INT64_MIN}));
}

std::vector<uint16_t> half_bits(const Tensor& t) {
  const auto* bits = static_cast<const uint16_t*>(t.data());
  return {bits, bits + t.elements()};
}

TEST_CASE("casts to the 16-bit floats round once, to nearest even", "[ops]") {
  std::vector<float> to_bf16;
  for (uint32_t bits : {0x3f808000u, 0x3f818000u, 0x3f808001u, 0x7f7fffffu, 0x7f7f7fffu, 0x7f7f8000u, 0x00400000u,
                        0x007fffffu, 0x00018000u, 0x00008000u, 0x80000001u})
    to_bf16.push_back(from_bits(bits));
  CHECK(half_bits(as<bfloat16>(f32(to_bf16))) ==
        std::vector<uint16_t>{0x3f80, 0x3f82, 0x3f81, 0x7f80, 0x7f7f, 0x7f80, 0x0040, 0x0080, 0x0002, 0x0000, 0x8000});
  Tensor nan = as<bfloat16>(f32({from_bits(0x7f800001), from_bits(0xff800001)}));
  CHECK(std::isnan(nan.at_double(0)));
  CHECK(std::isnan(nan.at_double(1)));
  CHECK(half_bits(as<float16>(f32({65504, 65519.99f, 65520, 0x1p-24f, 0x1p-25f, 0x1.000002p-25f, 0x3p-25f, 0.1f, 2049,
                                   2051, 1 + 0x1p-11f, 1 + 0x3p-11f}))) ==
        std::vector<uint16_t>{0x7bff, 0x7bff, 0x7c00, 1, 0, 1, 2, 0x2e66, 0x6800, 0x6802, 0x3c00, 0x3c02});
  // Just above a tie in f16, but a tie once rounded to float.
  CHECK(half_bits(as<float16>(tensor<double>({2}, {1 + 0x1p-11 + 0x1p-40, -(1 + 0x1p-11 + 0x1p-40)}))) ==
        std::vector<uint16_t>{0x3c01, 0xbc01});
  CHECK(half_bits(as<bfloat16>(i64({2}, {(int64_t{1} << 60) + (int64_t{1} << 52) + 1, -(int64_t{1} << 60)}))) ==
        std::vector<uint16_t>{0x5d81, 0xdd80});
}

TEST_CASE("every bf16 and f16 code survives the way to float and back", "[ops]") {
  for (DType half : {DType::bf16, DType::f16}) {
    Tensor all = Tensor::allocate({half, {65536}});
    for (int i = 0; i < 65536; ++i) static_cast<uint16_t*>(all.mutable_data())[i] = static_cast<uint16_t>(i);
    Tensor back = run(Op::cast, {as<float>(all)}, {{"to", half}});
    CHECK(same(back, all));
  }
}

TEST_CASE("stable forms of softplus, silu and gelu", "[ops]") {
  Tensor x = f32({100, 1000, 0, 20, -20, -30, -100, -1000});
  check_near(run(Op::softplus, {x}),
             f32({100, 1000, 0.69314718f, 20.000000002f, 2.0611536e-9f, 9.357623e-14f, 3.7835e-44f, 0}), 1e-6, 0);
  Tensor silu = run(Op::silu, {f32({-1000, -88, 1000})});
  CHECK(silu.at_double(0) == 0);
  CHECK(silu.at_double(1) == Approx(-5.328e-37).epsilon(1e-4));
  CHECK(silu.at_double(2) == 1000);
  check_near(run(Op::gelu, {f32({1, -10, 100, -100})}), f32({0.84134475f, -7.619853e-23f, 100, 0}), 1e-6, 0);
  check_near(run(Op::gelu, {f32({1})}, {{"approximate", std::string("tanh")}}), f32({0.84119199f}), 1e-6, 0);
  CHECK_SAME(run(Op::sigmoid, {f32({1000, -1000, 0, kInf, -kInf, kNan})}), f32({1, 0, 0.5f, 1, 0, kNan}));
}

TEST_CASE("corner values of pow", "[ops]") {
  Tensor a = f32({-8, -2, -2, -8, 0, kNan, 1, -kInf, -0.0f, -0.0f, -0.0f});
  Tensor b = f32({3, -3, 2, 0.33333334f, 0, 0, kNan, 0.5f, 0.5f, -1, -2});
  CHECK_SAME(run(Op::pow, {a, b}), f32({-512, -0.125f, 4, kNan, 1, 1, 1, kInf, 0, -kInf, kInf}));
  CHECK_SAME(run(Op::log, {run(Op::pow, {f32({-1.5f}), f32({-1.5f})})}), f32({kNan}));
  CHECK_SAME(run(Op::pow, {i32({3, -1, -1, 2, 2}), i32({4, -3, -2, -1, 33})}), i32({81, -1, 1, 0, 0}));
}

TEST_CASE("round takes halves to even", "[ops]") {
  Tensor x = f32({-2.5f, -1.5f, -0.5f, 0.5f, 1.5f, 2.5f, 0.49999997f, 8388609, kNan, -kInf, -0.0f});
  CHECK_SAME(run(Op::round, {x}), f32({-2, -2, -0.0f, 0, 2, 2, 0, 8388609, kNan, -kInf, -0.0f}));
}

TEST_CASE("division is IEEE division", "[ops]") {
  CHECK_SAME(run(Op::div, {f32({5}), f32({3})}), f32({from_bits(0x3fd55555)}));
  Tensor x = f32({41, 47});
  CHECK_SAME(run(Op::floor, {run(Op::div, {x, x})}), f32({1, 1}));
  CHECK_SAME(run(Op::div, {f32({2e-39f}), f32({1e-39f})}), f32({2}));
}

TEST_CASE("float sums keep their order", "[ops]") {
  Tensor a = f32({1e8f}), b = f32({1}), c = f32({-1e8f});
  CHECK_SAME(run(Op::add, {run(Op::add, {a, b}), c}), f32({0}));
  CHECK_SAME(run(Op::add, {run(Op::add, {a, c}), b}), f32({1}));
}

TEST_CASE("shifts beyond the width are defined", "[ops]") {
  CHECK_SAME(run(Op::shift_left, {i32({1, 1, 1, -1}), i32({31, 32, -1, 4})}), i32({INT32_MIN, 0, 0, -16}));
  CHECK_SAME(run(Op::shift_right, {i32({-16, -16, 16, 16}), i32({2, 99, 99, -1})}), i32({-4, -1, 0, 0}));
}

TEST_CASE("hard_swish, hard_sigmoid, elu and leaky_relu", "[ops]") {
  check_near(run(Op::hard_swish, {f32({-4, -3, -1, 1, 3, 4, kNan})}),
             f32({-0.0f, -0.0f, -1.0f / 3, 2.0f / 3, 3, 4, kNan}), 1e-6, 0);
  check_near(run(Op::hard_sigmoid, {f32({-4, 1, 4, kNan})}), f32({0, 0.7f, 1, kNan}), 1e-6, 0);
  check_near(run(Op::elu, {f32({-1, 2, kNan})}, {{"alpha", 2.0}}), f32({-1.2642411f, 2, kNan}), 1e-6, 0);
  CHECK_SAME(run(Op::leaky_relu, {f32({-2, 2, -0.0f, kNan})}, {{"alpha", 0.25}}), f32({-0.5f, 2, -0.0f, kNan}));
}

}  // namespace
}  // namespace weft::ir
