#include "ir/support/nearest.hpp"
#include "tests/catch.hpp"

using namespace weft;

TEST_CASE("the nearest name is suggested, or none") {
  std::vector<std::string_view> names = {"relu", "rsqrt", "sqrt", "reduce_sum", "reduce_max", "N", "H"};
  CHECK(nearest("rleu", names) == "relu");
  CHECK(nearest("sqr", names) == "sqrt");
  CHECK(nearest("ReduceSum", names).empty() == false);
  CHECK(nearest("n", names) == "N");
  CHECK(nearest("reduce_min", names) == "reduce_max");
  CHECK(nearest("convolution", names).empty());
  CHECK(nearest("", names).empty());
  CHECK(nearest(std::string(1000, 'a'), names).empty());
  CHECK(suggest("Relu", names) == "; did you mean 'relu'?");
  CHECK(suggest("xyz", names).empty());
}
