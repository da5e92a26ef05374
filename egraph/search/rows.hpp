#pragma once
// Where matches are kept between searching and applying: many numbers, written once, read once.
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "egraph/columns.hpp"

namespace weft::egraph {

/// Rows are copied this many numbers at a time, so that many behind them may be read and written.
inline constexpr uint32_t kRowSlack = 8;
inline void copy_row(uint32_t* to, const uint32_t* from, uint32_t width) {
  for (uint32_t i = 0; i < width; i += kRowSlack) std::memcpy(to + i, from + i, kRowSlack * sizeof(uint32_t));
}

/// Memory for rows by the piece, cut from slabs in huge pages, used again by the next iteration: most of what a large
/// search would spend in the system are first touches of small pages. Thread-safe.
class RowPool {
 public:
  static constexpr size_t kPiece = 16384;  ///< numbers
  /// Throws std::bad_alloc.
  uint32_t* take();
  void give(uint32_t* piece);

 private:
  static constexpr size_t kSlab = 32 * kPiece;
  std::mutex mutex_;
  std::vector<Column<uint32_t>> slabs_;
  std::vector<uint32_t*> free_;
};

/// Numbers one after another in pieces that never move.
class Rows {
 public:
  /// `pool` outlives the rows.
  explicit Rows(RowPool* pool = nullptr) : pool_(pool) {}
  /// Room for `count` numbers (and kRowSlack) in one piece, not zeroed; `use` says how many were written.
  uint32_t* room(size_t count) {
    if (pieces_.empty() || pieces_.back().size + count > pieces_.back().room) grow(count);
    return pieces_.back().data.get() + pieces_.back().size;
  }
  void use(size_t count) { pieces_.back().size += count, size_ += count; }
  size_t size() const { return size_; }
  struct Return {
    RowPool* pool;  ///< null: of its own
    void operator()(uint32_t* piece) const { pool ? pool->give(piece) : delete[] piece; }
  };
  struct Piece {
    std::unique_ptr<uint32_t[], Return> data;
    size_t size = 0, room = 0;
  };
  const std::vector<Piece>& pieces() const { return pieces_; }
  void drop_last(size_t count) { pieces_.back().size -= count, size_ -= count; }

 private:
  void grow(size_t count);
  RowPool* pool_;
  std::vector<Piece> pieces_;
  size_t size_ = 0;
};

}  // namespace weft::egraph
