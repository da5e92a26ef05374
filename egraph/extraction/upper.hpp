#pragma once
// Upper bounds: good choices found quickly.
#include "egraph/extraction/problem.hpp"

namespace weft::egraph::extraction {

struct Upper {
  uint64_t cost = kInfinite;  ///< without Problem::paid
  Choice choice;
  void offer(uint64_t other_cost, const Choice& other) {
    if (other_cost < cost) cost = other_cost, choice = other;
  }
};

/// The choice of the tree optimum.
Upper tree_choice(const Problem& problem, const Trees& trees);

/// Greedy with sharing: in the trees' order each class takes the node whose needed classes together cost least. Only
/// nodes whose children stand earlier in the order are looked at, so the choice is acyclic.
Upper greedy_choice(const Problem& problem, const Index& index, const Trees& trees, Budget& budget);

/// Re-runs the tree optimum with the price of each chosen node shared among its users, keeps the best of `rounds`.
/// Starts from `upper` and only improves it.
void share_prices(const Problem& problem, const Index& index, size_t rounds, Upper& upper, Budget& budget);

/// Local search: tries every other node of each chosen class, with all classes chosen so far at no cost, until
/// nothing falls.
void switch_nodes(const Problem& problem, const Index& index, Upper& upper, Budget& budget);

}  // namespace weft::egraph::extraction
