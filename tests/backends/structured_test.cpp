// Reductions, norms, windows, attention, gather and resize with prologues and epilogues: every backend that takes them
// against the interpreter; the own loops must take each.
#include <cmath>
#include <limits>

#include "ir/support/error.hpp"
#include "tests/backends/harness.hpp"
#include "tests/catch.hpp"

namespace weft::test {
namespace {

using ir::Tensor;

const Tolerance kSums{2e-6, 2e-7, 1e-6};
const Tolerance kBits{};

void check_text(const std::string& text, const Tolerance& tolerance = kSums,
                const std::vector<ir::OperandKind>& kinds = {}) {
  const ir::ProgramRef program = program_of(text);
  INFO(text);
  for (const backends::Backend* backend : backends::registry()) {
    if (backend->name() == "null") continue;
    const std::string why = refusal(*backend, program);
    if (backend->name() == "tbb") CHECK(why == "");
    if (!why.empty()) continue;
    CHECK(check_against_reference(*backend, program, random_operands(*program, 5), tolerance, kinds) == "");
  }
}

TEST_CASE("reductions over any axes with prologue and epilogue", "[conformance]") {
  for (const char* op : {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod"}) {
    for (const char* text : {
             "graph p(x: f32[2,16,7,7]) {{ return {}(x, axes=[2,3]) }}",
             "graph p(x: f32[2,7,7,16]) {{ return {}(x, axes=[1,2]) }}",
             "graph p(x: f32[2,7,9,33]) {{ return {}(x, axes=[1,2], keepdims=false) }}",
             "graph p(x: f32[1,30,37,8]) {{ return {}(x, axes=[1,2]) }}",
             "graph p(x: f32[2,11,7,1100]) {{ return {}(relu(x), axes=[1,2]) }}",
             "graph p(x: f32[1,20,20,300]) {{ return {}(x + 1, axes=[1,2]) }}",
             // many operands: boxes of 512 elements, rows of more
             "graph p(x: f32[1,7,7,1280], s: f32[1280], b: f32[1280]) {{ return {}(clip(x * s + b, 0, 6), axes=[1,2]) "
             "}}",
             "graph p(x: f32[2,9,600], s: f32[600], b: f32[600]) {{ return {}(clip(x * s + b, -1, 0.5), axes=[1]) }}",
             // pieces of rows after whole rows: what was packed for these serves those no more
             "graph p(x: f32[206,2,5], w: f32[5]) {{ return {}(x - w, axes=[1]) }}",
             "graph p(x: f32[103,2,5], s: f32[5], b: f32[5]) {{ return {}(clip(x * s + b, 0, 6), axes=[1]) }}",
             "graph p(x: f32[1,14,14,96], g: f32[96]) {{ return {}(sigmoid(x) * g, axes=[2]) }}",
             "graph p(a: f32[5,1030], b: f32[5,1030], c: f32[5,1030], d: f32[5,1030], e: f32[1030], f: f32[5,1], g: "
             "f32[5,1030]) {{ return {}(tanh(a * b + c) * d + e * f - g, axes=[0]) + e }}",
             "graph p(x: f32[1,5,7,1500]) {{ return {}(x, axes=[1,2]) }}",
             "graph p(x: f32[3,4,5,6]) {{ return {}(x, axes=[1,3]) }}",
             "graph p(x: f32[3,4,5,6]) {{ return {}(x, axes=[0,2]) }}",
             "graph p(x: f32[3,4,5,6]) {{ return {}(x, axes=[0,1,2,3]) }}",
             "graph p(x: f32[3,1,5]) {{ return {}(x, axes=[1]) }}",
             "graph p(x: f32[17]) {{ return {}(x, axes=[0]) }}",
             "graph p(x: f32[1]) {{ return {}(x, axes=[0]) }}",
             "graph p(x: f32[0,4]) {{ return {}(x, axes=[1]) }}",
             "graph p(x: f32[2,3000]) {{ return {}(tanh(x), axes=[1]) * 2 }}",
             "graph p(x: f32[300,40], y: f32[40]) {{ return relu({}(tanh(x * y), axes=[0], keepdims=false) + y) }}",
             "graph p(x: f32[2,16,7,7], s: f32[16,1,1], b: f32[16,1,1]) {{ return sigmoid({}(relu(x * s + b) * 0.25, "
             "axes=[2,3]) * b) }}",
             "graph p(x: f32[2,16,7,8]) {{ return {}(tanh(slice(x, [0,0,1,2], [2,16,6,7], [1,1,1,1])), axes=[2,3]) }}",
             "graph p(x: f32[2,40,30,20]) {{ return {}(transpose(x, [0,2,3,1]) * 0.1, axes=[1,2]) }}",
         }) {
      if (std::string(op) == "reduce_prod" && std::string(text).find("300") != std::string::npos)
        continue;  // underflows: nothing to see
      check_text(fmt::format(fmt::runtime(text), op));
    }
  }
}

TEST_CASE("a value and its reduction come from one pass", "[conformance]") {
  for (const char* text : {
           "graph p(x: f32[2,16,7,7]) {\n y = hard_swish(x)\n return y, reduce_mean(y, axes=[2,3]) }",
           "graph p(x: f32[2,7,9,33]) {\n y = hard_swish(x)\n return reduce_mean(y, axes=[1,2]) * 2, y }",
           "graph p(x: f32[2,7,9,33], b: f32[33]) {\n y = relu(x + b)\n return reduce_max(y, axes=[3]), y, x * 2 }",
           "graph p(x: f32[3,4,5,6]) {\n y = x + 1\n return y, reduce_sum(y, axes=[0,2], keepdims=false) }",
           "graph p(x: f32[1,80,80,96]) {\n y = relu(x)\n return y, reduce_mean(y, axes=[1,2]) }",
           "graph p(x: f32[3,20]) { return x, reduce_sum(x, axes=[1]) }",
       }) {
    check_text(text);
  }
}

TEST_CASE("large reductions are split and keep their bits", "[conformance]") {
  check_text("graph p(x: f32[1,64,160,160]) { return reduce_mean(x, axes=[2,3]) }");
  check_text("graph p(x: f32[4,80,80,96]) { return reduce_mean(relu(x), axes=[1,2]) }");
  check_text("graph p(x: f32[1200000]) { return reduce_sum(x, axes=[0]) }");
}

TEST_CASE("reductions see NaN, infinities and signed zeros", "[conformance]") {
  for (const char* op : {"reduce_max", "reduce_min", "reduce_sum"}) {
    for (const char* shape : {"[1,8]", "[3,17]", "[2,1000]", "[2,5000]"}) {
      for (const char* axis : {"0", "1"}) {
        const ir::ProgramRef program =
            program_of(fmt::format("graph p(x: f32{}) {{ return {}(x, axes=[{}]) }}", shape, op, axis));
        for (double special :
             {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -0.0}) {
          std::vector<Tensor> operands = random_operands(*program, 3, -1, special == 0 ? -0.0 : 1);
          plant(operands[0], special);
          CHECK(check_against_reference(backends::backend("tbb"), program, operands,
                                        std::string(op) == "reduce_sum" ? kSums : kBits) == "");
        }
      }
    }
  }
}

TEST_CASE("softmax and norms with prologue and epilogue", "[conformance]") {
  for (const char* text : {
           "graph p(x: f32[3,17]) { return softmax(x, axis=1) }",
           "graph p(x: f32[3,17]) { return log_softmax(x, axis=1) }",
           "graph p(x: f32[3,17]) { return softmax(x, axis=0) }",
           "graph p(x: f32[2,5,33]) { return log_softmax(x, axis=1) }",
           "graph p(x: f32[2,3,4,70]) { return softmax(x, axis=1) }",
           "graph p(x: f32[1,1000]) { return softmax(x, axis=1) }",
           "graph p(x: f32[2,70000]) { return softmax(x, axis=1) }",
           "graph p(x: f32[5,1]) { return softmax(x, axis=1) }",
           "graph p(x: f32[2,4,9,9], m: f32[2,1,1,9]) { return softmax(x * 0.125 + m, axis=-1) }",
           "graph p(x: f32[2,200,300], m: f32[300]) { return softmax(x + m, axis=1) * 2 }",
           "graph p(x: f32[6,768], s: f32[768], b: f32[768]) { return layer_norm(x, s, b) }",
           "graph p(x: f32[6,768], r: f32[6,768], s: f32[768], b: f32[768]) { return layer_norm(x + r, s, b) }",
           "graph p(x: f32[6,768], r: f32[6,768], c: f32[768], s: f32[768], b: f32[768]) { return layer_norm(x + c + "
           "r, s, b), x + c + r }",
           "graph p(x: f32[4,3,5], s: f32[3,5], b: f32[5]) { return gelu(layer_norm(x, s, b, axis=1)) }",
           "graph p(x: f32[4,33], s: f32[1]) { return rms_norm(x, s) }",
           "graph p(x: f32[4,2048], s: f32[2048]) { return rms_norm(x, s, eps=0.001) }",
           "graph p(x: f32[2,20,30], s: f32[20], b: f32[20]) { return layer_norm(transpose(x, [0,2,1]), s, b) }",
           "graph p(x: f32[0,8], s: f32[8], b: f32[8]) { return layer_norm(x, s, b) }",
           "graph p(x: f32[512,768], r: f32[512,768], s: f32[768], b: f32[768]) { return layer_norm(x + r, s, b) }",
       }) {
    check_text(text);
  }
}

TEST_CASE("norms keep their digits far from zero (A07, A13)", "[conformance]") {
  const ir::ProgramRef norm = program_of("graph p(x: f32[1,4], s: f32[4], b: f32[4]) { return layer_norm(x, s, b) }");
  const Tensor ones = Tensor::from<float>({4}, {1, 1, 1, 1}), zeros = Tensor::from<float>({4}, {0, 0, 0, 0});
  for (const std::vector<float>& row : {std::vector<float>{40000, 40001, 40002, 40003},
                                        {1e6f, 1e6f + 1, 1e6f + 2, 1e6f + 4},
                                        {1234, 1234, 1234, 1234}}) {
    CHECK(check_against_reference(backends::backend("tbb"), norm, {Tensor::from<float>({1, 4}, row), ones, zeros},
                                  {1e-5, 1e-7, 0}) == "");
  }
  for (const char* op : {"softmax", "log_softmax"}) {
    for (const char* shape : {"f32[1,3]", "f32[3,1]"}) {
      const ir::ProgramRef program =
          program_of(fmt::format("graph p(x: {}) {{ return {}(x, axis={}) }}", shape, op, shape[4] == '1' ? 1 : 0));
      for (const std::vector<float>& row : {std::vector<float>{1000, 1001, 1002},
                                            {-1000, -1000, -1000},
                                            {0, -200, -1},
                                            {1000, 0, 0},
                                            {NAN, 1, 2},
                                            {INFINITY, 1, 2},
                                            {-INFINITY, 1, 2},
                                            {-INFINITY, -INFINITY, -INFINITY}}) {
        const Tensor x =
            Tensor::from<float>(shape[4] == '1' ? std::vector<int64_t>{1, 3} : std::vector<int64_t>{3, 1}, row);
        CHECK(check_against_reference(backends::backend("tbb"), program, {x}, {1e-6, 1e-30, 0}) == "");
      }
    }
  }
}

TEST_CASE("depthwise convolution, channels last, with epilogue", "[conformance]") {
  const std::vector<ir::OperandKind> packed = {ir::OperandKind::value, ir::OperandKind::parameter};
  for (const char* text : {
           "graph p(x: f32[1,9,9,32], w: f32[32,1,3,3]) { return conv(x, w, groups=32, pads=[1,1,1,1], layout=\"nxc\") "
           "}",
           "graph p(x: f32[2,9,8,35], w: f32[35,1,3,3]) { return conv(x, w, groups=35, pads=[1,1,1,1], strides=[2,2], "
           "layout=\"nxc\") }",
           "graph p(x: f32[1,12,13,24], w: f32[24,1,5,5]) { return conv(x, w, groups=24, pads=[2,2,2,2], "
           "layout=\"nxc\") }",
           "graph p(x: f32[1,12,13,24], w: f32[24,1,5,3]) { return conv(x, w, groups=24, pads=[0,1,1,0], "
           "dilations=[2,1], layout=\"nxc\") }",
           "graph p(x: f32[1,5,5,3], w: f32[3,1,5,5]) { return conv(x, w, groups=3, layout=\"nxc\") }",
           "graph p(x: f32[1,30,16], w: f32[16,1,7]) { return conv(x, w, groups=16, pads=[3,3], layout=\"nxc\") }",
           "graph p(x: f32[1,1,1,7], w: f32[7,1,3,3]) { return conv(x, w, groups=7, pads=[1,1,1,1], layout=\"nxc\") }",
           "graph p(x: f32[1,20,20,40], w: f32[40,1,3,3], b: f32[40]) { return clip(conv(x, w, groups=40, "
           "pads=[1,1,1,1], layout=\"nxc\") + b, 0, 6) }",
           "graph p(x: f32[1,57,57,96], w: f32[96,1,3,3], b: f32[96]) { return hard_swish(conv(x, w, groups=96, "
           "pads=[1,1,1,1], strides=[2,2], layout=\"nxc\") + b) }",
           "graph p(x: f32[1,80,80,64], w: f32[64,1,3,3], b: f32[64], r: f32[1,80,80,64]) { return relu(conv(x, w, "
           "groups=64, pads=[1,1,1,1], layout=\"nxc\") + b + r) }",
       }) {
    check_text(text);
    check_text(text, kSums, packed);
  }
}

TEST_CASE("a reduction and its operand from one kernel", "[conformance]") {
  for (const char* text : {
           "graph p(x: f32[2,9,40], r: f32[2,9,40], s: f32[40], b: f32[40]) { h = x + r; return layer_norm(h, s, b), h "
           "}",
           "graph p(x: f32[70,33], r: f32[33], s: f32[33]) { h = x * r; return h, rms_norm(h, s) + 1, h * 2 }",
           "graph p(x: f32[5,7,300]) { h = x * 3; return softmax(h, axis=2), h }",
           "graph p(x: f32[5,7,30]) { h = x * 3; return softmax(h, axis=1), h }",
           "graph p(x: f32[1,30,37,8]) { h = relu(x); return reduce_mean(h, axes=[1,2]), h }",
           "graph p(x: f32[2,11,7,600], r: f32[600]) { h = x + r; return h, sigmoid(reduce_mean(h, axes=[1,2])) }",
           "graph p(x: f32[3,8,50]) { h = relu(x); return reduce_sum(h, axes=[2]), h }",
           "graph p(x: f32[4,5,6,7]) { h = relu(x); return reduce_max(h, axes=[0,2]), h }",
       })
    check_text(text);
}

TEST_CASE("pools in both layouts with epilogue", "[conformance]") {
  for (const char* op : {"max_pool", "avg_pool"}) {
    for (
        const char* text : {
            "graph p(x: f32[2,8,9,9]) {{ return {}(x, kernel=[3,3], strides=[2,2], pads=[1,1,1,1]) }}",
            "graph p(x: f32[2,9,9,20]) {{ return {}(x, kernel=[3,3], strides=[2,2], pads=[1,1,1,1], layout=\"nxc\") }}",
            "graph p(x: f32[1,7,8,16]) {{ return {}(x, kernel=[2,2], strides=[2,2], ceil_mode=true, layout=\"nxc\") }}",
            "graph p(x: f32[1,3,7,8]) {{ return {}(x, kernel=[2,3], strides=[2,2], dilations=[2,1], ceil_mode=true) }}",
            "graph p(x: f32[1,7,7,33]) {{ return relu({}(x, kernel=[7,7], layout=\"nxc\")) }}",
            "graph p(x: f32[1,3,40]) {{ return {}(x, kernel=[5], strides=[3]) }}",
            "graph p(x: f32[1,113,113,64], b: f32[64]) {{ return relu({}(x, kernel=[3,3], strides=[2,2], "
            "layout=\"nxc\") + b) }}",
        }) {
      check_text(fmt::format(fmt::runtime(text), op), std::string(op) == "max_pool" ? kBits : kSums);
    }
  }
  check_text(
      "graph p(x: f32[1,7,8,16]) { return avg_pool(x, kernel=[3,3], pads=[1,0,1,2], strides=[2,2], "
      "count_include_pad=true, ceil_mode=true, layout=\"nxc\") }");
}

TEST_CASE("attention with strided heads, masks and causal limits", "[conformance]") {
  for (const char* text : {
           "graph p(q: f32[2,3,5,16], k: f32[2,3,7,16], v: f32[2,3,7,16]) { return attention(q, k, v, scale=0.25) }",
           "graph p(q: f32[1,4,130,64], k: f32[1,4,130,64], v: f32[1,4,130,64]) { return attention(q, k, v, "
           "scale=0.125) }",
           "graph p(q: f32[2,3,40,20], k: f32[2,3,70,20], v: f32[2,3,70,24], m: f32[2,1,1,70]) { return attention(q, "
           "k, v, m, scale=0.2) }",
           "graph p(q: f32[2,3,40,8], k: f32[2,3,40,8], v: f32[2,3,40,8]) { return attention(q, k, v, scale=0.3, "
           "causal=true) }",
           "graph p(q: f32[1,2,50,64], k: f32[1,2,37,64], v: f32[1,2,37,40], m: f32[1,1,50,37]) { return attention(q, "
           "k, v, m, scale=0.2) }",
           "graph p(q: f32[4,2,16], k: f32[4,90,16], v: f32[4,90,16]) { return attention(q, k, v, scale=0.3, "
           "causal=true) }",
           "graph p(q: f32[4,9,16], k: f32[4,5,16], v: f32[4,5,16]) { return attention(q, k, v, scale=0.3, "
           "causal=true) }",
           "graph p(q: f32[2,2,3,6,16], k: f32[2,2,1,6,16], v: f32[2,2,1,6,16]) { return attention(q, k, v, scale=0.3) "
           "}",
           "graph p(q: f32[1,1], k: f32[3,1], v: f32[3,1]) { return attention(q, k, v, scale=1) }",
           "graph p(q: f32[2,33,48], k: f32[2,33,48], v: f32[2,33,48]) {\n"
           " qh = transpose(reshape(q, [2,33,3,16]), [0,2,1,3])\n kh = transpose(reshape(k, [2,33,3,16]), [0,2,1,3])\n"
           " vh = transpose(reshape(v, [2,33,3,16]), [0,2,1,3])\n"
           " return reshape(transpose(attention(qh, kh, vh, scale=0.25), [0,2,1,3]), [2,33,48]) }",
           "graph p(qkv: f32[1,50,96], m: f32[1,1,50,50]) {\n a, b, c = split(qkv, axis=2, sizes=[32,32,32])\n"
           " qh = transpose(reshape(a, [1,50,2,16]), [0,2,1,3])\n kh = transpose(reshape(b, [1,50,2,16]), [0,2,1,3])\n"
           " vh = transpose(reshape(c, [1,50,2,16]), [0,2,1,3])\n"
           " return reshape(transpose(attention(qh, kh, vh, m, scale=0.25), [0,2,1,3]), [1,50,32]) }",
           "graph p(q: f32[2,16,5], k: f32[2,16,7], v: f32[2,9,7]) { return attention(transpose(q, [0,2,1]), "
           "transpose(k, [0,2,1]), transpose(v, [0,2,1]), scale=1) }",
       }) {
    check_text(text, {2e-5, 2e-6, 1e-5});  // scores of 20 and more: an ulp of them is 1e-6 of the weights
  }
  const ir::ProgramRef masked = program_of(
      "graph p(q: f32[3,4], k: f32[5,4], v: f32[5,4], m: f32[3,5]) { return attention(q, k, v, m, scale=1) }");
  std::vector<Tensor> operands = random_operands(*masked, 9);
  for (int64_t j = 0; j < 5; ++j) ir::set_from_double(operands[3], 5 + j, -std::numeric_limits<double>::infinity());
  CHECK(check_against_reference(backends::backend("tbb"), masked, operands, kSums) == "");
}

TEST_CASE("gather copies rows and checks indices (S03)", "[conformance]") {
  for (const char* text : {
           "graph p(x: f32[9,5], i: i64[4]) { return gather(x, i, axis=0) }",
           "graph p(x: f32[3,9], i: i32[2,2]) { return gather(x, i, axis=1) }",
           "graph p(x: u8[2,9,3], i: i64[]) { return gather(x, i, axis=1) }",
           "graph p(x: f32[9,64], i: i64[2,7], p: f32[7,64]) { return gather(x, i, axis=0) + p }",
           "graph p(x: f32[4,5], i: i64[0]) { return gather(x, i, axis=0) }",
       }) {
    check_text(text, kBits);
  }
  const ir::ProgramRef program = program_of("graph p(x: f32[3,4], i: i64[2]) { return gather(x, i, axis=0) }");
  const Tensor x = Tensor::zeros({ir::DType::f32, {3, 4}});
  CHECK(run_kernel(backends::backend("tbb"), program, {x, Tensor::from<int64_t>({2}, {0, -3})}).size() == 1);
  for (int64_t bad : {3, -4})
    CHECK_THROWS_AS(run_kernel(backends::backend("tbb"), program, {x, Tensor::from<int64_t>({2}, {0, bad})}), Error);
}

TEST_CASE("resize of one or two axes", "[conformance]") {
  for (const char* mode : {"nearest", "linear"}) {
    for (const char* coordinate :
         {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric"}) {
      for (const char* text : {
               "graph p(x: f32[1,3,5,7]) {{ return resize(x, shape=[1,3,10,14], scales=[1,1,2,2], mode=\"{}\", "
               "coordinate=\"{}\") }}",
               "graph p(x: f32[1,5,7,20]) {{ return resize(x, shape=[1,10,14,20], scales=[1,2,2,1], mode=\"{}\", "
               "coordinate=\"{}\") }}",
               "graph p(x: f32[2,9,8]) {{ return relu(resize(x, shape=[2,9,5], scales=[1,1,0.625], mode=\"{}\", "
               "coordinate=\"{}\")) }}",
               "graph p(x: f32[1,6,6,4], y: f32[1,9,3,4]) {{ return resize(x, shape=[1,9,3,4], scales=[1,1.5,0.5,1], "
               "mode=\"{}\", coordinate=\"{}\") + y }}",
           }) {
        check_text(fmt::format(fmt::runtime(text), mode, coordinate));
      }
    }
  }
}

TEST_CASE("what no own loop takes is refused with a reason of one line") {
  for (const char* text : {
           "graph p(x: f32[4,5], y: f32[5,6]) { return x @ y }",
           "graph p(x: f32[1,8,8,8], w: f32[8,8,3,3]) { return conv(x, w, layout=\"nxc\") }",
           "graph p(x: f16[4,5]) { return softmax(x, axis=1) }",
           "graph p(x: f32[4,5]) { return x - reduce_mean(x, axes=[1]) }",
           "graph p(x: f32[4,5]) { return argmax(x, axis=1) }",
       }) {
    const ir::ProgramRef program = program_of(text);
    const std::string why = refusal(backends::backend("tbb"), program);
    INFO(text);
    CHECK(why != "");
    CHECK(why.find('\n') == std::string::npos);
    CHECK_THROWS_AS(
        backends::backend("tbb").compile({program, std::vector<ir::OperandKind>(program->graph().inputs().size()), 1}),
        Error);
  }
}

}  // namespace
}  // namespace weft::test
