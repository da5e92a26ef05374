// Accuracy of the vectorised functions over a million floats of every exponent, against the op table (double, rounded
// once).
#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

#include "ir/support/error.hpp"
#include "tests/backends/harness.hpp"
#include "tests/catch.hpp"

namespace weft::test {
namespace {

using ir::Op;
using ir::Tensor;

struct Bound {
  Op op;
  double ulp;           ///< of the exact result
  double absolute = 0;  ///< or within this
  bool fast_gelu = false;
};

double ulp_of(double exact) {
  const float f = static_cast<float>(std::fabs(exact));
  return std::max<double>(std::nextafter(f, INFINITY) - f, 0x1p-149);
}

TEST_CASE("vectorised functions keep their stated errors") {
  std::vector<float> values;
  for (uint64_t bits = 0; bits < (1ull << 32); bits += 4099)
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (int i = 0; i < 200000; ++i) values.push_back(static_cast<float>(i - 100000) * 1.1e-4f);
  const int64_t n = static_cast<int64_t>(values.size());
  const Tensor x = Tensor::from<float>({n}, values);
  // A result below the smallest normal number may lose digits: 1e-38 is allowed everywhere.
  for (const Bound& bound : {Bound{Op::exp, 2},
                             {Op::log, 2},
                             {Op::tanh, 5},
                             {Op::erf, 3},
                             {Op::sigmoid, 3},
                             {Op::silu, 4},
                             {Op::softplus, 4},
                             {Op::elu, 3},
                             {Op::hard_swish, 3},
                             {Op::gelu, 5, 1e-7},
                             {Op::gelu, 5, 3e-7, true},
                             {Op::sqrt, 0.5},
                             {Op::rsqrt, 1.5},
                             {Op::reciprocal, 0.5}}) {
    ir::Attributes attributes;
    if (bound.fast_gelu) attributes.set("approximate", std::string("tanh"));
    const ir::ProgramRef program = ir::make_program(bound.op, {x.type()}, attributes);
    const Tensor found = run_kernel(backends::backend("tbb"), program, {x})[0];
    // Exact values from the op table in f64.
    const ir::ProgramRef wide = ir::make_program(bound.op, {{ir::DType::f64, {n}}}, attributes);
    Tensor doubles = Tensor::allocate({ir::DType::f64, {n}});
    for (int64_t i = 0; i < n; ++i)
      doubles.mutable_as<double>()[static_cast<size_t>(i)] = values[static_cast<size_t>(i)];
    const std::vector<Tensor> exact = ir::run_program(*wide, {{doubles}});
    double worst = 0, at = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double y = exact[0].as<double>()[static_cast<size_t>(i)], f = found.as<float>()[static_cast<size_t>(i)];
      if (std::isnan(y) != std::isnan(f)) {
        FAIL(ir::to_string(bound.op) << "(" << values[static_cast<size_t>(i)] << ") is " << f << ", expected " << y);
      }
      if (std::isnan(y) || static_cast<float>(y) == f || std::fabs(f - y) <= std::max(bound.absolute, 1e-38)) continue;
      const double error = std::fabs(f - y) / ulp_of(y);
      if (error > worst) worst = error, at = values[static_cast<size_t>(i)];
    }
    INFO(ir::to_string(bound.op) << " is worst at " << at);
    CHECK(worst <= bound.ulp + 0.5);
  }
}

TEST_CASE("vectorised functions reach their limits") {  // 1 + tanh(-inf) is 0, so that -inf * (1 + tanh(-inf)) is NaN
  const std::vector<float> large = {9, 9.5f, 12, 40, 100, 1e10f, 3e38f, INFINITY};
  for (const auto& [op, above, below] :
       {std::tuple{Op::tanh, 1.f, -1.f}, {Op::erf, 1.f, -1.f}, {Op::sigmoid, 1.f, 0.f}}) {
    std::vector<float> values = large;
    for (float x : large) values.push_back(op == Op::sigmoid ? -20 * x : -x);  // sigmoid(-89) is not yet 0
    if (op == Op::sigmoid)
      for (size_t i = 0; i < large.size(); ++i) values[i] *= 20;
    const Tensor x = Tensor::from<float>({static_cast<int64_t>(values.size())}, values);
    const Tensor found = run_kernel(backends::backend("tbb"), ir::make_program(op, {x.type()}, {}), {x})[0];
    for (size_t i = 0; i < values.size(); ++i) {
      INFO(ir::to_string(op) << " of " << values[i]);
      CHECK(found.as<float>()[i] == (values[i] > 0 ? above : below));
    }
  }
}

}  // namespace
}  // namespace weft::test
