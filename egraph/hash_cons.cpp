#include "egraph/hash_cons.hpp"

#include <utility>

namespace weft::egraph {

uint64_t NodeKey::hash_children(std::span<const ClassId> children) {
  uint64_t h = children.size();
  for (ClassId child : children) h = ((h ^ child.value) * 0xff51afd7ed558ccdull) ^ (h >> 29);
  h ^= h >> 32;
  return h | uint64_t{3} << kIdBits;
}

uint64_t HashCons::Entry::hash() const {
  NodeKey key(SymbolId(symbol), {});
  key.children = children;
  return key.hash();
}

void HashCons::put(uint64_t hash, const Entry& entry) {
  size_t i = home(hash);
  while (entries_[i].node != kEmpty) i = (i + 1) & mask_;
  entries_[i] = entry;
}

Column<HashCons::Entry> HashCons::empty_table(size_t entries) {
  Column<Entry> table;
  table.reserve(entries);
  table.prefer_huge_pages();
  Entry* const first = table.data();
#pragma GCC unroll 8
  for (size_t i = 0; i < entries; ++i) first[i] = {0, 0, kEmpty};
  return table;
}

void HashCons::grow() {
  const size_t before = mask_ + 1;
  const Column<Entry> old = std::exchange(entries_, empty_table(2 * before));
  mask_ = 2 * before - 1, --shift_;
  for (const Entry *entry = old.data(), *const end = entry + before; entry != end; ++entry)
    if (entry->node != kEmpty) put(entry->hash(), *entry);
}

void HashCons::insert(const NodeKey& key, uint32_t node, const Place& place) {
  const Entry entry{key.children, key.symbol, node};
  if (full()) {
    grow();
    put(key.hash(), entry);
  } else {
    entries_[place.at] = entry;
  }
  ++size_;
}

bool HashCons::erase(const NodeKey& key, uint32_t node) {
  size_t hole = home(key.hash());
  for (; entries_[hole].node != node; hole = (hole + 1) & mask_)
    if (entries_[hole].node == kEmpty) return false;
  // Entries behind the hole move into it where that brings them no further than their home.
  for (size_t i = (hole + 1) & mask_; entries_[i].node != kEmpty; i = (i + 1) & mask_) {
    if (((i - home(entries_[i].hash())) & mask_) >= ((i - hole) & mask_)) {
      entries_[hole] = entries_[i];
      hole = i;
    }
  }
  entries_[hole].node = kEmpty;
  --size_;
  return true;
}

}  // namespace weft::egraph
