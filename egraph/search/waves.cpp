#include "egraph/search/waves.hpp"

#include <algorithm>

namespace weft::egraph {

Waves::Waves(const std::vector<MatchBlock>& blocks, size_t width)
    : blocks_(blocks), width_(width), block_(blocks.size()) {}

bool Waves::to_piece_before() {
  while (piece_ == 0) {
    if (block_ == 0) return false;
    piece_ = blocks_[--block_].matches.pieces().size();
  }
  const Rows::Piece& piece = blocks_[block_].matches.pieces()[--piece_];
  begin_ = piece.data.get(), row_ = begin_ + piece.size;
  return true;
}

std::span<uint32_t* const> Waves::next() {
  size_t taken = 0;
  while (taken < wave_.size() && (row_ != begin_ || to_piece_before())) {
    const size_t count = std::min(static_cast<size_t>(row_ - begin_) / width_, wave_.size() - taken);
    for (size_t i = 0; i < count; ++i) wave_[taken + i] = row_ -= width_;
    taken += count;
  }
  return {wave_.data(), taken};
}

}  // namespace weft::egraph
