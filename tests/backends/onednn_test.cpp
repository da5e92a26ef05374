// What holds of all of oneDNN's kernels: special numbers, refusals, threads, parts, prices.
#include <algorithm>
#include <atomic>
#include <limits>
#include <thread>

#include "ir/support/error.hpp"
#include "tests/backends/onednn_forms.hpp"

using namespace weft;
using namespace weft::test;

TEST_CASE("NaN, infinities and overflow pass through the chain as the op table says") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (float poison : {nan, inf, -inf, 3e38f}) {
    for (int where : {0, 1, 2}) {  // source, weights, residual
      for (int last : {0, 1, 2, 3, 4}) {
        for (int64_t kernel : {1, 3}) {
          Case c;
          const int64_t pad = kernel / 2;
          if (where == 1 && pad > 0) continue;  // the interpreter multiplies padding by the weight, oneDNN does not
          const Value x = c.value({1, 12, 12, 24}), w = c.parameter({24, 24, kernel, kernel});
          Value y = c.conv(x, w, nxc({}, {pad, pad, pad, pad}));
          y = c.op(Op::add, {y, c.value({1, 12, 12, 24})});
          if (last == 0) y = c.op(Op::relu, {y});
          if (last == 1) y = c.op(Op::clip, {y, c.number(0), c.number(6)});
          if (last == 2) y = c.op(Op::max, {y, c.number(1)});
          if (last == 3) y = c.op(Op::hard_swish, {y});
          if (last == 4) y = c.op(Op::sigmoid, {y});
          const std::span<float> poisoned = c.data[static_cast<size_t>(where)].mutable_as<float>();
          for (size_t at : {size_t{0}, size_t{500}}) poisoned[at] = poison;
          check(c, y,
                "poison " + std::to_string(poison) + " in operand " + std::to_string(where) + ", step " +
                    std::to_string(last));
        }
      }
    }
  }
}

TEST_CASE("refusals say why") {
  {
    Case c;
    CHECK(refusal(c, c.op(Op::relu, {c.value({3})})) == "neither a convolution nor a matmul in it");
  }
  {
    Case c;
    const Value x = c.value({1, 8, 8, 16}), w = c.parameter({16, 16, 1, 1});
    const Value y = c.op(Op::pow, {c.conv(x, w, kNxc), c.value({1, 8, 8, 16})});
    CHECK(refusal(c, y) == "pow as an epilogue");
    const ir::KernelRequest request = c.request(y, 1);
    CHECK_THROWS_AS(onednn().compile(request), weft::Error);
  }
  {
    Case c;
    const Value y = c.conv(c.value({1, 8, 8, 16}), c.parameter({16, 16, 1, 1}), kNxc);
    CHECK(refusal(c, c.op(Op::softmax, {y}, {{"axis", int64_t{-1}}})).find("softmax") != std::string::npos);
  }
  {
    Case c;
    const Value a = c.op(Op::matmul, {c.value({8, 8}), c.parameter({8, 8})});
    CHECK(refusal(c, c.op(Op::matmul, {a, c.parameter({8, 8})})).find("2 convolutions") != std::string::npos);
  }
  {
    Case c;
    const Value y = c.op(Op::matmul, {c.value({8, 8}), c.value({8, 8})});
    CHECK(refusal(c, c.op(Op::relu, {y})).find("NaN") != std::string::npos);
  }
}

TEST_CASE("one kernel from many threads, bit by bit the same") {
  Case c;
  Value y = c.conv(c.value({1, 28, 28, 32}), c.parameter({32, 32, 3, 3}), nxc({}, {1, 1, 1, 1}));
  y = c.op(Op::relu, {c.op(Op::add, {c.op(Op::add, {y, c.parameter({32})}), c.value({1, 28, 28, 32})})});
  const ir::KernelRequest request = c.request(y, 2);
  std::unique_ptr<backends::Kernel> kernel;
  std::unique_ptr<backends::PackedParameters> packed;
  std::thread([&] {  // made by a thread that is gone when the kernel runs
    kernel = onednn().compile(request);
    std::vector<ir::Tensor> parameters = c.data;
    packed = kernel->pack(parameters);
  })
      .join();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      std::vector<ir::Tensor> data = c.data;
      data[0] = ir::filled(c.data[0].type(), t);
      const ir::Tensor first = run_kernel(*kernel, *request.program, c.kinds, data, false, false, packed.get());
      for (int i = 0; i < 50; ++i) {
        const ir::Tensor again = run_kernel(*kernel, *request.program, c.kinds, data, false, i % 2 == 1, packed.get());
        if (!again.same_bits(first)) ++wrong;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("bits do not depend on the number of parts") {
  for (const auto& w : std::vector<std::vector<int64_t>>{{64, 64, 3, 3}, {256, 64, 1, 1}}) {
    Case c;
    const int64_t pad = w[2] / 2;
    const Value y = c.op(Op::relu, {c.conv(c.value({1, 28, 28, 64}), c.parameter(w), nxc({}, {pad, pad, pad, pad}))});
    std::vector<ir::Tensor> results;
    for (int threads : {1, 2, 8}) {
      const ir::KernelRequest request = c.request(y, threads);
      results.push_back(run_kernel(*onednn().compile(request), *request.program, c.kinds, c.data));
    }
    CHECK(results[0].same_bits(results[1]));
    CHECK(results[0].same_bits(results[2]));
  }
}

TEST_CASE("estimates grow with work and fall with threads") {
  const auto cost = [](int64_t channels, int threads) {
    Case c;
    const Value y =
        c.conv(c.value({1, 28, 28, channels}), c.parameter({channels, channels, 3, 3}), nxc({}, {1, 1, 1, 1}));
    return std::get<ir::KernelEstimate>(onednn().estimate(c.request(y, threads))).nanoseconds;
  };
  CHECK(cost(64, 1) > 3 * cost(32, 1));
  CHECK(cost(64, 2) < 0.6 * cost(64, 1));
  CHECK(onednn().version().find("oneDNN") != std::string::npos);
  CHECK(onednn().rules().at(0).text.find("nxc") != std::string::npos);
}
