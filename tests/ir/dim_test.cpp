#include "ir/support/error.hpp"
#include "ir/text.hpp"
#include "ir/types.hpp"
#include "tests/catch.hpp"
#include "tests/ir/random_graph.hpp"

using namespace weft;
using namespace weft::ir;

namespace {

Dim parse(std::string_view text) { return dim_from_expression(parse_expression(text)); }

/// A random expression over a, b, c and what it is worth for the given bindings, computed beside it.
struct Sample {
  Dim dim;
  int64_t worth;
};
Sample sample(test::Random& random, const DimBindings& values, int depth) {
  if (depth == 0 || random.chance(0.2)) {
    int64_t constant = random.between(-4, 9);
    if (random.chance(0.4)) return {constant, constant};
    std::string name(1, static_cast<char>('a' + random.between(0, 2)));
    return {Dim::symbol(name), values.at(name)};
  }
  Sample x = sample(random, values, depth - 1), y = sample(random, values, depth - 1);
  auto floor_divided = [](int64_t p, int64_t q) { return p / q - (p % q != 0 && (p < 0) != (q < 0)); };
  switch (random.between(0, 6)) {
    case 0:
      return {x.dim + y.dim, x.worth + y.worth};
    case 1:
      return {x.dim - y.dim, x.worth - y.worth};
    case 2:
      return {x.dim * y.dim, x.worth * y.worth};
    case 3:
      return {max(x.dim, y.dim), std::max(x.worth, y.worth)};
    case 4:
      return {min(x.dim, y.dim), std::min(x.worth, y.worth)};
    case 5: {
      const int64_t by = random.chance(0.1) ? -3 : random.between(1, 6);
      return {floor_div(x.dim, by), floor_divided(x.worth, by)};
    }
    default:
      const int64_t by = random.chance(0.1) ? -2 : random.between(1, 6);
      return {ceil_div(x.dim, by), -floor_divided(-x.worth, by)};
  }
}

}  // namespace

TEST_CASE("dimension expressions keep their worth through identities and text") {
  test::Random random(5);
  for (int i = 0; i < 3000; ++i) {
    DimBindings values = {{"a", random.between(1, 20)}, {"b", random.between(1, 20)}, {"c", random.between(1, 20)}};
    Sample s = sample(random, values, 4);
    INFO(s.dim.text());
    CHECK(s.dim.substitute(values) == Dim(s.worth));
    CHECK(parse(s.dim.text()) == s.dim);
  }
}

TEST_CASE("text of dimensions has parentheses where they matter only") {
  Dim n = Dim::symbol("N"), m = Dim::symbol("M");
  CHECK((floor_div(n, 2) + 1).text() == "N/2+1");
  CHECK(((n + 1) * m).text() == "(N+1)*M");
  CHECK((max(n, m) + 1).text() == "max(N,M)+1");
  CHECK((m * (max(n, m) + 1)).text() == "M*(max(N,M)+1)");
  CHECK((n - (m - n)).text() == "N-(M-N)");
  CHECK((Dim(2) * n).text() == "N*2");
  CHECK((n * Dim(-2)).text() == "N*(-2)");
}

TEST_CASE("offsets fold, so that padding and cropping give the dimension back") {
  Dim n = Dim::symbol("N");
  CHECK(n + 2 - 2 == n);
  CHECK(n + 3 - 5 == n - 2);
  CHECK(Dim(1) + n + 1 == n + 2);
  CHECK(n + INT64_MAX - INT64_MAX == n);
  CHECK((n + INT64_MAX + 1).substitute({{"N", -5}}) == Dim(INT64_MAX - 4));
}

TEST_CASE("strides, paddings and their reverse in a row stay short, and equal ones meet") {
  const Dim n = Dim::symbol("N");
  const auto halved = [](Dim d) { return floor_div(d - 1, 2) + 1; };  // a window of 3, stride 2, padding 1
  CHECK(halved(n).text() == "(N+1)/2");
  CHECK(halved(halved(halved(n))).text() == "(N+7)/8");
  CHECK(halved(n) == ceil_div(n, 2));
  CHECK(((floor_div(n - 1, 4) * 2 + 1) * 2 + 2).text() ==
        "(N+3)/4*4");  // down by 4, and up again by two transposed ones
  CHECK((floor_div(n, 2) + 1).text() == "N/2+1");
  CHECK(floor_div(n * 4 + 6, 2).text() == "N*2+3");
  CHECK(floor_div(n * 2 + 5, 4).text() == "N/2+1");
  CHECK(floor_div(n * 6 + 5, 4).text() == "N*3/2+1");
  CHECK((n + 5 - (n + 2)).is(3));
  CHECK(floor_div(n - 5, -2).substitute({{"N", 2}}).is(1));
}

TEST_CASE("symbols that are no identifiers are quoted and never mistaken for expressions") {
  Dim odd = Dim::symbol("a+b");
  CHECK(odd.text() == "\"a+b\"");
  CHECK(odd != Dim::symbol("a") + Dim::symbol("b"));
  CHECK(odd.symbols() == std::vector<std::string>{"a+b"});
  CHECK(odd.substitute({{"a+b", 7}}) == Dim(7));
  CHECK(parse((odd * 2 + 1).text()) == odd * 2 + 1);
}

TEST_CASE("dimensions beyond the limits are errors") {
  CHECK_THROWS_AS(Dim(INT64_MAX) + 1, Error);
  CHECK_THROWS_AS(floor_div(Dim::symbol("N"), 0), Error);
  Dim deep = Dim::symbol("N");
  CHECK_THROWS_AS(
      [&] {
        for (int i = 0; i < 100000; ++i) deep = floor_div(deep + 1, 2);
      }(),
      Error);
  Dim wide = Dim::symbol("N");
  CHECK_THROWS_AS(
      [&] {
        for (int i = 0; i < 64; ++i) wide = wide * wide;
      }(),
      Error);
}
