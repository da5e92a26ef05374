#pragma once
// The optimizer from top to bottom: a graph and targets in, a plan out.
#include <span>
#include <string>
#include <vector>

#include "ir/plan.hpp"
#include "passes/options.hpp"

namespace weft::passes {

struct PassReport {
  std::string name;
  double milliseconds = 0;
  int64_t nodes = 0;   ///< nodes (graph or e-graph) after the pass
  std::string detail;  ///< one line
};
struct RuleCount {
  std::string name, origin;  ///< origin is file:line
  int64_t matches = 0, applied = 0, refused = 0;
};
struct CompileReport {
  std::vector<PassReport> passes;
  std::vector<RuleCount> rules;                          ///< those that matched, most applied first
  std::vector<std::pair<std::string, int64_t>> kernels;  ///< "onednn.conv" -> steps, by name
  std::string stop_reason;                               ///< of the search: "saturated" or the limit
  std::string to_text() const;                           ///< the table of `--stats`
};
struct CompileResult {
  ir::Plan plan;
  CompileReport report;
};

/// Compiles a static graph for the targets (in order of preference; the last one must take every op). Deterministic:
/// the same graph, targets and options give the same plan, except under a time limit. Throws Error where the graph is
/// malformed or symbolic.
CompileResult compile(const ir::Graph& graph, std::span<const ir::Target* const> targets, const Options& options);

/// What of the optimizer enters the plan key: a hash over the texts of all rules that the options and targets load, and
/// over the sources of ir, egraph and passes, so that no plan of another search is taken for one of this.
Hash128 rule_set_hash(std::span<const ir::Target* const> targets, const Options& options);

}  // namespace weft::passes
