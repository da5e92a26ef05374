#pragma once
// Branch and bound over a reduced problem.
#include "egraph/extract.hpp"
#include "egraph/extraction/problem.hpp"

namespace weft::egraph::extraction {

struct Outcome {
  uint64_t cost = kInfinite;  ///< of the best answer found that is cheaper than asked for, or kInfinite
  BundleId picks = kNone;
  uint64_t lower = 0;  ///< at most `cost`; no answer costs less, but where that is not below what was asked for
};

/// Finds an answer cheaper than `below`, as cheap as the budget allows. Outcome::lower == min(optimum, below) or more
/// where the search was complete.
Outcome solve(Problem problem, Bundles& bundles, uint64_t below, const ExtractOptions& options, Budget& budget,
              ExtractStats& stats);

}  // namespace weft::egraph::extraction
