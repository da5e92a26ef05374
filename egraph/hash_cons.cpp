#include "egraph/hash_cons.hpp"

#include <utility>

namespace weft::egraph {

void HashCons::place(Entry entry) {
  size_t i = entry.hash & mask_;
  while (entries_[i].node != kEmpty) i = (i + 1) & mask_;
  entries_[i] = entry;
}

void HashCons::grow() {
  const size_t capacity = entries_.empty() ? 16 : entries_.size() * 2;
  const std::vector<Entry> old = std::exchange(entries_, std::vector<Entry>(capacity, Entry{0, kEmpty}));
  mask_ = capacity - 1;
  for (const Entry& entry : old)
    if (entry.node != kEmpty) place(entry);
}

void HashCons::insert(uint32_t hash, uint32_t node) {
  if ((size_ + 1) * 5 > entries_.size() * 3) grow();
  place({hash, node});
  ++size_;
}

bool HashCons::erase(uint32_t hash, uint32_t node) {
  if (entries_.empty()) return false;
  size_t hole = hash & mask_;
  for (; entries_[hole].node != node; hole = (hole + 1) & mask_)
    if (entries_[hole].node == kEmpty) return false;
  // Entries behind the hole move into it where that brings them no further than their home.
  for (size_t i = (hole + 1) & mask_; entries_[i].node != kEmpty; i = (i + 1) & mask_) {
    const size_t home = entries_[i].hash & mask_;
    if (((i - home) & mask_) >= ((i - hole) & mask_)) {
      entries_[hole] = entries_[i];
      hole = i;
    }
  }
  entries_[hole].node = kEmpty;
  --size_;
  return true;
}

}  // namespace weft::egraph
