#include "runtime/verify.hpp"

#include "tests/catch.hpp"
#include "tests/runtime/graphs.hpp"

namespace weft::runtime {
namespace {

using namespace test;
using Catch::Matchers::Contains;

TEST_CASE("a wrong kernel is found by verify, and where") {
  const char* text = "graph g(x: f32[4]) { a = neg(x)\n b = exp(a)\n return y: add(b, 1) }";
  const ir::NamedTensors inputs = {{"x", random_tensor({ir::DType::f32, {4}}, 1)}};
  const VerifyReport right = verify(make_session(text), inputs, {1e-5, 1e-6});
  CHECK(right.agrees());
  CHECK_FALSE(right.kernel);
  SessionOptions null = plain();  // a backend that computes nothing is as wrong as can be
  null.backends = {"null"};
  const VerifyReport wrong = verify(make_session(text, null), inputs, {1e-5, 1e-6});
  CHECK_FALSE(wrong.agrees());
  REQUIRE(wrong.kernel);
  CHECK_THAT(wrong.kernel->step, Contains("null"));
  CHECK_THAT(wrong.kernel->against, Contains("neg(a0)"));
  CHECK(wrong.kernel->difference.beyond == 4);
}

TEST_CASE("where every kernel is right, verify says where the errors that pass have grown") {
  const char* text = "graph g(x: f32[4096]) { a = exp(x)\n b = mul(a, 1e6)\n return y: b }";
  SessionOptions apart = plain();
  apart.compile.level = 0;  // two steps
  const VerifyReport report =
      verify(make_session(text, apart), {{"x", random_tensor({ir::DType::f32, {4096}}, 1)}}, {0, 1e-6});
  CHECK_FALSE(report.agrees());
  CHECK_FALSE(report.kernel);
  REQUIRE(report.node);
  CHECK(report.node->against == "b");
  CHECK(report.compared == report.steps);
}

}  // namespace
}  // namespace weft::runtime
