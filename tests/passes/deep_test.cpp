// C02: depth is no danger, to any pass, at any level.
#include "ir/eval.hpp"
#include "passes/pipeline.hpp"
#include "tests/catch.hpp"
#include "tests/default_targets.hpp"
#include "tests/small_stack.hpp"

using namespace weft;

namespace {

ir::Graph chain(int length) {
  ir::Graph graph("chain");
  ir::Value v = graph.input("x", {ir::DType::f32, {4}});
  ir::Value one = graph.constant(ir::Tensor::scalar(1.0f));
  for (int i = 0; i < length; ++i) v = graph.value(ir::Op::add, {v, one});
  graph.output("y", v);
  return graph;
}

passes::CompileResult compile(const ir::Graph& graph, int level) {
  passes::Options options;
  options.level = level;
  return passes::compile(graph, test::default_targets(), options);
}

}  // namespace

TEST_CASE("C02: a chain of 100,000 adds compiles without rewriting on a small stack", "[deep][peer-bugs]") {
  ir::Graph graph = chain(100'000);
  passes::CompileResult result;
  test::on_small_stack([&] { result = compile(graph, 0); });
  CHECK(result.plan.steps.size() == 100'000);
  CHECK(result.plan.arena_bytes <= 64 << 10);  // one buffer and one scratch, however long
}

TEST_CASE("C02: a chain of 20,000 adds is searched on a small stack and fused", "[deep][peer-bugs]") {
  ir::Graph graph = chain(20'000);
  passes::CompileResult result;
  test::on_small_stack([&] { result = compile(graph, 2); });
  CHECK(result.plan.steps.size() < 20'000);
  ir::Tensor value = ir::Tensor::from<float>({4}, {0, 1, 2, 3});
  for (const ir::Step& step : result.plan.steps)
    value = ir::run_program(*step.program, std::vector<ir::Tensor>{value})[0];
  CHECK(value.as<float>()[0] == 20000.0f);
  CHECK(value.as<float>()[3] == 20003.0f);
}
