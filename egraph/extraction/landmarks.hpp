#pragma once
// LM-cut: a lower bound from disjunctive action landmarks (Helmert and Domshlak, "Landmarks, Critical Paths and
// Abstractions: What's the Difference Anyway?", ICAPS 2009). Here a class is a fact and a node an action.
#include "egraph/extraction/problem.hpp"

namespace weft::egraph::extraction {

struct Landmarks {
  uint64_t bound = 0;             ///< no choice costs less (without Problem::paid)
  uint64_t count = 0;             ///< landmarks found
  std::vector<uint64_t> reduced;  ///< by node: any choice with this node costs at least bound + reduced[node]
};

/// Stops early once the bound reaches `enough`. Every class must have a finite tree cost.
Landmarks landmark_cut(const Problem& problem, const Index& index, uint64_t enough, Budget& budget);

}  // namespace weft::egraph::extraction
