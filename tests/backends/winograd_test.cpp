// 3x3 convolutions through transformed tiles: every shape of tile, edge and epilogue against the interpreter, whose
// sums are in double; NaN, infinities and overflows; bits whatever the number of parts.
#include <limits>

#include "tests/backends/onednn_fixture.hpp"

using namespace weft;
using namespace weft::test;

namespace {

const backends::Backend& onednn() { return backends::backend("onednn"); }

Attributes window(std::vector<int64_t> pads, std::vector<int64_t> dilations = {1, 1}) {
  return {{"layout", std::string("nxc")}, {"pads", pads}, {"dilations", dilations}};
}

bool transformed(const backends::Kernel& kernel) {
  return kernel.resources().implementation.find("winograd") != std::string::npos;
}

/// On machines where the loops are not used (no AVX2, or more than that) the same cases run as plain convolutions.
bool used_here() {
  Case c;
  const Value y = c.conv(c.value({1, 56, 56, 64}), c.parameter({64, 64, 3, 3}), window({1, 1, 1, 1}));
  return transformed(*onednn().compile(c.request(y, 1, true)));
}

struct Outcome {
  std::string implementation;
  std::vector<ir::Tensor> results;  // by 1, 2, 5 threads
};

Outcome check(Case& c, Value y) {
  Outcome outcome;
  for (int threads : {1, 2, 5}) {
    const ir::KernelRequest request = c.request(y, threads, true);
    const auto kernel = onednn().compile(request);
    outcome.implementation = kernel->resources().implementation;
    INFO(request.program->text() << "\n" << outcome.implementation << ", threads " << threads);
    const ir::Tensor expected = ir::run_program(*request.program, c.data)[0];
    outcome.results.push_back(run_kernel(*kernel, *request.program, c.kinds, c.data));
    CHECK(mismatch(outcome.results.back(), expected, 1e-4, 1e-4) <= 1);
    CHECK(run_kernel(*kernel, *request.program, c.kinds, c.data, false, true).same_bits(outcome.results.back()));
    CHECK(outcome.results.back().same_bits(outcome.results[0]));
    if (!kernel->resources().in_place.empty())
      CHECK(run_kernel(*kernel, *request.program, c.kinds, c.data, true).same_bits(outcome.results[0]));
  }
  return outcome;
}

Value with_steps(Case& c, Value y, const std::string& steps) {
  const std::vector<int64_t> dims = ir::to_ints(c.graph.type(y).shape);
  for (char s : steps) {
    if (s == 'b') y = c.op(Op::add, {y, c.parameter({dims[3]})});
    if (s == 'r') y = c.op(Op::add, {y, c.value(dims)});
    if (s == 'u') y = c.op(Op::relu, {y});
    if (s == '6') y = c.op(Op::clip, {y, c.number(0), c.number(6)});
    if (s == 'l') y = c.op(Op::leaky_relu, {y}, {{"alpha", 0.1}});
    if (s == 'h') y = c.op(Op::hard_swish, {y});
    if (s == 'g') y = c.op(Op::hard_sigmoid, {y});
    if (s == 'a') y = c.op(Op::abs, {y});
    if (s == 'm') y = c.op(Op::max, {y, c.value(dims)});
    if (s == 'i') y = c.op(Op::min, {y, c.parameter({dims[3]})});
    if (s == '-') y = c.op(Op::sub, {y, c.value({dims[0], 1, 1, dims[3]})});
    if (s == '*') y = c.op(Op::mul, {y, c.number(0.5f)});
    if (s == '/') y = c.op(Op::div, {y, c.number(3)});
  }
  return y;
}

}  // namespace

TEST_CASE("winograd: shapes, pads, dilations, batches") {
  struct Shape {
    std::vector<int64_t> x;
    int64_t outputs;
    std::vector<int64_t> pads, dilations;
  };
  int used = 0;
  for (const Shape& s :
       {Shape{{1, 28, 28, 64}, 64, {1, 1, 1, 1}, {1, 1}}, Shape{{1, 17, 13, 64}, 72, {1, 1, 1, 1}, {1, 1}},
        Shape{{2, 14, 14, 128}, 64, {1, 1, 1, 1}, {1, 1}}, Shape{{1, 7, 7, 256}, 128, {1, 1, 1, 1}, {1, 1}},
        Shape{{1, 40, 8, 64}, 24, {0, 2, 1, 0}, {1, 1}}, Shape{{1, 30, 31, 64}, 64, {5, 5, 5, 5}, {5, 5}},
        Shape{{1, 24, 40, 40}, 64, {2, 3, 2, 3}, {2, 3}}, Shape{{1, 3, 3, 128}, 128, {1, 1, 1, 1}, {1, 1}},
        Shape{{3, 9, 22, 72}, 136, {0, 0, 0, 0}, {1, 1}}}) {
    Case c;
    const Value y = c.conv(c.value(s.x), c.parameter({s.outputs, s.x[3], 3, 3}), window(s.pads, s.dilations));
    used += check(c, with_steps(c, y, "bu")).implementation.find("winograd") != std::string::npos;
  }
  CHECK(used >= (used_here() ? 6 : 0));
}

TEST_CASE("winograd: epilogues") {
  for (const char* steps :
       {"", "b", "bru", "ru", "bmu", "b6", "bl", "bh", "bg", "ba", "bi", "b-", "b*/", "u*rr", "rru"}) {
    Case c;
    const Value y = c.conv(c.value({2, 15, 18, 64}), c.parameter({64, 64, 3, 3}), window({1, 1, 1, 1}));
    INFO(steps);
    check(c, with_steps(c, y, steps));
  }
}

TEST_CASE("winograd: channels-last pixels that lie apart") {
  Case c;
  const Value x = c.op(Op::slice, {c.value({1, 30, 30, 64})},
                       {{"starts", std::vector<int64_t>{0, 1, 2, 0}},
                        {"ends", std::vector<int64_t>{1, 29, 30, 64}},
                        {"steps", std::vector<int64_t>{1, 1, 1, 1}}});
  const Value y = c.conv(x, c.parameter({64, 64, 3, 3}), window({1, 1, 1, 1}));
  check(c, with_steps(c, y, "bu"));
}

TEST_CASE("winograd: NaN, infinities and sums that overflow go where plain sums let them") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (const char* steps : {"b", "bu", "b6", "bru"})
    for (float bad : {nan, inf, -inf, 3e38f})
      for (bool in_weights : {false, true}) {
        Case c;
        const Value x = c.value({1, 28, 28, 64}), w = c.parameter({64, 64, 3, 3});
        const Value y = c.conv(x, w, window({1, 1, 1, 1}));
        const Value result = with_steps(c, y, steps);
        auto data = c.data[in_weights ? 1 : 0].mutable_as<float>();
        data[data.size() / 2 + 5] = bad;
        data[3] = -bad;
        for (int threads : {1, 2}) {
          const ir::KernelRequest request = c.request(result, threads, true);
          INFO(steps << ", " << bad << (in_weights ? " in weights" : " in the input"));
          const auto kernel = onednn().compile(request);
          if (in_weights && !transformed(*kernel))
            continue;  // plain convolutions skip padding (backends/onednn/README.md)
          const ir::Tensor expected = ir::run_program(*request.program, c.data)[0];
          CHECK(mismatch(run_kernel(*kernel, *request.program, c.kinds, c.data), expected, 1e-4, 1e-3) <= 1);
        }
      }
}

TEST_CASE("winograd: only by permission, and at most a few times the error of plain sums") {
  Case c;
  Value y = c.conv(c.value({1, 28, 28, 128}), c.parameter({128, 128, 3, 3}), window({1, 1, 1, 1}));
  const ir::KernelRequest strict = c.request(y, 1), loose = c.request(y, 1, true);
  const auto plain = onednn().compile(strict), fast = onednn().compile(loose);
  CHECK(!transformed(*plain));
  const ir::Tensor expected = ir::run_program(*strict.program, c.data)[0];
  const auto error = [&](const backends::Kernel& kernel) {
    const ir::Tensor found = run_kernel(kernel, *strict.program, c.kinds, c.data);
    double sum = 0;
    for (size_t i = 0; i < found.as<float>().size(); ++i)
      sum += std::pow(static_cast<double>(found.as<float>()[i]) - expected.as<float>()[i], 2);
    return std::sqrt(sum / static_cast<double>(found.elements()));
  };
  CHECK(error(*fast) <= 4 * error(*plain));
  if (transformed(*fast)) CHECK(error(*fast) > 0);
}
