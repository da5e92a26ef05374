#pragma once
// What differs between two plans: steps of one that the other has not, grouped by what they compute.
#include <cstdint>
#include <string>
#include <vector>

#include "ir/plan.hpp"

namespace weft::tools {

struct DiffStep {
  size_t step = 0;
  std::string kernel, ops, program, source;  ///< ops: "conv+add+relu"
  uint64_t nanoseconds = 0;
};
/// Steps that compute values in common, before and after.
struct DiffGroup {
  std::vector<DiffStep> before, after;
  size_t count = 1;
  int64_t change = 0;  ///< nanoseconds, of one
};
struct PlanDiff {
  size_t before_steps = 0, after_steps = 0, equal_steps = 0;
  uint64_t before_nanoseconds = 0, after_nanoseconds = 0;
  int64_t price_change = 0;  ///< of equal steps that have another price
  size_t price_changes = 0;
  std::vector<DiffGroup> groups;  ///< largest change together first
};

/// Steps are equal that run the same kernel on the same program. Deterministic.
PlanDiff diff_plans(const ir::Plan& before, const ir::Plan& after);

/// "conv+add+relu": the ops of a program in order.
std::string ops_of(const ir::Program& program);

}  // namespace weft::tools
