// What is left of the real models after the search: composites recognised, chains fused, data moved only where it must
// be. The counts are the promise; which of two equally good plans is taken depends on the machine's facts, so plans are
// not compared word for word here.
#include <map>

#include "ir/program.hpp"
#include "passes/pass_runner.hpp"
#include "passes/pipeline.hpp"
#include "tests/catch.hpp"
#include "tests/default_targets.hpp"
#include "tests/models/imported.hpp"

namespace weft::models {
namespace {

struct Plan {
  ir::Plan plan;
  passes::CompileReport report;
};

std::optional<Plan> compiled(const std::string& name) {
  const std::optional<ir::Graph> graph = imported(name);
  if (!graph) return std::nullopt;
  passes::Options how;
  how.threads = 1;
  passes::CompileResult result = passes::compile(*graph, test::default_targets(), how);
  return Plan{std::move(result.plan), std::move(result.report)};
}

/// Steps whose program has an op; every step where `op` is empty.
int64_t steps_with(const ir::Plan& plan, std::optional<ir::Op> op = {}) {
  int64_t count = 0;
  for (const ir::Step& step : plan.steps) {
    bool has = !op;
    for (const ir::Node& node : step.program->graph().nodes()) has = has || node.op == *op;
    count += has;
  }
  return count;
}

/// Steps that only move data; a look-up in a table (gather) does more than that.
/// Steps that only move data; joining values that the network itself joins is not one.
int64_t moves(const ir::Plan& plan) {
  int64_t count = 0;
  for (const ir::Step& step : plan.steps) {
    bool computes = false;
    for (const ir::Node& node : step.program->graph().nodes())
      computes = computes || node.op == ir::Op::gather || node.op == ir::Op::concat ||
                 !(ir::info(node.op).traits & (ir::kLeaf | ir::kMovement | ir::kView));
    count += !computes;
  }
  return count;
}

int64_t on_backend(const ir::Plan& plan, std::string_view backend) {
  int64_t count = 0;
  for (const ir::Step& step : plan.steps) count += step.backend == backend;
  return count;
}

}  // namespace

TEST_CASE("fewer steps than ONNX Runtime's extended level leaves nodes") {
  // Nodes left by ONNX Runtime 1.30 at its extended level.
  auto [name, nodes] = GENERATE(table<std::string, int64_t>({{"pp_ocr_det", 307},
                                                             {"pp_ocr_cls", 155},
                                                             {"blazeface_back", 145},
                                                             {"blazeface_front", 92},
                                                             {"mlsd_tiny_320", 67},
                                                             {"mlsd_large_320", 90}}));
  auto model = compiled(name);
  if (!model) return;
  INFO(name << "\n" << passes::print_plan(model->plan));
  CHECK(steps_with(model->plan) < nodes);
}

TEST_CASE(
    "the search saturates, its choice is within 1 % of the bound, and nothing falls to the reference interpreter") {
  auto name = GENERATE(as<std::string>(), "pp_ocr_det", "pp_ocr_cls", "blazeface_back", "blazeface_front",
                       "mlsd_tiny_320", "mlsd_large_320", "resnet50", "mobilenet_v2", "bert_base");
  auto model = compiled(name);
  if (!model) return;
  INFO(name << "\n" << passes::print_plan(model->plan) << model->report.to_text());
  CHECK(model->report.stop_reason.find("(grown by") == std::string::npos);
  CHECK(static_cast<double>(model->plan.stats.cost) <= 1.01 * static_cast<double>(model->plan.stats.lower_bound));
  CHECK(on_backend(model->plan, "reference") == 0);
  CHECK(static_cast<double>(model->plan.arena_bytes) <= 1.1 * static_cast<double>(model->plan.stats.arena_lower_bound));
}

TEST_CASE("data is moved only at the ends of convolutional networks") {
  auto [name, most] = GENERATE(table<std::string, int64_t>(
      {{"blazeface_front", 0}, {"mlsd_large_320", 1}, {"resnet50", 1}, {"mobilenet_v2", 1}}));
  auto model = compiled(name);
  if (!model) return;
  INFO(name << "\n" << passes::print_plan(model->plan));
  CHECK(moves(model->plan) <= most);
}

TEST_CASE("BERT's norms, activations and attention are recognised, its transposes cost nothing") {
  auto model = compiled("bert_base");
  if (!model) return;
  INFO(passes::print_plan(model->plan));
  CHECK(steps_with(model->plan, ir::Op::layer_norm) == 25);
  CHECK(steps_with(model->plan, ir::Op::gelu) == 12);
  CHECK(steps_with(model->plan, ir::Op::erf) == 0);
  CHECK(moves(model->plan) == 0);
  int64_t attention = 0;
  for (const passes::RuleCount& rule : model->report.rules)
    if (rule.name.starts_with("attention")) attention += rule.applied;
  CHECK(attention >= 3);  // in each of the three layers that the search sees (passes/roll.hpp)
}

TEST_CASE("no hard-swish is left in pieces, no zero-padding Concat is left") {
  auto name = GENERATE(as<std::string>(), "pp_ocr_det", "pp_ocr_cls");
  if (auto model = compiled(name)) {
    INFO(name << "\n" << passes::print_plan(model->plan));
    for (const ir::Step& step : model->plan.steps) {  // a clip stands only where its whole chain does
      const std::string& text = step.program->text();
      if (text.find("clip(") != std::string::npos) CHECK(text.find("mul(") != std::string::npos);
    }
  }
  if (auto model = compiled("blazeface_front")) {
    INFO(passes::print_plan(model->plan));
    CHECK(steps_with(model->plan, ir::Op::concat) <= 2);  // the two that join the detections of two scales
  }
}

}  // namespace weft::models
