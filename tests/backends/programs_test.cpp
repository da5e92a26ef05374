// Fused and structured programs on every backend that takes them, and what the own loops must take.
#include "ir/support/error.hpp"
#include "ir/text.hpp"
#include "tests/backends/harness.hpp"
#include "tests/catch.hpp"

namespace weft::test {
namespace {

using ir::Tensor;

/// Runs graph text on every backend that takes it; `must` names one that may not refuse.
void check_text(const std::string& text, const Tolerance& tolerance, const char* must = nullptr,
                const std::vector<ir::OperandKind>& kinds = {}, double low = -4, double high = 4) {
  const ir::ProgramRef program = program_of(text);
  INFO(text);
  for (const backends::Backend* backend : backends::registry()) {
    if (backend->name() == "null") continue;
    const std::string why = refusal(*backend, program);
    if (must && backend->name() == must) CHECK(why == "");
    if (!why.empty()) continue;
    CHECK(check_against_reference(*backend, program, random_operands(*program, 5, low, high), tolerance, kinds) == "");
  }
}

const Tolerance kBits{};
const Tolerance kFloat{2e-6, 2e-7, 0};
const Tolerance kSums{1e-5, 1e-6, 1e-6};

TEST_CASE("movement is one kernel and moves bits", "[conformance]") {
  for (const char* text : {
           "graph p(x: f32[2,3,5,7]) { return transpose(x, [0,2,3,1]) }",
           "graph p(x: f32[1,64,56,57]) { return transpose(x, [0,2,3,1]) }",
           "graph p(x: f32[1,57,56,64]) { return transpose(x, [0,3,1,2]) }",
           "graph p(x: u8[33,65]) { return transpose(x, [1,0]) }",
           "graph p(x: f64[33,65]) { return transpose(x, [1,0]) }",
           "graph p(x: f16[2,33,65]) { return transpose(x, [0,2,1]) }",
           "graph p(x: f32[200,300]) { return transpose(x, [1,0]) }",
           "graph p(x: f32[3,4,5,6]) { return transpose(x, [3,1,0,2]) }",
           "graph p(x: f32[3,224,224]) { return transpose(x, [1,2,0]) }",
           "graph p(x: f32[224,224,3]) { return transpose(x, [2,0,1]) }",
           "graph p(x: i64[7]) { return broadcast(x, [5,3,7]) }",
           "graph p(x: f32[5,1,7]) { return broadcast(x, [2,5,3,7]) }",
           "graph p(x: f32[10]) { return slice(x, [9], [-1], [-2]) }",
           "graph p(x: f32[10,12]) { return slice(x, [1,2], [9,11], [2,3]) }",
           "graph p(x: f32[10,12], y: f32[10,3]) { return concat(x, y, axis=1) }",
           "graph p(x: f32[2,12], y: f32[3,12], z: f32[0,12]) { return concat(x, y, z, axis=0) }",
           "graph p(x: f32[4,10,6]) {\n a, b, c = split(x, axis=1, sizes=[3,0,7])\n return a, b, c }",
           "graph p(x: f32[2,3,4,5], v: f32[]) { return pad(x, v, low=[0,0,1,2], high=[0,0,3,1]) }",
           "graph p(x: f32[1,8,8,16], v: f32[]) { return pad(x, v, low=[0,1,1,0], high=[0,1,1,0]) }",
           "graph p(x: i32[6], v: i32[]) { return pad(x, v, low=[-2], high=[3]) }",
           "graph p(x: f32[2,6,4]) { return reshape(transpose(reshape(x, [2,3,2,4]), [0,2,1,3]), [2,6,4]) }",
           "graph p(x: f32[2,5,12]) { return transpose(reshape(x, [2,5,3,4]), [0,2,1,3]) }",
           "graph p(x: f32[2,3,5,4]) { return reshape(transpose(x, [0,2,1,3]), [2,5,12]) }",
           "graph p(x: f32[0,3]) { return transpose(x, [1,0]) }",
           "graph p(x: f32[]) { return reshape(x, [1,1]) }",
       }) {
    check_text(text, kBits, "tbb");
  }
}

TEST_CASE("fused elementwise programs are one loop", "[conformance]") {
  for (
      const char* text : {
          "graph p(x: f32[2,8,5,5], s: f32[8,1,1], b: f32[8,1,1]) { return relu(x * s + b) }",
          "graph p(x: f32[2,5,5,8], s: f32[8], b: f32[8]) { return relu(x * s + b) }",
          "graph p(x: f32[2,8,5,5], y: f32[2,8,5,5]) { return relu(x + y), x - y }",
          "graph p(x: f32[1,16,12,12]) { return x * clip(x + 3, 0, 6) / 6 }",
          "graph p(x: f32[100]) { return cast(cast(x * 3, to=u8) + cast(x, to=u8), to=f32) }",
          "graph p(x: u8[100]) { return cast(cast(-x, to=f32) + 1.5, to=i32) }",
          "graph p(x: f32[4,9,30]) { return transpose(x * 2, [2,0,1]) + 1 }",
          "graph p(x: f32[1,20,9,9], y: f32[1,9,9,20]) { return transpose(x, [0,2,3,1]) + y }",
          "graph p(x: f32[1,40,17,19], y: f32[40,1,1]) { return transpose(relu(x + y), [0,2,3,1]) }",
          "graph p(x: f32[3,20], y: f32[3,7]) { return relu(concat(x, y, axis=1)) }",
          // joined along short rows: packed, not cut
          "graph p(x: f32[1,9,11,24], y: f32[1,9,11,28]) { return relu(y + pad(x, 0, low=[0,0,0,0], high=[0,0,0,4])) }",
          "graph p(x: f32[5,3], y: f32[5,8], v: f32[]) { return y * pad(x, v, low=[0,2], high=[0,3]) - y }",
          "graph p(x: f32[7,3], y: f32[1,5], z: f32[7,8]) { return z + concat(x, broadcast(y, [7,5]), axis=1) }",
          "graph p(x: f32[2,3,40], y: f32[2,3,9]) { return exp(concat(x, y, x, axis=2)), concat(x, y, x, axis=2) * 2 }",
          "graph p(x: f32[3000,5], y: f32[3000,8]) { return y + pad(x, 1, low=[0,0], high=[0,3]) }",
          "graph p(x: f32[4,400], y: f32[4,600]) { return y + pad(x, 1, low=[0,0], high=[0,200]) }",
          // columns of one matrix of short rows
          "graph p(g: f32[1,1,1,24], x: f32[1,40,33,24], y: f32[1,40,33,24]) { return concat(y, x + x * g, axis=3) }",
          "graph p(x: f32[900,3], y: f32[900,6], z: f32[900,2]) { return concat(relu(x), y, z * 2, axis=1) }",
          "graph p(x: f32[4,8]) {\n c = concat(x, sigmoid(x), axis=1)\n return concat(c, x, axis=1) }",
          "graph p(x: f32[4,8]) {\n c = concat(x, sigmoid(x), axis=1)\n return concat(c, abs(c), axis=1) }",
          "graph p(x: f32[4,8], y: f32[2,16]) {\n c = concat(x, exp(x), axis=1)\n return concat(abs(concat(y, y, "
          "axis=0)) + c, c, y, axis=0) * 2 }",
          "graph p(x: f32[3,20], y: f32[3,7], z: f32[27]) { return concat(x + 1, y * 2, axis=1) * z }",
          "graph p(x: bool[50], y: f32[50], z: f32[1]) { return where(x, y, z) }",
          "graph p(x: f32[50]) { return pow(x, 2), pow(x, 3), pow(x, -1) }",
          "graph p(x: f32[50]) { return where(x > 0, x, x * 0.1) }",
          "graph p(x: f32[2,6,30]) {\n a, b = split(x, axis=1, sizes=[3,3])\n return a * sigmoid(b) }",
          "graph p(x: f16[2,9], y: f16[9]) { return x * y + x }",
          "graph p(x: bf16[300], y: f32[300]) { return cast(cast(x, to=f32) * y, to=bf16) }",
      }) {
    check_text(text, kFloat, "tbb");
  }
}

/// Appends `nodes` random elementwise lines over the values v0 .. v<count - 1>, mostly the latest.
void append_elementwise(Random& random, int nodes, std::string& text, int& count) {
  static const char* kUnary[] = {"relu",  "abs", "neg",  "sigmoid",    "tanh", "exp",
                                 "floor", "erf", "silu", "hard_swish", "gelu", "round"};
  static const char* kBinary[] = {"add", "sub", "mul", "max", "min"};
  for (int i = 0; i < nodes; ++i) {
    const auto any = [&] { return fmt::format("v{}", count - 1 - random.below(std::min(count, 4))); };
    switch (random.below(5)) {
      case 0:
        text += fmt::format(" v{} = {}(tanh({}))\n", count, kUnary[random.below(12)], any());
        break;
      case 1:
        text += fmt::format(" v{} = where({} < {}, {}, {})\n", count, any(), any(), any(), any());
        break;
      case 2:
        text += fmt::format(" v{} = clip({}, -1, 0.5)\n", count, any());
        break;
      default:
        text += fmt::format(" v{} = tanh({}({}, {}))\n", count, kBinary[random.below(5)], any(), any());
    }
    ++count;
  }
}

/// A random elementwise program over f32, bool and i32 with random broadcasts.
std::string random_program(Random& random, int nodes) {
  static const char* kShapes[] = {"[3,1,17]", "[5,1]", "[3,5,17]", "[17]", "[1]", "[3,5,1]", "[]"};
  std::string text = "graph p(";
  int count = 1 + static_cast<int>(random.below(4));
  for (int i = 0; i < count; ++i) text += fmt::format("{}v{}: f32{}", i ? ", " : "", i, kShapes[random.below(7)]);
  text += ") {\n";
  append_elementwise(random, nodes, text, count);
  return text + fmt::format(" return v{}\n}}", count - 1);
}

/// A reduction or a norm of rows about as long as the blocks of the own loops, or of so many short ones that blocks end
/// among them, with a prologue of many operands and an epilogue.
std::string random_structured(Random& random) {
  static const char* kOps[] = {"reduce_sum(v{}, axes=[{}])", "reduce_mean(v{}, axes=[{}])",
                               "reduce_max(v{}, axes=[{}])", "reduce_min(v{}, axes=[{}])",
                               "softmax(v{}, axis={})",      "log_softmax(v{}, axis={})"};
  static constexpr int64_t kLong[] = {60, 120, 250, 500, 750, 1000, 1260, 2030}, kShort[] = {5, 20, 60, 96, 127, 200};
  const bool many = random.below(2) == 0;
  const int64_t outer = many ? 3 + random.below(60) : 1, rows = 2 + random.below(9);
  const int64_t columns = many ? kShort[random.below(6)] : kLong[random.below(8)] + random.below(40);
  std::string text = fmt::format("graph p(v0: f32[{},{},{}]", outer, rows, columns);
  int count = 1 + static_cast<int>(random.below(7));
  for (int i = 1; i < count; ++i) {
    const std::string shapes[] = {
        fmt::format("[{},{},{}]", outer, rows, columns), fmt::format("[{}]", columns),   fmt::format("[{},1]", rows),
        fmt::format("[{},1,{}]", outer, columns),        fmt::format("[{},1,1]", outer), "[1]"};
    text += fmt::format(", v{}: f32{}", i, shapes[random.below(6)]);
  }
  text += ") {\n";
  append_elementwise(random, 1 + static_cast<int>(random.below(8)), text, count);
  text += fmt::format(" v{} = v0 + v{}\n v{} = ", count, count - 1, count + 1);
  text += fmt::format(fmt::runtime(kOps[random.below(6)]), count, 1 + random.below(2)) + "\n";
  count += 2;
  const int before = count;
  for (int i = static_cast<int>(random.below(3)); i > 0; --i, ++count)
    text += fmt::format(" v{} = tanh(v{} * 0.5)\n", count, count == before ? before - 1 : count - 1);
  return text + fmt::format(" return v{}\n}}", count - 1);
}

TEST_CASE("products of one row or column in strided layouts are run or refused, never taken in vain", "[conformance]") {
  for (const char* text : {
           "graph p(x: f32[2,16,2,1], y: f32[2,2,16,16]) {\n z = transpose(matmul(y, transpose(x, [0,2,1,3])), "
           "[0,2,1,3])\n return reshape(z, [2,16,2]) }",
           "graph p(x: f32[2,16,2], y: f32[2,16,2]) {\n a = transpose(reshape(x, [2,16,2,1]), [0,2,1,3])\n b = "
           "transpose(reshape(y, [2,16,2,1]), [0,2,1,3])\n return matmul(a, b, transpose_b=true) }",
           "graph p(x: f32[3,1,4,8], y: f32[3,4,8,1]) { return matmul(transpose(x, [0,2,1,3]), y) }",
           "graph p(x: f32[7,1], y: f32[1,9]) { return matmul(x, y) }",
       })
    check_text(text, kSums);
}

TEST_CASE("random fused programs agree with the interpreter", "[conformance]") {
  Random random(11);
  for (int i = 0; i < 150; ++i)
    check_text(random_program(random, 1 + static_cast<int>(random.below(9))), {1e-5, 3e-6, 0}, "tbb");
}

TEST_CASE("random programs around a structured op agree with the interpreter", "[conformance]") {
  Random random(12);
  for (int i = 0; i < 300; ++i) check_text(random_structured(random), {1e-5, 3e-6, 2e-6}, "tbb");
}

}  // namespace
}  // namespace weft::test
