#pragma once
// Fusion candidates: kernels as e-nodes in the classes of the values that they compute. The search chooses among them.
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "egraph/egraph.hpp"
#include "ir/target.hpp"
#include "passes/language.hpp"

namespace weft::passes {

struct FusionLimits {
  size_t ops = 18;        ///< ops in one kernel
  size_t per_class = 16;  ///< candidates kept a class, larger ones first
  size_t rounds = 20;     ///< sweeps over all classes
  bool contract = false;  ///< of every KernelRequest
  size_t total = 60'000;  ///< candidates in all: on graphs of many thousand classes fewer are kept a class
};

/// One kernel e-node that was added.
struct KernelInfo {
  uint64_t nanoseconds = 0;
  std::vector<egraph::ClassId> computes;  ///< classes of the ops inside, the result last
  std::vector<egraph::NodeId> members;    ///< the ops, one a class
};

/// A target that would not run a candidate.
struct RefusedKernel {
  egraph::ClassId result;
  std::string backend, reason;
  ir::ProgramRef program;
};

struct FusionResult {
  std::unordered_map<egraph::NodeId, KernelInfo> kernels;
  int64_t candidates = 0, accepted = 0;
  int64_t tuples = 0;  ///< of the accepted: kernels with two outputs
  std::map<std::string, int64_t>
      refusals;                        ///< reason (of the first target that refused) -> candidates that no target took
  std::vector<RefusedKernel> refused;  ///< every refusal, where `record` was asked for
};

/// Adds to every class the kernels that some target accepts: each op alone, and closed groups of ops (an anchor such as
/// a convolution, matmul or reduction with elementwise ops before and after it, elementwise groups, strided views).
/// A value inside a group that others read too may be an output of its kernel beside the result: then the kernel stands
/// in a class of its own, and projections of it in the two classes.
/// Classes that depend on parameters alone need none: the prologue computes them op by op.
FusionResult add_kernels(egraph::EGraph& graph, TensorLanguage& language, const TensorAnalysis& facts,
                         std::span<const ir::Target* const> targets, int threads, const FusionLimits& limits = {},
                         bool record = false);

}  // namespace weft::passes
