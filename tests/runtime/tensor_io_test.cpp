#include "runtime/tensor_io.hpp"

#include <cstring>
#include <fstream>
#include <limits>
#include <random>

#include "ir/support/error.hpp"
#include "runtime/compare.hpp"
#include "runtime/container.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/graphs.hpp"

namespace weft::runtime {
namespace {

using ir::Tensor;
using namespace test;
namespace fs = std::filesystem;
using Catch::Matchers::Contains;

std::string npy(const std::string& header, const std::string& data) {
  std::string bytes = "\x93NUMPY";
  bytes += {'\x01', '\x00', static_cast<char>(header.size()), '\x00'};
  return bytes + header + data;
}
std::string floats(std::vector<float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * 4};
}

TEST_CASE("every dtype and rank survives npy") {
  for (int d = 0; d < ir::kDTypeCount; ++d)
    for (const ir::Shape& shape : {ir::Shape{}, ir::Shape{3}, ir::Shape{0, 2}, ir::Shape{2, 3, 2}}) {
      Tensor t = random_tensor({static_cast<ir::DType>(d), shape}, 4);
      std::string bytes = format_npy(t);
      INFO(to_string(t.type()));
      CHECK((bytes.size() - t.bytes()) % 64 == 0);
      CHECK(parse_npy(bytes).same_bits(t));
    }
}

TEST_CASE("npy as others write it") {
  Tensor t = parse_npy(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n", floats({1, 4, 2, 5, 3, 6})));
  CHECK(values<float>(t) == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(t.shape() == ir::Shape{2, 3});
  CHECK(values<int32_t>(parse_npy(npy("{'descr': '>i4', 'fortran_order': False, 'shape': (1L,), }",
                                      std::string("\0\0\1\2", 4)))) == std::vector<int32_t>{258});
  CHECK(
      parse_npy(npy("{\"shape\":(),\"fortran_order\":False,\"descr\":\"=f8\"}", std::string(8, '\0'))).type().rank() ==
      0);
}

TEST_CASE("malformed npy is an error") {
  std::string good = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", floats({1, 2}));
  CHECK_NOTHROW(parse_npy(good));
  for (size_t n = 0; n < good.size(); ++n) CHECK_THROWS_AS(parse_npy(good.substr(0, n)), Error);
  CHECK_THROWS_AS(parse_npy(good + "x"), Error);
  for (const char* header :
       {"", "{", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False, 'shape': (2}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,)}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4611686018427387904)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}"}) {
    INFO(header);
    CHECK_THROWS_AS(parse_npy(npy(header, floats({1, 2}))), Error);
  }
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    std::string bad = good;
    bad[random() % bad.size()] = static_cast<char>(random());
    try {
      parse_npy(bad);
    } catch (const Error&) {
    }
  }
}

TEST_CASE("npz and npy files") {
  TemporaryDirectory directory;
  ir::NamedTensors tensors = {{"a", Tensor::from<float>({2}, {1, 2})},
                              {"b.c/d", Tensor::from<int64_t>({}, {7})},
                              {"é", Tensor::zeros({ir::DType::boolean, {0}})}};
  save_tensors(directory / "t.npz", tensors);
  ir::NamedTensors again = load_tensors(directory / "t.npz");
  REQUIRE(again.size() == 3);
  for (const auto& [name, tensor] : tensors) CHECK(again.at(name).same_bits(tensor));
  save_tensors(directory / "t.npy", {{"a", tensors.at("a")}});
  CHECK(load_tensor(directory / "t.npy").same_bits(tensors.at("a")));
  CHECK_THROWS_AS(save_tensors(directory / "t.npy", tensors), Error);
  CHECK_THROWS_AS(save_tensors(directory / "t.txt", tensors), Error);
  CHECK_THROWS_AS(save_tensors(directory / "none/t.npz", tensors), Error);
  CHECK_THROWS_WITH(load_tensors(directory / "none.npz"), Contains("none.npz"));
  CHECK_THROWS_WITH(load_tensors(directory / "none.npy"), Contains("none.npy"));
  CHECK_THROWS_AS(load_tensors(directory.path()), Error);
  CHECK_THROWS_AS(load_tensor(directory / "t.npz"), Error);
  std::string good = read_file(directory / "t.npz");
  std::mt19937 random(2);
  for (int i = 0; i < 400; ++i) {
    std::string bad = i < 200 ? good.substr(0, random() % good.size()) : good;
    if (i >= 200) bad[random() % bad.size()] = static_cast<char>(random());
    std::ofstream(directory / "bad.npz", std::ios::binary) << bad;
    try {
      load_tensors(directory / "bad.npz");
    } catch (const Error&) {
    }
  }
}

TEST_CASE("comparison") {
  auto f = [](std::vector<float> v) { return Tensor::from<float>({static_cast<int64_t>(v.size())}, v); };
  float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  CHECK(compare(f({1, nan, inf, -0.f}), f({1, nan, inf, 0.f}), {0, 0}).agrees());
  CHECK(compare(f({1, 2}), f({1, 2}), {0, 0}).worst == -1);
  Difference d = compare(f({1, 2.5f, 3}), f({1, 2, 3}), {0.1, 0.1});
  CHECK(d.beyond == 1);
  CHECK(d.worst == 1);
  CHECK(d.max_absolute == 0.5);
  CHECK(d.max_relative == 0.25);
  CHECK_FALSE(compare(f({inf}), f({-inf}), {1e9, 1e9}).agrees());
  CHECK_FALSE(compare(f({nan}), f({1}), {1e9, 1e9}).agrees());
  CHECK_FALSE(compare(f({1}), f({inf}), {1e9, 1e9}).agrees());
  CHECK(compare(f({std::nextafter(1.f, 2.f)}), f({1}), {}).max_ulp == 1);
  CHECK(compare(f({std::nextafter(0.f, -1.f)}), f({std::nextafter(0.f, 1.f)}), {}).max_ulp == 2);
  CHECK_THAT(compare(f({1}), Tensor::from<int32_t>({1}, {1}), {}).text(), Contains("i32[1]"));
  CHECK_FALSE(compare(Tensor::from<int64_t>({2}, {5, 6}), Tensor::from<int64_t>({2}, {5, 7}), {9, 9}).agrees());
}

TEST_CASE("random tensors are the same everywhere") {
  CHECK(random_tensor({ir::DType::i64, {4}}, 1, 10).same_bits(random_tensor({ir::DType::i64, {4}}, 1, 10)));
  CHECK_FALSE(random_tensor({ir::DType::f32, {4}}, 1).same_bits(random_tensor({ir::DType::f32, {4}}, 2)));
  for (int d = 0; d < ir::kDTypeCount; ++d) {
    Tensor t = random_tensor({static_cast<ir::DType>(d), {1000}}, 3, 1000000);
    for (int64_t i = 0; i < 1000; ++i) {
      double v = t.at_double(i);
      CHECK((is_float(t.dtype()) ? v >= -1 && v <= 1 : v >= 0));
    }
  }
}

}  // namespace
}  // namespace weft::runtime
