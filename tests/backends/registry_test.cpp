// The registry, and what every backend promises about estimates.
#include "backends/registry.hpp"

#include "ir/support/error.hpp"
#include "tests/backends/harness.hpp"
#include "tests/catch.hpp"

namespace weft::test {
namespace {

using backends::Backend;

TEST_CASE("the registry stands in the order of preference, null and reference last") {
  const std::vector<const Backend*>& all = backends::registry();
  REQUIRE(all.size() >= 2);
  CHECK(all[all.size() - 1]->name() == "null");
  CHECK(all[all.size() - 2]->name() == "reference");
  for (const Backend* backend : all) {
    CHECK(&backends::backend(backend->name()) == backend);
    CHECK(backend->version() != "");
    CHECK(backend->version() == backend->version());
  }
}

TEST_CASE("an unknown backend is named in the error, with those that exist") {
  try {
    backends::backend("gpu");
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(e.code() == ErrorCode::invalid_argument);
    CHECK(e.message().find("'gpu'") != std::string::npos);
    CHECK(e.message().find("reference") != std::string::npos);
  }
}

TEST_CASE("estimates are pure: the same answer each time, dearer with more work, and the reference dearest") {
  const auto price = [](const char* backend, int64_t n, int threads) {
    const ir::ProgramRef program = program_of(fmt::format("graph p(x: f32[{}]) {{ return gelu(x) }}", n));
    const auto answer = backends::backend(backend).estimate({program, {ir::OperandKind::value}, threads});
    return std::get<ir::KernelEstimate>(answer).nanoseconds;
  };
  CHECK(price("tbb", 1000, 2) == price("tbb", 1000, 2));
  CHECK(price("tbb", 1'000'000, 1) > 10 * price("tbb", 10'000, 1));
  CHECK(price("tbb", 1'000'000, 2) < price("tbb", 1'000'000, 1));
  CHECK(price("reference", 1000, 2) > 20 * price("tbb", 1000, 2));
}

TEST_CASE("tiny kernels have one part, large ones a multiple of the threads") {
  const auto parts = [](int64_t n, int threads) {
    const ir::ProgramRef program = program_of(fmt::format("graph p(x: f32[{}]) {{ return exp(x) }}", n));
    return backends::backend("tbb").resources({program, {ir::OperandKind::value}, threads}).parts;
  };
  CHECK(parts(1000, 8) == 1);
  CHECK(parts(50'000'000, 1) == 1);
  CHECK(parts(5'000'000, 2) >= 2);
  CHECK(parts(5'000'000, 2) % 2 == 0);
  CHECK(parts(50'000'000, 8) % 8 == 0);
}

TEST_CASE("null takes everything and touches nothing; reference refuses only what has no meaning") {
  const ir::ProgramRef program = program_of("graph p(x: f32[4], y: f32[4]) { return x + y }");
  const std::vector<ir::Tensor> operands = random_operands(*program, 1);
  const ir::Tensor untouched = run_kernel(backends::backend("null"), program, operands)[0];
  CHECK(!untouched.same_bits(run_kernel(backends::backend("reference"), program, operands)[0]));
  CHECK(refusal(backends::backend("reference"), program) == "");
}

TEST_CASE("a program above the size limit is refused in words") {
  std::string text = "graph p(x: f32[4]) {\n v0 = relu(x)\n";
  for (int i = 1; i < 200; ++i) text += fmt::format(" v{} = abs(v{}) + v{}\n", i, i - 1, i - 1);
  const std::string why = refusal(backends::backend("tbb"), program_of(text + " return v199 }"));
  CHECK(why.find("nodes") != std::string::npos);
}

}  // namespace
}  // namespace weft::test
