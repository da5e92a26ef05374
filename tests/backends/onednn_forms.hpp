#pragma once
// Every accepted form against the interpreter: parts in any order, threads 1, 2 and 8, in place and not. Sums of up to
// a few hundred products in another order, and vector approximations of functions: 1e-4 absolute and 1e-3 relative.
#include <memory>
#include <string>
#include <vector>

#include "tests/backends/onednn_fixture.hpp"

namespace weft::test {

inline const backends::Backend& onednn() { return backends::backend("onednn"); }

/// Gives the implementation that ran.
inline std::string check(Case& c, Value result, const std::string& what) {
  std::string implementation;
  INFO(what);
  for (int threads : {1, 2, 8}) {
    const ir::KernelRequest request = c.request(result, threads);
    INFO(request.program->text());
    INFO("threads " << threads);
    const auto estimate = onednn().estimate(request);
    if (const auto* refusal = std::get_if<ir::Refusal>(&estimate)) FAIL(refusal->reason);
    const std::unique_ptr<backends::Kernel> kernel = onednn().compile(request);
    INFO("implementation " << kernel->resources().implementation << ", parts " << kernel->resources().parts);
    implementation = kernel->resources().implementation;
    CHECK(kernel->resources().parts >= 1);
    CHECK(kernel->resources().parts <= threads);
    const ir::Tensor expected = ir::run_program(*request.program, c.data)[0];
    CHECK(mismatch(run_kernel(*kernel, *request.program, c.kinds, c.data), expected, 1e-4, 1e-3) <= 1);
    CHECK(mismatch(run_kernel(*kernel, *request.program, c.kinds, c.data, false, true), expected, 1e-4, 1e-3) <= 1);
    if (!kernel->resources().in_place.empty()) {
      CHECK(mismatch(run_kernel(*kernel, *request.program, c.kinds, c.data, true), expected, 1e-4, 1e-3) <= 1);
    }
  }
  return implementation;
}

inline std::string refusal(Case& c, Value result) {
  const auto estimate = onednn().estimate(c.request(result, 2));
  const auto* why = std::get_if<ir::Refusal>(&estimate);
  return why ? why->reason : "";
}

inline const Attributes kNxc{{"layout", std::string("nxc")}};
inline Attributes nxc(std::vector<int64_t> strides, std::vector<int64_t> pads, int64_t groups = 1,
                      std::vector<int64_t> dilations = {}) {
  return {{"layout", std::string("nxc")},
          {"strides", strides},
          {"pads", pads},
          {"groups", groups},
          {"dilations", dilations}};
}

}  // namespace weft::test
