#pragma once
// The last step of an extraction: what the search found becomes a choice of e-nodes, or is refused.
#include <string>

#include "egraph/extract.hpp"

namespace weft::egraph::extraction {

/// E-nodes that are said to hold a choice, and what it is said to cost at most.
struct Offer {
  std::vector<NodeId> picks;
  uint64_t cost = 0;
};

struct Answer {
  std::vector<NodeId> choice;  ///< by class; only what the roots need
  uint64_t cost = 0;           ///< added up again
  std::string fault;           ///< why the answer is `safe` and not `found`; empty: it is `found`
};

/// Walks the choice of `found` and adds it up. Where it is cyclic, has a hole or costs more than was said, that is a
/// bug of ours in the reductions or the search; the answer is then `safe`. Throws Error(internal) where that fails too.
Answer checked_answer(const FrozenGraph& graph, std::span<const ClassId> roots, const NodeCost& cost,
                      const Offer& found, const Offer& safe);

}  // namespace weft::egraph::extraction
