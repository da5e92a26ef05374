#pragma once
// Rows on their way to being applied: in which order, and which of them need not be.
#include <array>
#include <span>
#include <vector>

#include "egraph/search/matcher.hpp"

namespace weft::egraph {

/// The matches of a search newest root first, a batch at a time: small new terms become equal before the larger
/// ones above them are built, which on long associative chains makes twenty times fewer nodes that rebuild then finds
/// congruent.
class Waves {
 public:
  /// `blocks` must outlive this; `width` is of one match.
  Waves(const std::vector<MatchBlock>& blocks, size_t width);
  /// The next matches in order; none at the end. Holds until the next call.
  std::span<uint32_t* const> next();

 private:
  bool to_piece_before();
  const std::vector<MatchBlock>& blocks_;
  const size_t width_;
  size_t block_, piece_ = 0;                    // those before are to come
  uint32_t *begin_ = nullptr, *row_ = nullptr;  // of the piece at hand: rows in [begin_, row_) are to come
  std::array<uint32_t*, TemplateProgram::kBatch> wave_;
};

}  // namespace weft::egraph
