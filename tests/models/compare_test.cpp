#include "tests/models/compare.hpp"

#include <cmath>
#include <limits>
#include <set>

#include "tests/catch.hpp"
#include "tests/models/model_list.hpp"

namespace weft::models {
namespace {

ir::NamedTensors named(std::vector<float> values) {
  return {{"y", ir::Tensor::from<float>({static_cast<int64_t>(values.size())}, values)}};
}

TEST_CASE("compare: the tolerance is atol + rtol * |expected|, the detail names the first element that is off") {
  CHECK(compare(named({1.0009f}), named({1}), 1e-3, 0).agrees);
  CHECK_FALSE(compare(named({1.0011f}), named({1}), 1e-3, 0).agrees);
  Comparison off = compare(named({1, 2, 9}), named({1, 3, 4}), 1e-3, 1e-5);
  CHECK(off.detail == "'y' element 1: 2 where 3 is expected");
  CHECK(off.max_difference == 5);
  CHECK(off.text().substr(0, 3) == "NO:");
}

TEST_CASE("compare: nan, infinity, missing outputs, other types") {
  float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  CHECK(compare(named({nan, inf}), named({nan, inf}), 0, 0).agrees);
  CHECK_FALSE(compare(named({1}), named({nan}), 1, 1).agrees);
  CHECK_FALSE(compare(named({-inf}), named({inf}), 1, 1).agrees);
  CHECK_FALSE(compare({}, named({1}), 1, 1).agrees);
  CHECK_FALSE(compare(named({1, 1}), named({1}), 1, 1).agrees);
  CHECK_FALSE(compare({{"y", ir::Tensor::from<double>({1}, std::vector<double>{1})}}, named({1}), 1, 1).agrees);
}

TEST_CASE("random inputs: same seed, same bits; within their range; ids are whole") {
  const ModelCase& image = find_model("tiny_pad").cases.front();
  CHECK(random_inputs(image, 7).at("image").same_bits(random_inputs(image, 7).at("image")));
  CHECK_FALSE(random_inputs(image, 7).at("image").same_bits(random_inputs(image, 8).at("image")));
  CHECK(random_inputs(image, 1).at("image").as<float>()[0] == Approx(-0.73225).epsilon(1e-5));  // on every machine
  std::set<int64_t> seen;
  ir::Tensor ids = random_inputs(find_model("tiny_bert").cases.at(1), 1).at("input_ids");
  for (int64_t id : ids.as<int64_t>()) {
    CHECK((id >= 0 && id < 100));
    seen.insert(id);
  }
  CHECK(seen.size() > 20);
}

}  // namespace
}  // namespace weft::models
