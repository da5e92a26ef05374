#pragma once
// The extraction problem in a form that can be reduced: nodes with costs over classes, some of them required.
#include <boost/container/small_vector.hpp>
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "egraph/symbol.hpp"

namespace weft::egraph::extraction {

inline constexpr uint64_t kInfinite = uint64_t{1} << 63;
inline uint64_t add_costs(uint64_t a, uint64_t b) { return a >= kInfinite || b >= kInfinite - a ? kInfinite : a + b; }

/// Reproducible fuel and an optional deadline. Every loop spends.
class Budget {
 public:
  Budget(uint64_t fuel, uint64_t milliseconds);
  void spend(uint64_t steps) { used_ += steps; }
  bool exhausted();
  uint64_t used() const { return used_; }
  /// A budget of its own that ends with this share (one in `parts`) of what is left; spend what it used.
  Budget share(uint64_t parts) const;

 private:
  uint64_t fuel_, used_ = 0, looked_ = 0;
  bool late_ = false;
  std::chrono::steady_clock::time_point deadline_;
};

/// Sets of original nodes, joined in constant time: what a reduced node stands for.
using BundleId = uint32_t;
class Bundles {
 public:
  BundleId leaf(uint32_t pick);
  BundleId join(BundleId a, BundleId b);
  std::vector<uint32_t> collect(BundleId id) const;

 private:
  struct Cell {
    uint32_t left, right;  // right == kNone: a leaf, left is the pick
  };
  std::vector<Cell> cells_;
};

/// Choose one node in every required class and in every class that a chosen node has as a child, without a cycle, so
/// that the sum of the costs of the chosen nodes is least. `paid` is already part of every answer, and `settled` its
/// picks.
struct Problem {
  struct Node {
    uint64_t cost = 0;
    uint32_t owner = 0;
    BundleId bundle = kNone;
    bool alive = true;
    boost::container::small_vector<uint32_t, 4> children;  // classes, increasing
  };
  std::vector<Node> nodes;
  std::vector<char> required;  // by class
  uint64_t paid = 0;
  BundleId settled = kNone;

  uint32_t class_count() const { return static_cast<uint32_t>(required.size()); }
  /// Sorts the children and drops duplicates.
  void normalise(uint32_t node);
  /// Drops dead nodes and classes that no required class can reach; renumbers both.
  void compact();
};

/// Rows class -> members and class -> nodes that use it, over live nodes.
struct Index {
  explicit Index(const Problem& problem);
  std::span<const uint32_t> members(uint32_t id) const {
    return {member.data() + member_begin[id], member.data() + member_begin[id + 1]};
  }
  std::span<const uint32_t> users(uint32_t id) const {
    return {user.data() + user_begin[id], user.data() + user_begin[id + 1]};
  }
  std::vector<uint32_t> member_begin, member, user_begin, user;
};

/// The tree optimum in Knuth's order (a shared class is paid each time): order, cost and best node of each class.
struct Trees {
  std::vector<uint32_t> order;     // classes of finite cost, children of the best node first
  std::vector<uint32_t> position;  // by class; kNone = infinite
  std::vector<uint64_t> cost;
  std::vector<uint32_t> best;
};
/// `price` (by node) instead of the nodes' own costs, where it is not empty.
Trees tree_optimum(const Problem& problem, const Index& index, std::span<const uint64_t> price, Budget& budget);

/// A choice of a node by class; kNone where not needed.
using Choice = std::vector<uint32_t>;
/// The cost of a choice without `paid`; clears what is not needed. kInfinite where it is cyclic or has a hole.
uint64_t dag_cost(const Problem& problem, Choice& choice);
BundleId picks_of(const Problem& problem, const Choice& choice, Bundles& bundles);

}  // namespace weft::egraph::extraction
