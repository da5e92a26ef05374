#pragma once
// Why a value is computed as it is: from what the user wrote, by which rules, to what runs, and what was not taken.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "passes/recorded_search.hpp"

namespace weft::passes {

/// Two terms are equal by a rule. Steps that explain the operands of the one before are one level deeper.
struct Rewrite {
  std::string from, to;
  Birth why;
  uint32_t depth = 0;
};

struct KernelStory {
  uint32_t e_node = 0;
  std::string kernel;    ///< "onednn.conv"
  std::string program;   ///< what it computes, in the text language
  std::string computes;  ///< names of the user's nodes inside
  uint64_t nanoseconds = 0;
  std::vector<size_t> steps;  ///< of the plan; empty where it is not chosen
  bool in_prologue = false;
  std::vector<std::string> reads;  ///< of the first of these steps: names of inputs and parameters, "step 3"
};

/// A kernel that could have computed the value.
struct RejectedKernel : KernelStory {
  std::optional<int64_t> more;  ///< nanoseconds that the best plan found with it takes more (in each of equal blocks);
                                ///< nothing where no plan can hold it
  int64_t at_least = 0;         ///< no plan with it takes less more
};

/// A target that would not compute a group of ops.
struct RefusedKernels {
  std::string backend, reason;
  size_t count = 0;
  std::string program;  ///< the shortest one
};

/// How one value comes about.
struct ValueStory {
  std::string name;  ///< of the user's node
  std::string written, type;
  std::string fate;               ///< one line: by itself, inside a kernel, in another layout ...
  std::vector<Rewrite> rewrites;  ///< from the term as written to the term that is computed
  size_t rewrites_left_out = 0;
  std::vector<KernelStory> runs;
  std::vector<RejectedKernel> rejected;  ///< by what the plan would take with it, then by number
  size_t rejected_left_out = 0;
  std::vector<RefusedKernels> refused;  ///< most frequent first
};

struct Explanation {
  uint64_t plan_cost = 0;
  bool proven = false;
  /// The value asked for; where the plan does not compute it, then those of its users that are computed without it.
  std::vector<ValueStory> values;
};

struct ExplainLimits {
  size_t rewrites = 100, rejected = 10, values = 4;
  uint64_t fuel = 10'000'000;  ///< of the search for the best plan with a rejected kernel, each
};

/// Explains node `node` of the graph that `search` was made from. Throws Error(invalid_argument) where no output needs
/// it.
Explanation explain(const RecordedSearch& search, const RecordedPlan& plan, const ir::Graph& graph, ir::NodeId node,
                    const ExplainLimits& limits = {});

/// The nodes of the graph whose values step `step` of the plan computes, its result last. Throws Error(out_of_range).
std::vector<ir::NodeId> nodes_of_step(const RecordedSearch& search, const RecordedPlan& plan, const ir::Graph& graph,
                                      size_t step);

}  // namespace weft::passes
