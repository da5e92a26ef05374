#pragma once
// The heart: a graph is poured into an e-graph, rules saturate it, kernels are added, the cheapest form comes out.
#include <span>

#include "ir/graph.hpp"
#include "ir/target.hpp"
#include "passes/pipeline.hpp"

namespace weft::passes {

class PassRunner;

struct SearchResult {
  ir::Graph lowered;  ///< leaves, kernels, reshapes; ops that depend on parameters alone stay ops
  int64_t egraph_nodes = 0, egraph_classes = 0;
  uint64_t cost = 0, lower_bound = 0;
  bool proven = false;
};

/// Runs the search on a static graph, its steps as passes of `run`. Fills the report's rules and stop reason.
SearchResult search(const ir::Graph& graph, std::span<const ir::Target* const> targets, const Options& options,
                    PassRunner& run, CompileReport& report);

}  // namespace weft::passes
