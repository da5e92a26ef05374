#pragma once
// Open addressing over node ids, with the hash beside each: 8 bytes an entry, deletion without tombstones.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::egraph {

/// A set of node ids by hash; what equality means is the caller's.
class HashCons {
 public:
  static constexpr uint32_t kEmpty = 0xffffffffu;

  /// The entry of this hash for which equal(node) holds, or kEmpty.
  template <typename Equal>
  uint32_t find(uint32_t hash, Equal&& equal) const {
    if (entries_.empty()) return kEmpty;
    for (size_t i = hash & mask_;; i = (i + 1) & mask_) {
      const Entry& entry = entries_[i];
      if (entry.node == kEmpty) return kEmpty;
      if (entry.hash == hash && equal(entry.node)) return entry.node;
    }
  }
  void insert(uint32_t hash, uint32_t node);
  /// Removes the entry of this hash and node. False where there is none.
  bool erase(uint32_t hash, uint32_t node);
  size_t size() const { return size_; }
  size_t bytes() const { return entries_.capacity() * sizeof(Entry); }

 private:
  struct Entry {
    uint32_t hash, node;
  };
  void grow();
  void place(Entry entry);
  std::vector<Entry> entries_;  // a power of two
  size_t size_ = 0, mask_ = 0;
};

}  // namespace weft::egraph
