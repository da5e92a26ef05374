// Every backend of the registry against the reference interpreter, over the op table: its examples, then every
// elementwise op over dtypes, odd shapes, broadcasts and special values. What a backend refuses is skipped; a refusal
// must say why.
#include <limits>
#include <set>

#include "ir/support/error.hpp"
#include "ir/text.hpp"
#include "tests/backends/harness.hpp"
#include "tests/catch.hpp"

namespace weft::test {
namespace {

using ir::DType;
using ir::Op;
using ir::Tensor;

/// Ops whose f32 results are rounded once in any implementation, so that bits must agree.
bool exact(const ir::OpInfo& info) {
  static const std::set<Op> kRounded = {
      Op::rsqrt,          Op::exp,         Op::log,         Op::sin,         Op::cos,       Op::tanh,   Op::erf,
      Op::sigmoid,        Op::softplus,    Op::silu,        Op::hard_swish,  Op::elu,       Op::gelu,   Op::pow,
      Op::softmax,        Op::log_softmax, Op::layer_norm,  Op::rms_norm,    Op::attention, Op::matmul, Op::conv,
      Op::conv_transpose, Op::reduce_sum,  Op::reduce_mean, Op::reduce_prod, Op::avg_pool,  Op::resize, Op::cumsum};
  return !kRounded.contains(info.op);
}

Tolerance tolerance_of(const ir::OpInfo& info, DType result) {
  if (!ir::is_float(result) || exact(info)) return {};
  switch (result) {
    case DType::f16:
      return {1e-3, 1e-4, 0};
    case DType::bf16:
      return {8e-3, 1e-3, 0};
    case DType::f64:
      return {1e-14, 1e-15, 0};
    default:
      return {1e-6, 1e-7, 0};
  }
}

/// The programs that a backend runs for real; null computes nothing.
template <typename F>
void for_each_backend(const F& f) {
  for (const backends::Backend* backend : backends::registry()) {
    if (backend->name() != "null") f(*backend);
  }
}

void check(const ir::ProgramRef& program, const std::vector<Tensor>& operands, const Tolerance& tolerance) {
  for_each_backend([&](const backends::Backend& backend) {
    const std::string why = refusal(backend, program);
    if (backend.name() == "reference") CHECK(why == "");
    if (!why.empty()) {
      CHECK(why.find('\n') == std::string::npos);
      CHECK_THROWS_AS(backend.compile({program, std::vector<ir::OperandKind>(operands.size()), 1}), Error);
      return;
    }
    const std::string wrong = check_against_reference(backend, program, operands, tolerance);
    CHECK(wrong == "");
  });
}

TEST_CASE("examples of the op table hold on every backend", "[conformance]") {
  for (const ir::OpInfo& info : ir::all_ops()) {
    for (std::string_view example : info.examples) {
      const ir::Expr whole = ir::parse_expression(example, "example");
      REQUIRE(whole.children.size() == 2);
      ir::Graph graph("example");
      const ir::Value value = ir::build_expression(graph, whole.children[0], {});
      const ir::Node& node = graph.node(value.node);
      if (node.op != info.op) continue;
      std::vector<ir::TensorType> types;
      std::vector<Tensor> operands;
      for (ir::Value v : node.operands) {
        types.push_back(graph.type(v));
        operands.push_back(graph.node(v.node).tensor);
      }
      INFO(example);
      check(ir::make_program(info.op, types, *node.attributes), operands, tolerance_of(info, node.types[0].dtype));
    }
  }
}

ir::Attributes some_attributes(Op op, DType target) {
  ir::Attributes attributes;
  if (op == Op::cast) attributes.set("to", target);
  return attributes;
}

/// Operands of an elementwise op, with special values where floats take them; none where the op refuses the dtype.
std::vector<Tensor> elementwise_operands(const ir::OpInfo& info, DType dtype, const std::vector<ir::Shape>& shapes,
                                         double special, uint64_t seed) {
  Random random(seed);
  std::vector<Tensor> operands;
  const bool divides =
      !ir::is_float(dtype) && (info.op == Op::div || info.op == Op::mod || info.op == Op::fmod || info.op == Op::pow);
  for (size_t i = 0; i < info.operands.size(); ++i) {
    const DType own = info.op == Op::where && i == 0 ? DType::boolean : dtype;
    operands.push_back(random.tensor({own, shapes[i % shapes.size()]}, divides ? 1 : -4, 4));
    if (ir::is_float(own) && special == special + 0.0 && special != 1) plant(operands.back(), special);
    if (ir::is_float(own) && special != special && i == seed % info.operands.size()) plant(operands.back(), special);
  }
  return operands;
}

void check_elementwise(const ir::OpInfo& info, DType dtype, DType target, const std::vector<ir::Shape>& shapes,
                       double special, uint64_t seed) {
  const std::vector<Tensor> operands = elementwise_operands(info, dtype, shapes, special, seed);
  std::vector<ir::TensorType> types;
  for (const Tensor& t : operands) types.push_back(t.type());
  ir::ProgramRef program;
  try {
    program = ir::make_program(info.op, types, some_attributes(info.op, target));
  } catch (const Error&) {
    return;  // the op does not take this dtype
  }
  INFO(info.name << " " << ir::to_string(dtype) << " special " << special << " seed " << seed);
  check(program, operands, tolerance_of(info, program->graph().type(program->graph().outputs()[0].value).dtype));
}

constexpr double kNone = 1, kNaN = std::numeric_limits<double>::quiet_NaN(),
                 kInf = std::numeric_limits<double>::infinity();

TEST_CASE("every elementwise op over dtypes and lengths", "[conformance]") {
  for (const ir::OpInfo& info : ir::all_ops()) {
    if (!info.has(ir::kElementwise)) continue;
    for (int d = 0; d < ir::kDTypeCount; ++d) {
      const DType dtype = static_cast<DType>(d);
      for (int to = 0; to < (info.op == Op::cast ? ir::kDTypeCount : 1); ++to) {
        for (int64_t n : {0, 1, 3, 17, 1000})
          check_elementwise(info, dtype, static_cast<DType>(to), {{n}}, kNone, static_cast<uint64_t>(n));
      }
    }
  }
}

TEST_CASE("special values at the first, middle and last element of every length", "[conformance]") {
  for (const ir::OpInfo& info : ir::all_ops()) {
    if (!info.has(ir::kElementwise)) continue;
    for (DType dtype : {DType::f32, DType::f16, DType::f64}) {
      for (DType to : info.op == Op::cast
                          ? std::vector<DType>{DType::boolean, DType::u8, DType::i32, DType::i64, DType::bf16}
                          : std::vector<DType>{DType::f32}) {
        for (double special : {kNaN, kInf, -kInf, -0.0, 0.0, 1e-40, -100.0, 1000.0, 2.5}) {
          for (int64_t n : {1, 3, 8, 16, 17, 64, 1000}) {
            check_elementwise(info, dtype, to, {{n}}, special, 0);
            if (special != special) check_elementwise(info, dtype, to, {{n}}, special, 1);
          }
        }
      }
    }
  }
}

TEST_CASE("every elementwise op of several operands broadcasts", "[conformance]") {
  const std::vector<std::vector<ir::Shape>> patterns = {{{2, 3, 17}, {17}, {1}},
                                                        {{17}, {2, 3, 17}, {3, 1}},
                                                        {{5, 1, 7}, {3, 1}, {5, 3, 7}},
                                                        {{}, {33}, {33}},
                                                        {{33}, {}, {}},
                                                        {{1}, {1, 1}, {}},
                                                        {{4, 600}, {4, 1}, {600}},
                                                        {{3, 4, 5, 6}, {4, 1, 1}, {6}},
                                                        {{2, 0, 3}, {3}, {1, 1}},
                                                        {{1, 40, 1, 9}, {7, 1, 5, 1}, {5, 9}},
                                                        {{2100, 3}, {3}, {2100, 1}}};
  for (const ir::OpInfo& info : ir::all_ops()) {
    if (!info.has(ir::kElementwise) || info.operands.size() < 2) continue;
    for (DType dtype : {DType::f32, DType::i64, DType::u8, DType::boolean}) {
      for (size_t i = 0; i < patterns.size(); ++i) check_elementwise(info, dtype, dtype, patterns[i], kNone, i + 7);
    }
  }
}

TEST_CASE("large elementwise kernels are split and keep their bits", "[conformance]") {
  for (Op op : {Op::add, Op::gelu, Op::max, Op::tanh}) {
    check_elementwise(ir::info(op), DType::f32, DType::f32, {{3, 257, 1001}, {257, 1}}, kNaN, 1);
    check_elementwise(ir::info(op), DType::f32, DType::f32, {{300001}}, kNone, 1);
  }
}

}  // namespace
}  // namespace weft::test
