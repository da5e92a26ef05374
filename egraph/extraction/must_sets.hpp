#pragma once
// For each class the classes that stand in every answer below it: greatest fixpoint over bit sets.
#include "egraph/extraction/problem.hpp"

namespace weft::egraph::extraction {

/// M(c) = {c} + the intersection over the nodes of c of the union of M(child).
class MustSets {
 public:
  MustSets(const Problem& problem, const Index& index, const Trees& trees, Budget& budget);
  /// False where the budget ended before the fixpoint: the sets are then too large, do not use them.
  bool complete() const { return complete_; }
  bool contains(uint32_t of, uint32_t id) const { return rows_[of * words_ + id / 64] >> (id % 64) & 1; }
  /// The union over the node's children.
  std::vector<uint64_t> closure(const Problem::Node& node) const;
  std::vector<uint64_t> of(uint32_t id) const { return {&rows_[id * words_], &rows_[id * words_] + words_}; }
  static bool has(const std::vector<uint64_t>& set, uint32_t id) { return set[id / 64] >> (id % 64) & 1; }
  /// Whether the sets of so many classes fit in memory (a quarter of a gigabyte).
  static bool fit(size_t classes) { return classes * ((classes + 63) / 64) * 8 <= (size_t{1} << 28); }

 private:
  bool refine(uint32_t id);
  const Problem& problem_;
  const Index& index_;
  size_t words_;
  bool complete_ = true;
  std::vector<uint64_t> rows_, meet_, join_;
};

}  // namespace weft::egraph::extraction
