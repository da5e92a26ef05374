// More than 500 lines: the accepted forms of one backend, mostly tables of shapes and epilogues.
// Every accepted form against the interpreter: parts in any order, threads 1, 2 and 8, in place and not. Sums of up to
// a few hundred products in another order, and vector approximations of functions: 1e-4 absolute and 1e-3 relative.
#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <thread>

#include "ir/support/error.hpp"
#include "tests/backends/onednn_fixture.hpp"

using namespace weft;
using namespace weft::test;

namespace {

const backends::Backend& onednn() { return backends::backend("onednn"); }

/// Gives the implementation that ran.
std::string check(Case& c, Value result, const std::string& what) {
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

std::string refusal(Case& c, Value result) {
  const auto estimate = onednn().estimate(c.request(result, 2));
  const auto* why = std::get_if<ir::Refusal>(&estimate);
  return why ? why->reason : "";
}

const Attributes kNxc{{"layout", std::string("nxc")}};
Attributes nxc(std::vector<int64_t> strides, std::vector<int64_t> pads, int64_t groups = 1,
               std::vector<int64_t> dilations = {}) {
  return {{"layout", std::string("nxc")},
          {"strides", strides},
          {"pads", pads},
          {"groups", groups},
          {"dilations", dilations}};
}

}  // namespace

TEST_CASE("convolutions of every kind, channels last") {
  struct Shape {
    const char* name;
    std::vector<int64_t> x, w;
    Attributes attributes;
  };
  const std::vector<Shape> shapes = {
      {"1x1", {1, 28, 28, 64}, {128, 64, 1, 1}, kNxc},
      {"1x1 of a batch", {3, 14, 14, 24}, {48, 24, 1, 1}, kNxc},
      {"1x1 stride 2", {1, 28, 28, 64}, {128, 64, 1, 1}, nxc({2, 2}, {})},
      {"1x1 of one pixel", {1, 1, 1, 96}, {24, 96, 1, 1}, kNxc},
      {"1x1 padded", {1, 9, 9, 16}, {16, 16, 1, 1}, nxc({}, {1, 1, 1, 1})},
      {"3x3", {1, 28, 28, 32}, {32, 32, 3, 3}, nxc({}, {1, 1, 1, 1})},
      {"3x3 of a batch", {2, 15, 17, 32}, {32, 32, 3, 3}, nxc({}, {1, 1, 1, 1})},
      {"3x3 of a large batch", {9, 14, 14, 32}, {32, 32, 3, 3}, nxc({}, {1, 1, 1, 1})},
      {"3x3 stride 2, uneven pads", {1, 29, 31, 16}, {24, 16, 3, 3}, nxc({2, 2}, {0, 1, 1, 0})},
      {"3x3 dilated", {1, 30, 30, 32}, {32, 32, 3, 3}, nxc({}, {2, 2, 2, 2}, 1, {2, 2})},
      {"3x3 dilated by 5", {1, 30, 30, 32}, {32, 32, 3, 3}, nxc({}, {5, 5, 5, 5}, 1, {5, 5})},
      {"7x7 of few rows: split by channels", {1, 7, 7, 128}, {128, 128, 3, 3}, nxc({}, {1, 1, 1, 1})},
      {"stem", {1, 64, 64, 3}, {32, 3, 3, 3}, nxc({2, 2}, {1, 1, 1, 1})},
      {"odd channels 1", {1, 20, 20, 1}, {1, 1, 3, 3}, nxc({}, {1, 1, 1, 1})},
      {"odd channels 3", {1, 20, 20, 3}, {3, 3, 3, 3}, nxc({}, {1, 1, 1, 1})},
      {"odd channels 17", {1, 40, 40, 17}, {17, 17, 3, 3}, nxc({}, {1, 1, 1, 1})},
      {"odd channels 17, 1x1", {1, 40, 40, 17}, {19, 17, 1, 1}, kNxc},
      {"one output channel", {1, 20, 20, 64}, {1, 64, 3, 3}, nxc({}, {1, 1, 1, 1})},
      {"depthwise", {1, 56, 56, 64}, {64, 1, 3, 3}, nxc({}, {1, 1, 1, 1}, 64)},
      {"depthwise 5x5 stride 2", {1, 40, 40, 48}, {48, 1, 5, 5}, nxc({2, 2}, {2, 2, 2, 2}, 48)},
      {"depthwise of 17 channels", {1, 20, 20, 17}, {17, 1, 3, 3}, nxc({}, {1, 1, 1, 1}, 17)},
      {"depthwise of a batch", {2, 20, 20, 24}, {24, 1, 3, 3}, nxc({}, {1, 1, 1, 1}, 24)},
      {"groups", {1, 28, 28, 32}, {32, 8, 3, 3}, nxc({}, {1, 1, 1, 1}, 4)},
      {"odd groups", {1, 14, 14, 12}, {18, 6, 3, 3}, nxc({}, {1, 1, 1, 1}, 2)},
      {"1-d", {1, 200, 16}, {32, 16, 5}, nxc({}, {2, 2})},
      {"1-d strided", {2, 200, 3}, {16, 3, 7}, nxc({3}, {0, 2})},
      {"1-d pointwise", {1, 300, 16}, {32, 16, 1}, kNxc},
      {"1-d depthwise", {1, 200, 16}, {16, 1, 3}, nxc({}, {1, 1}, 16)},
      {"3-d", {1, 6, 9, 9, 8}, {16, 8, 3, 3, 3}, nxc({}, {1, 1, 1, 1, 1, 1})},
      {"window wider than the input", {1, 3, 40, 16}, {16, 16, 5, 3}, nxc({}, {2, 1, 2, 1})},
      {"rows of padding alone", {1, 4, 40, 16}, {16, 16, 3, 3}, nxc({}, {4, 1, 4, 1})},
  };
  for (const Shape& s : shapes) {
    {
      Case c;
      const Value y = c.conv(c.value(s.x), c.parameter(s.w), s.attributes);
      check(c, y, s.name);
    }
    Case c;
    const Value y = c.conv(c.value(s.x), c.parameter(s.w), s.attributes);
    const Value residual = c.value(ir::to_ints(c.graph.type(y).shape));
    const Value biased = c.op(Op::add, {y, c.parameter({s.w[0]})});
    check(c, c.op(Op::relu, {c.op(Op::add, {biased, residual})}),
          std::string(s.name) + " with bias, residual and relu");
  }
}

TEST_CASE("epilogues of a convolution") {
  struct Epilogue {
    const char* name;
    std::function<Value(Case&, Value)> make;
  };
  const auto unary = [](Op op, Attributes a = {}) { return [=](Case& c, Value y) { return c.op(op, {y}, a); }; };
  const std::vector<Epilogue> epilogues = {
      {"relu", unary(Op::relu)},
      {"leaky_relu", unary(Op::leaky_relu, {{"alpha", 0.1}})},
      {"hard_swish", unary(Op::hard_swish)},
      {"hard_sigmoid", unary(Op::hard_sigmoid, {{"alpha", 0.2}, {"beta", 0.5}})},
      {"sigmoid", unary(Op::sigmoid)},
      {"tanh", unary(Op::tanh)},
      {"elu", unary(Op::elu, {{"alpha", 0.7}})},
      {"gelu", unary(Op::gelu)},
      {"gelu by tanh", unary(Op::gelu, {{"approximate", std::string("tanh")}})},
      {"silu", unary(Op::silu)},
      {"exp", unary(Op::exp)},
      {"softplus", unary(Op::softplus)},
      {"abs", unary(Op::abs)},
      {"neg", unary(Op::neg)},
      {"clip",
       [](Case& c, Value y) {
         return c.op(Op::clip, {y, c.number(0), c.number(6)});
       }},
      {"max with a constant",
       [](Case& c, Value y) {
         return c.op(Op::max, {c.number(0.25f), y});
       }},
      {"constants",
       [](Case& c, Value y) {
         return c.op(Op::div, {c.op(Op::sub, {c.number(1), c.op(Op::mul, {y, c.number(3)})}), c.number(7)});
       }},
      {"x * sigmoid(x)",
       [](Case& c, Value y) {
         return c.op(Op::mul, {y, c.op(Op::sigmoid, {y})});
       }},
      {"x * hard_sigmoid(x)",
       [](Case& c, Value y) {
         return c.op(Op::mul, {c.op(Op::hard_sigmoid, {y}, {{"alpha", 1.0 / 6}, {"beta", 0.5}}), y});
       }},
      {"x * clip(x + 3, 0, 6) / 6",
       [](Case& c, Value y) {
         const Value gate = c.op(Op::clip, {c.op(Op::add, {y, c.number(3)}), c.number(0), c.number(6)});
         return c.op(Op::div, {c.op(Op::mul, {y, gate}), c.number(6)});
       }},
      {"x * (clip(x + 3, 0, 6) * (1 / 6))",
       [](Case& c, Value y) {
         const Value gate = c.op(Op::clip, {c.op(Op::add, {c.number(3), y}), c.number(0), c.number(6)});
         return c.op(Op::mul, {c.op(Op::mul, {gate, c.number(1.0f / 6)}), y});
       }},
      {"x * clip(x + 3, 0, 6) + 1",
       [](Case& c, Value y) {
         const Value gate = c.op(Op::clip, {c.op(Op::add, {y, c.number(3)}), c.number(0), c.number(6)});
         return c.op(Op::add, {c.op(Op::mul, {y, gate}), c.number(1)});
       }},
      {"scale and shift by parameters",
       [](Case& c, Value y) {
         return c.op(Op::add, {c.op(Op::mul, {y, c.parameter({32})}), c.parameter({1, 1, 1, 32})});
       }},
      {"shift by a value a channel",
       [](Case& c, Value y) {
         return c.op(Op::add, {y, c.value({32})});
       }},
      {"subtract a parameter",
       [](Case& c, Value y) {
         return c.op(Op::sub, {y, c.parameter({32})});
       }},
      {"a parameter less it",
       [](Case& c, Value y) {
         return c.op(Op::sub, {c.parameter({32}), y});
       }},
      {"times [N,1,1,C]",
       [](Case& c, Value y) {
         const int64_t n = ir::to_ints(c.graph.type(y).shape)[0];
         return c.op(Op::relu, {c.op(Op::mul, {y, c.value({n, 1, 1, 32})})});
       }},
      {"times a scalar value",
       [](Case& c, Value y) {
         return c.op(Op::mul, {y, c.value({1})});
       }},
      {"relu, then residual, then relu",
       [](Case& c, Value y) {
         return c.op(Op::relu, {c.op(Op::add, {c.value(ir::to_ints(c.graph.type(y).shape)), c.op(Op::relu, {y})})});
       }},
      {"two residuals",
       [](Case& c, Value y) {
         const auto dims = ir::to_ints(c.graph.type(y).shape);
         return c.op(Op::add, {c.op(Op::add, {y, c.value(dims)}), c.value(dims)});
       }},
      {"residual, product, maximum of tensors",
       [](Case& c, Value y) {
         const auto dims = ir::to_ints(c.graph.type(y).shape);
         return c.op(Op::max, {c.op(Op::mul, {c.op(Op::add, {y, c.value(dims)}), c.value(dims)}), c.value(dims)});
       }},
      {"eight steps",
       [](Case& c, Value y) {
         for (int i = 0; i < 4; ++i) y = c.op(Op::relu, {c.op(Op::mul, {y, c.parameter({32})})});
         return y;
       }},
      {"transposed result",
       [](Case& c, Value y) {
         return c.transpose(c.op(Op::relu, {y}), {0, 3, 1, 2});
       }},
      {"epilogue behind the transpose",
       [](Case& c, Value y) {
         y = c.op(Op::add, {c.transpose(y, {0, 3, 1, 2}), c.parameter({32, 1, 1})});
         return c.op(Op::relu, {c.op(Op::add, {y, c.value(ir::to_ints(c.graph.type(y).shape))})});
       }},
      {"transposed residual",
       [](Case& c, Value y) {
         auto dims = ir::to_ints(c.graph.type(y).shape);
         const Value r = c.transpose(c.value({dims[0], dims[3], dims[1], dims[2]}), {0, 2, 3, 1});
         return c.op(Op::relu, {c.op(Op::add, {y, r})});
       }},
      {"flattened result",
       [](Case& c, Value y) {
         auto dims = ir::to_ints(c.graph.type(y).shape);
         return c.reshape(y, {dims[0], dims[1] * dims[2], dims[3]});
       }},
  };
  struct Root {
    std::vector<int64_t> x, w;
    Attributes attributes;
  };
  const std::vector<Root> roots = {{{1, 24, 26, 32}, {32, 32, 3, 3}, nxc({}, {1, 1, 1, 1})},
                                   {{2, 20, 20, 32}, {32, 32, 1, 1}, kNxc},
                                   {{2, 17, 15, 32}, {32, 1, 3, 3}, nxc({}, {1, 1, 1, 1}, 32)},
                                   {{1, 5, 7, 96}, {32, 96, 3, 3}, nxc({}, {1, 1, 1, 1})},
                                   {{1, 30, 30, 32}, {32, 32, 3, 3}, nxc({}, {5, 5, 5, 5}, 1, {5, 5})}};  // im2col
  for (const Epilogue& e : epilogues) {
    for (const Root& r : roots) {
      Case c;
      const Value y = c.conv(c.value(r.x), c.parameter(r.w), r.attributes);
      const Value result = e.make(c, y);
      if (refusal(c, result).find("im2col") != std::string::npos) continue;
      check(c, result, e.name);
    }
  }
}

TEST_CASE("convolutions between layouts") {
  Case plain;
  check(plain,
        plain.op(Op::relu, {plain.conv(plain.value({2, 16, 20, 20}), plain.parameter({24, 16, 3, 3}),
                                       {{"pads", std::vector<int64_t>{1, 1, 1, 1}}})}),
        "channels first");
  Case stem;
  const Value image = stem.transpose(stem.value({1, 3, 64, 64}), {0, 2, 3, 1});
  check(stem, stem.conv(image, stem.parameter({16, 3, 3, 3}), nxc({2, 2}, {1, 1, 1, 1})),
        "stem that reads channels first");
  Case tail;
  const Value y =
      tail.conv(tail.value({1, 3, 64, 64}), tail.parameter({16, 3, 3, 3}), {{"strides", std::vector<int64_t>{2, 2}}});
  check(tail, tail.transpose(tail.op(Op::add, {y, tail.parameter({16, 1, 1})}), {0, 2, 3, 1}),
        "channels-first convolution, transposed result");
  for (const int64_t groups : {1, 16}) {
    Case dynamic;
    Value z = dynamic.conv(dynamic.value({1, 30, 30, 16}), dynamic.value({16, 16 / groups, 3, 3}),
                           nxc({}, {1, 1, 1, 1}, groups));
    z = dynamic.op(Op::add, {dynamic.op(Op::add, {z, dynamic.parameter({16})}), dynamic.value({1, 30, 30, 16})});
    check(dynamic, dynamic.op(Op::relu, {z}), "weights that are a value");
  }
  Case own;
  const Value x = own.value({1, 20, 20, 32});
  check(own, own.op(Op::add, {own.conv(x, own.parameter({32, 32, 3, 3}), nxc({}, {1, 1, 1, 1})), x}),
        "the input is the residual too");
}

TEST_CASE("convolutions through blocked tiles") {
  if (onednn().machine().cpu != "avx2") return;  // elsewhere channels-last is as fast
  const auto conv = [](Case& c, std::vector<int64_t> x, std::vector<int64_t> w, const Attributes& a) {
    return c.conv(c.value(x), c.parameter(w), a);
  };
  Case large;
  CHECK(check(large, conv(large, {1, 40, 80, 96}, {40, 96, 3, 3}, nxc({}, {1, 1, 1, 1})), "large rows")
            .find("in blocks") != std::string::npos);
  Case odd;
  Value y = conv(odd, {1, 30, 90, 100}, {43, 100, 3, 3}, nxc({}, {1, 1, 1, 1}));
  y = odd.op(Op::mul, {odd.op(Op::add, {odd.op(Op::add, {y, odd.parameter({43})}), odd.value({1, 30, 90, 43})}),
                       odd.value({1, 30, 90, 43})});
  const Value turned = odd.transpose(odd.op(Op::relu, {y}), {0, 3, 1, 2});
  CHECK(check(odd, turned, "odd channels, residual, product, relu, transposed").find("in blocks") != std::string::npos);
  Case dilated;
  const Value far = conv(dilated, {2, 30, 34, 32}, {32, 32, 3, 3}, nxc({}, {5, 4, 5, 5}, 1, {5, 5}));
  CHECK(check(dilated, far, "dilated, padded in the tile").find("padded tile") != std::string::npos);
  for (float poison : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 3e38f}) {
    Case c;
    const Value x = c.value({1, 24, 80, 96}), w = c.parameter({40, 96, 3, 3});
    c.data[0].mutable_as<float>()[5000] = poison;
    Value z = c.op(Op::add, {c.conv(x, w, nxc({}, {1, 1, 1, 1})), c.value({1, 24, 80, 40})});
    CHECK(check(c, c.op(Op::relu, {z}), "poison").find("in blocks") != std::string::npos);
  }
}

TEST_CASE("a pixel shuffle behind a pointwise convolution") {
  Case c;
  Value y = c.reshape(c.conv(c.value({1, 10, 12, 16}), c.parameter({32, 16, 1, 1}), kNxc), {1, 10, 12, 2, 2, 8});
  y = c.reshape(c.transpose(y, {0, 1, 3, 2, 4, 5}), {1, 20, 24, 8});
  check(c, y, "shuffle");
  check(c, c.op(Op::relu, {c.op(Op::add, {y, c.parameter({8})})}), "shuffle, bias, relu");
}

TEST_CASE("transposed convolutions") {
  struct Shape {
    std::vector<int64_t> x, w;
    Attributes attributes;
  };
  const auto with = [](std::vector<int64_t> strides, std::vector<int64_t> pads, std::vector<int64_t> extra = {}) {
    return Attributes{{"layout", std::string("nxc")}, {"strides", strides}, {"pads", pads}, {"output_padding", extra}};
  };
  const std::vector<Shape> shapes = {
      {{1, 20, 24, 24}, {24, 16, 2, 2}, with({2, 2}, {})},
      {{1, 20, 24, 24}, {24, 1, 2, 2}, with({2, 2}, {})},
      {{2, 12, 10, 16}, {16, 12, 4, 4}, with({2, 2}, {1, 1, 1, 1})},
      {{1, 12, 10, 16}, {16, 12, 3, 3}, with({2, 2}, {1, 1, 1, 1}, {1, 1})},
      {{1, 12, 10, 16}, {16, 12, 3, 3}, with({1, 1}, {1, 1, 1, 1})},
      {{1, 9, 7, 16}, {16, 5, 3, 5}, with({3, 5}, {})},
      {{1, 64, 16}, {16, 8, 4}, with({2}, {1, 1})},
  };
  for (const Shape& s : shapes) {
    for (bool first : {false, true}) {
      Case c;
      std::vector<int64_t> dims = s.x;
      if (first) std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
      Attributes a = s.attributes;
      if (first) a.set("layout", std::string("ncx"));
      const Value x = c.value(dims), w = c.parameter(s.w);
      Value y = c.op(Op::conv_transpose, {x, w}, a);
      check(c, y, "transposed convolution");
      std::vector<int64_t> bias = {s.w[1]};
      if (first) bias.resize(s.w.size() - 1, 1);
      y = c.op(Op::add, {y, c.parameter(bias)});
      check(c, c.op(Op::sigmoid, {c.op(Op::add, {y, c.value(ir::to_ints(c.graph.type(y).shape))})}),
            "with bias, residual and sigmoid");
    }
  }
}

TEST_CASE("matmuls") {
  struct Form {
    const char* name;
    std::function<Value(Case&)> make;
  };
  const Attributes ta{{"transpose_a", true}}, tb{{"transpose_b", true}};
  const std::vector<Form> forms = {
      {"by a parameter",
       [](Case& c) {
         return c.op(Op::matmul, {c.value({128, 96}), c.parameter({96, 160})});
       }},
      {"by a transposed parameter",
       [&](Case& c) {
         return c.op(Op::matmul, {c.value({128, 96}), c.parameter({160, 96})}, tb);
       }},
      {"by transpose(parameter)",
       [](Case& c) {
         return c.op(Op::matmul, {c.value({128, 96}), c.transpose(c.parameter({160, 96}), {1, 0})});
       }},
      {"one row",
       [](Case& c) {
         return c.op(Op::matmul, {c.value({1, 2048}), c.parameter({2048, 1000})});
       }},
      {"odd sizes",
       [](Case& c) {
         return c.op(Op::matmul, {c.value({5, 17}), c.parameter({17, 3})});
       }},
      {"batch by a parameter, bias and gelu",
       [](Case& c) {
         const Value y = c.op(Op::matmul, {c.value({2, 64, 96}), c.parameter({96, 384})});
         return c.op(Op::gelu, {c.op(Op::add, {y, c.parameter({384})})});
       }},
      {"bias and residual",
       [](Case& c) {
         const Value y = c.op(Op::matmul, {c.value({1, 128, 96}), c.parameter({96, 96})});
         return c.op(Op::add, {c.op(Op::add, {y, c.parameter({96})}), c.value({1, 128, 96})});
       }},
      {"split into heads",
       [](Case& c) {
         const Value y = c.op(Op::matmul, {c.value({1, 128, 96}), c.parameter({96, 96})});
         return c.transpose(c.reshape(c.op(Op::add, {y, c.parameter({96})}), {1, 128, 4, 24}), {0, 2, 1, 3});
       }},
      {"split into heads of a batch",
       [](Case& c) {
         const Value y = c.op(Op::matmul, {c.value({3, 64, 96}), c.parameter({96, 96})});
         return c.transpose(c.reshape(y, {3, 64, 4, 24}), {0, 2, 1, 3});
       }},
      {"merge of heads",
       [](Case& c) {
         const Value x = c.reshape(c.transpose(c.value({2, 4, 64, 24}), {0, 2, 1, 3}), {2, 64, 96});
         return c.op(Op::matmul, {x, c.parameter({96, 96})});
       }},
      {"part of a merged projection",
       [](Case& c) {
         const Value x = c.op(Op::slice, {c.value({128, 288})},
                              {{"starts", ir::to_shape({0, 96})},
                               {"ends", ir::to_shape({128, 192})},
                               {"steps", std::vector<int64_t>{1, 1}}});
         return c.op(Op::matmul, {x, c.parameter({96, 64})});
       }},
      {"transpose_a by a parameter",
       [&](Case& c) {
         return c.op(Op::matmul, {c.value({96, 128}), c.parameter({96, 64})}, ta);
       }},
      {"a parameter by a value",
       [](Case& c) {
         return c.op(Op::matmul, {c.parameter({64, 96}), c.value({96, 128})});
       }},
      {"two values",
       [](Case& c) {
         return c.op(Op::matmul, {c.value({65, 33}), c.value({33, 17})});
       }},
      {"batches",
       [](Case& c) {
         return c.op(Op::matmul, {c.value({12, 128, 64}), c.value({12, 64, 128})});
       }},
      {"batches, b shared",
       [](Case& c) {
         return c.op(Op::matmul, {c.value({6, 64, 32}), c.value({32, 48})});
       }},
      {"batches, a shared",
       [](Case& c) {
         return c.op(Op::matmul, {c.value({64, 32}), c.value({6, 32, 48})});
       }},
      {"batches broadcast both ways",
       [](Case& c) {
         return c.op(Op::matmul, {c.value({3, 1, 64, 32}), c.value({1, 4, 32, 48})});
       }},
      {"scores from heads, scaled",
       [](Case& c) {
         const Value q = c.transpose(c.reshape(c.value({1, 128, 96}), {1, 128, 4, 24}), {0, 2, 1, 3});
         const Value k = c.transpose(c.reshape(c.value({1, 128, 96}), {1, 128, 4, 24}), {0, 2, 3, 1});
         return c.op(Op::mul, {c.op(Op::matmul, {q, k}), c.number(0.2041241f)});
       }},
      {"scores divided, with a mask",
       [&](Case& c) {
         const Value y = c.op(Op::matmul, {c.value({1, 4, 64, 24}), c.value({1, 4, 64, 24})}, tb);
         return c.op(Op::add, {c.op(Op::div, {y, c.number(4.899f)}), c.value({1, 1, 1, 64})});
       }},
      {"context into merged heads",
       [](Case& c) {
         const Value v = c.transpose(c.reshape(c.value({2, 64, 96}), {2, 64, 4, 24}), {0, 2, 1, 3});
         const Value y = c.op(Op::matmul, {c.value({2, 4, 64, 64}), v});
         return c.reshape(c.transpose(y, {0, 2, 1, 3}), {2, 64, 96});
       }},
      {"two values with a residual",
       [](Case& c) {
         return c.op(Op::add, {c.op(Op::matmul, {c.value({4, 64, 32}), c.value({4, 32, 48})}), c.value({4, 64, 48})});
       }},
      {"two values and tanh",
       [](Case& c) {
         return c.op(Op::tanh, {c.op(Op::matmul, {c.value({64, 32}), c.value({32, 48})})});
       }},
      {"a reshaped result",
       [](Case& c) {
         return c.reshape(c.op(Op::matmul, {c.value({12, 32}), c.parameter({32, 48})}), {3, 4, 48});
       }},
  };
  for (const Form& f : forms) {
    Case c;
    const Value y = f.make(c);
    check(c, y, f.name);
  }
}

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
