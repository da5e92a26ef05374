#pragma once
// The cheapest choice of one node per class, where a shared class is paid once. See README.md for how.
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "egraph/frozen.hpp"

namespace weft::egraph {

/// The node's own cost without its children (the host chooses the unit, e.g. nanoseconds); nullopt: may not be chosen.
using NodeCost = std::function<std::optional<uint64_t>(NodeId)>;

struct ExtractOptions {
  uint64_t fuel = 300'000'000;  ///< steps of bounds and search; reproducible. 0 = only the greedy answers
  uint64_t milliseconds = 0;    ///< wall time, 0 = none
  bool search = true;           ///< false: stop after reductions and bounds
};

struct ExtractStats {
  size_t nodes = 0, classes = 0;                  ///< reachable, of finite cost
  size_t reduced_nodes = 0, reduced_classes = 0;  ///< left after the reductions
  size_t components = 0, largest_component = 0;
  uint64_t tree_cost = 0, greedy_cost = 0;  ///< DAG cost of the tree optimum and of the greedy answer
  uint64_t landmarks = 0, search_nodes = 0, fuel = 0;
  uint64_t repairs = 0;  ///< 1: what the search found was no choice (a bug of ours); tree or greedy stands in for it
  double seconds = 0;
};

struct ExtractResult {
  std::vector<NodeId> choice;  ///< by canonical class id, invalid where the class is not needed; acyclic
  uint64_t cost = 0;           ///< each chosen node once
  uint64_t lower_bound = 0;    ///< no choice is cheaper
  bool proven = false;         ///< cost == lower_bound
  ExtractStats stats;
  NodeId operator[](ClassId id) const { return choice[id.value]; }
};

/// Chooses for all roots together. The result is checked for cycles and its cost added up again before it is returned;
/// where that fails, a warning is logged and the result is the cheaper of the tree's and the greedy choice, not proven.
/// Throws Error(unsupported) naming the root where a root has no finite choice, Error(limit) where all finite costs
/// together exceed 2^62.
ExtractResult extract(const FrozenGraph& graph, std::span<const ClassId> roots, const NodeCost& cost,
                      const ExtractOptions& options = {});

/// Chosen nodes in an order in which children stand before their users.
std::vector<NodeId> chosen_order(const FrozenGraph& graph, std::span<const ClassId> roots,
                                 std::span<const NodeId> choice);
inline std::vector<NodeId> chosen_order(const FrozenGraph& graph, std::span<const ClassId> roots,
                                        const ExtractResult& result) {
  return chosen_order(graph, roots, result.choice);
}

/// Adds up a choice from the roots; throws Error(internal) where it is cyclic or lacks a class.
uint64_t choice_cost(const FrozenGraph& graph, std::span<const ClassId> roots, std::span<const NodeId> choice,
                     const NodeCost& cost);

}  // namespace weft::egraph
