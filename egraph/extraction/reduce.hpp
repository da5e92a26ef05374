#pragma once
// Reductions that keep at least one optimum, with the map back in the nodes' bundles.
#include "egraph/extraction/problem.hpp"

namespace weft::egraph::extraction {

/// Reduces to a fixpoint. False where a required class has no finite choice left (there is then no answer).
/// `must_sets`: also those reductions that take memory quadratic in the classes.
bool reduce(Problem& problem, Bundles& bundles, bool must_sets, Budget& budget);

/// Strongly connected components of the classes: a number per class.
std::vector<uint32_t> strong_components(const Problem& problem, const Index& index);

/// Splits into parts that share no class. `paid` and `settled` stay with the first.
std::vector<Problem> split(const Problem& problem);

}  // namespace weft::egraph::extraction
