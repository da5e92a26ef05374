#include "passes/plan_memory.hpp"

#include <random>

#include "tests/catch.hpp"

using namespace weft;
using ir::BufferId;

namespace {

ir::Plan random_plan(std::mt19937& random, int steps, bool in_place) {
  ir::Plan plan;
  plan.buffers.push_back({ir::Placement::input, ir::DType::f32, 256, 0, 0});
  for (int s = 0; s < steps; ++s) {
    ir::Step step;
    int operands = 1 + static_cast<int>(random() % 3);
    for (int i = 0; i < operands; ++i) {
      uint32_t back = static_cast<uint32_t>(random() % std::min<size_t>(plan.buffers.size(), 8));
      step.inputs.push_back(BufferId(plan.buffers.size() - 1 - back));
      if (in_place && random() % 2) step.resources.in_place.push_back(i);
    }
    step.resources.parts = 1 + static_cast<int>(random() % 2);
    step.resources.scratch_bytes = random() % 4 ? 0 : static_cast<int64_t>(random() % 1000);
    plan.buffers.push_back({ir::Placement::arena, ir::DType::f32, static_cast<int64_t>(1 + random() % 4000), 0, 0});
    step.outputs.push_back(BufferId(plan.buffers.size() - 1));
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

/// Runs a plan on numbers instead of tensors: every byte range written must still hold its writer's mark when it is
/// read.
void simulate(const ir::Plan& plan) {
  std::vector<int> arena(static_cast<size_t>(plan.arena_bytes), -1);
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const ir::Step& step = plan.steps[s];
    for (BufferId b : step.inputs) {
      const ir::Buffer& buffer = plan.buffers[b.value];
      if (buffer.placement != ir::Placement::arena) continue;
      for (int64_t i = 0; i < buffer.bytes; ++i)
        if (arena[buffer.offset + i] != static_cast<int>(b.value))
          FAIL("buffer " << b.value << " overwritten before step " << s);
    }
    int64_t scratch = (step.resources.scratch_bytes + 63) / 64 * 64 * step.resources.parts;
    for (int64_t i = 0; i < scratch; ++i) {
      for (BufferId b : step.inputs)  // scratch must not lie over an operand of its own step
        if (plan.buffers[b.value].placement == ir::Placement::arena &&
            step.scratch_offset + i >= plan.buffers[b.value].offset &&
            step.scratch_offset + i < plan.buffers[b.value].offset + plan.buffers[b.value].bytes)
          FAIL("scratch of step " << s << " overlaps operand " << b.value);
      arena[step.scratch_offset + i] = -2;
    }
    for (BufferId b : step.outputs)
      for (int64_t i = 0; i < plan.buffers[b.value].bytes; ++i)
        arena[plan.buffers[b.value].offset + i] = static_cast<int>(b.value);
  }
}

}  // namespace

TEST_CASE("no buffer is overwritten while it is needed", "[plan_memory]") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    ir::Plan plan = random_plan(random, 1 + round % 40, round % 2);
    passes::plan_memory(plan);
    REQUIRE(plan.arena_bytes >= plan.stats.arena_lower_bound);
    simulate(plan);
  }
}

TEST_CASE("long plans: no buffer is overwritten, and the arena is not far above what is alive", "[plan_memory]") {
  std::mt19937 random(13);
  for (const bool in_place : {false, true}) {
    ir::Plan plan = random_plan(random, 6000, in_place);
    passes::plan_memory(plan);
    simulate(plan);
    CHECK(static_cast<double>(plan.arena_bytes) < 1.4 * static_cast<double>(plan.stats.arena_lower_bound));
  }
}

TEST_CASE("100,000 values that are all alive at once are placed without a walk over all of them", "[plan_memory]") {
  constexpr uint32_t kDeep = 100'000;  // forth, and back in the reverse order, as a gradient reads them
  ir::Plan plan;
  plan.buffers.push_back({ir::Placement::input, ir::DType::f32, 64, 0, 0});
  for (uint32_t s = 0; s < 2 * kDeep; ++s) {
    plan.buffers.push_back({ir::Placement::arena, ir::DType::f32, 64, 0, 0});
    ir::Step step;
    step.inputs = {BufferId(s)};
    if (s >= kDeep) step.inputs.push_back(BufferId(2 * kDeep - s));
    step.outputs = {BufferId(s + 1)};
    plan.steps.push_back(std::move(step));
  }
  passes::plan_memory(plan);
  CHECK(plan.arena_bytes == plan.stats.arena_lower_bound);
  simulate(plan);
}

TEST_CASE("the arena stays within a tenth of the largest simultaneous lifetime", "[plan_memory]") {
  std::mt19937 random(11);
  double sum = 0;
  for (int round = 0; round < 50; ++round) {
    ir::Plan plan = random_plan(random, 60, true);
    passes::plan_memory(plan);
    sum += static_cast<double>(plan.arena_bytes) / static_cast<double>(plan.stats.arena_lower_bound);
  }
  CHECK(sum / 50 < 1.10);
}

TEST_CASE("a chain of in-place steps needs one buffer, however long", "[plan_memory]") {
  ir::Plan plan;
  plan.buffers.push_back({ir::Placement::input, ir::DType::f32, 400, 0, 0});
  for (int s = 0; s < 100'000; ++s) {
    plan.buffers.push_back({ir::Placement::arena, ir::DType::f32, 400, 0, 0});
    ir::Step step;
    step.inputs = {BufferId(s)};
    step.outputs = {BufferId(s + 1)};
    step.resources.in_place = {0};
    plan.steps.push_back(std::move(step));
  }
  passes::plan_memory(plan);
  CHECK(plan.arena_bytes == 448);
}

TEST_CASE("an operand that is read twice by a step is not overwritten", "[plan_memory]") {
  ir::Plan plan;
  plan.buffers.push_back({ir::Placement::input, ir::DType::f32, 64, 0, 0});
  plan.buffers.push_back({ir::Placement::arena, ir::DType::f32, 64, 0, 0});
  plan.buffers.push_back({ir::Placement::arena, ir::DType::f32, 64, 0, 0});
  ir::Step first, second;
  first.inputs = {BufferId(0)}, first.outputs = {BufferId(1)};
  second.inputs = {BufferId(1), BufferId(1)}, second.outputs = {BufferId(2)}, second.resources.in_place = {0, 1};
  plan.steps = {first, second};
  passes::plan_memory(plan);
  CHECK(plan.buffers[1].offset != plan.buffers[2].offset);
}
