#pragma once
// A plan whose kernels are compiled; weights come later.
#include <memory>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "ir/plan.hpp"

namespace weft::runtime {

struct Executable {
  std::shared_ptr<const ir::Plan> plan;
  std::vector<std::shared_ptr<const backends::Kernel>> prologue, steps;  ///< one a step
};

/// Checks the plan (check_plan) and compiles its kernels, `compile_threads` at once. Each distinct (program, backend,
/// operand kinds, threads) is compiled once in the process while anybody holds it. Throws Error naming the step.
std::shared_ptr<const Executable> compile_kernels(std::shared_ptr<const ir::Plan> plan, int compile_threads);

/// A step in messages: "conv1/relu (onednn.conv)".
std::string describe_step(const ir::Step& step);

}  // namespace weft::runtime
