// Convolutions and transposed convolutions that oneDNN takes: kinds, layouts, epilogues.
#include <algorithm>
#include <functional>
#include <limits>

#include "tests/backends/onednn_forms.hpp"

using namespace weft;
using namespace weft::test;

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

TEST_CASE("infinities of a transposed convolution reach only the outputs that have a tap for them") {
  struct Shape {
    std::vector<int64_t> x, w;
    std::vector<int64_t> strides, pads, extra;
  };
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const std::vector<Shape> shapes = {
      {{1, 3, 1}, {1, 1, 2}, {2}, {1, 1}, {}},
      {{1, 64, 16}, {16, 8, 4}, {2}, {1, 1}, {}},
      {{2, 12, 10, 16}, {16, 12, 3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}},
      {{1, 40, 40, 16}, {16, 16, 5, 5}, {2, 2}, {2, 2, 2, 2}, {1, 1}},
      {{1, 7, 9, 4}, {4, 8, 1, 1}, {2, 2}, {}, {1, 1}},
      {{1, 4, 5, 6, 8}, {8, 4, 1, 1, 1}, {2, 2, 2}, {}, {1, 1, 1}},
      {{1, 4, 5, 6, 8}, {8, 4, 3, 3, 3}, {2, 2, 2}, {1, 1, 1, 1, 1, 1}, {1, 1, 1}},
  };
  for (const Shape& s : shapes) {
    for (const bool fixed : {true, false}) {
      Case c;
      const Attributes a{
          {"layout", std::string("nxc")}, {"strides", s.strides}, {"pads", s.pads}, {"output_padding", s.extra}};
      const Value x = c.value(s.x), w = fixed ? c.parameter(s.w) : c.value(s.w);
      const Value y = c.op(Op::conv_transpose, {x, w}, a);
      const std::span<float> values = c.data[0].mutable_as<float>();
      values[values.size() / 2] = inf;
      values[values.size() - 1] = -inf;
      values[1] = nan;
      check(c, y, "transposed convolution of infinities");
      check(c, c.op(Op::relu, {c.op(Op::add, {y, c.parameter({s.w[1]})})}), "with bias and clamp");
    }
  }
}
