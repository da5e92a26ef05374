#include "egraph/extraction/must_sets.hpp"

#include <algorithm>
#include <deque>
#include <utility>

namespace weft::egraph::extraction {

MustSets::MustSets(const Problem& problem, const Index& index, const Trees& trees, Budget& budget)
    : problem_(problem),
      index_(index),
      words_((problem.class_count() + 63) / 64),
      rows_(problem.class_count() * words_, ~uint64_t{0}),
      meet_(words_),
      join_(words_) {
  std::deque<uint32_t> queue(trees.order.begin(), trees.order.end());
  std::vector<char> queued(problem.class_count(), 1);
  while (!queue.empty()) {
    if (budget.exhausted()) {
      complete_ = false;
      return;
    }
    const uint32_t id = queue.front();
    queue.pop_front();
    queued[id] = 0;
    budget.spend(1 + index.members(id).size() * (1 + words_ / 4));
    if (!refine(id)) continue;
    for (uint32_t user : index.users(id)) {
      const uint32_t owner = problem.nodes[user].owner;
      if (!std::exchange(queued[owner], 1)) queue.push_back(owner);
    }
  }
}

bool MustSets::refine(uint32_t id) {
  std::fill(meet_.begin(), meet_.end(), ~uint64_t{0});
  for (uint32_t node : index_.members(id)) {
    const auto& children = problem_.nodes[node].children;
    if (children.size() == 1) {
      const uint64_t* row = &rows_[children[0] * words_];
      for (size_t w = 0; w < words_; ++w) meet_[w] &= row[w];
      continue;
    }
    std::fill(join_.begin(), join_.end(), 0);
    for (uint32_t child : children) {
      const uint64_t* row = &rows_[child * words_];
      for (size_t w = 0; w < words_; ++w) join_[w] |= row[w];
    }
    for (size_t w = 0; w < words_; ++w) meet_[w] &= join_[w];
  }
  meet_[id / 64] |= uint64_t{1} << (id % 64);
  uint64_t* row = &rows_[id * words_];
  if (std::equal(meet_.begin(), meet_.end(), row)) return false;
  std::copy(meet_.begin(), meet_.end(), row);
  return true;
}

std::vector<uint64_t> MustSets::closure(const Problem::Node& node) const {
  std::vector<uint64_t> set(words_);
  for (uint32_t child : node.children)
    for (size_t w = 0; w < words_; ++w) set[w] |= rows_[child * words_ + w];
  return set;
}

}  // namespace weft::egraph::extraction
