#include "egraph/search/rows.hpp"

#include <algorithm>

namespace weft::egraph {

uint32_t* RowPool::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    Column<uint32_t> slab;
    slab.reserve(kSlab + kHugePage / sizeof(uint32_t));  // the pieces begin at a page
    slab.prefer_huge_pages();
    free_.reserve((slabs_.size() + 1) * (kSlab / kPiece));
    slabs_.push_back(std::move(slab));
    uint32_t* const first = at_huge_page(slabs_.back().data());
    for (size_t at = kSlab; at > 0; at -= kPiece) free_.push_back(first + at - kPiece);
  }
  uint32_t* const piece = free_.back();
  free_.pop_back();
  return piece;
}

void RowPool::give(uint32_t* piece) {
  const std::lock_guard lock(mutex_);
  free_.push_back(piece);
}

void Rows::grow(size_t count) {
  constexpr size_t kFirst = 256, kMost = 4096;  // small pieces are their own
  const size_t room = pieces_.empty() ? kFirst : 4 * pieces_.back().room;
  if (pool_ && room > kMost && count + kRowSlack <= RowPool::kPiece) {
    pieces_.push_back({{pool_->take(), Return{pool_}}, 0, RowPool::kPiece - kRowSlack});
    return;
  }
  const size_t own = std::max(count, std::min(room, kMost));
  pieces_.push_back({{new uint32_t[own + kRowSlack], Return{nullptr}}, 0, own});
}

}  // namespace weft::egraph
