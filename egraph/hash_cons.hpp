#pragma once
// Open addressing over node ids, with the whole key of small nodes in the entry: 16 bytes, deletion without tombstones.
#include <cstddef>
#include <cstdint>
#include <span>

#include "egraph/columns.hpp"
#include "egraph/symbol.hpp"

namespace weft::egraph {

/// What makes a node: its symbol and its children. Up to two children stand in the key itself, so that comparing keys
/// compares nodes; of more it holds a hash, and who looks must compare the children too.
struct NodeKey {
  static constexpr uint32_t kIdBits = 30;  ///< class ids are below 2^30; the two bits above tell the number of children

  NodeKey(SymbolId of, std::span<const ClassId> of_children) : symbol(of.value) {
    switch (of_children.size()) {
      case 0:
        break;
      case 1:
        children = pack(of_children[0].value, 0, 1);
        break;
      case 2:
        children = pack(of_children[0].value, of_children[1].value, 2);
        break;
      default:
        children = hash_children(of_children);
    }
  }
  /// Of at most two children; those beyond the count are 0.
  NodeKey(SymbolId of, uint32_t first, uint32_t second, uint32_t count)
      : children(pack(first, second, count)), symbol(of.value) {}

  /// The children are hashed, not held.
  bool hashed() const { return static_cast<uint32_t>(children) >= 3u << kIdBits; }
  uint64_t hash() const { return (children ^ symbol * 0xd6e8feb86659fd93ull) * 0x9e3779b97f4a7c15ull; }

  uint64_t children = 0;
  uint32_t symbol;

 private:
  static uint64_t pack(uint64_t low, uint64_t high, uint64_t count) { return low | count << kIdBits | high << 32; }
  static uint64_t hash_children(std::span<const ClassId> children);
};

/// A set of node ids by key. Where keys are hashed, what equality means is the caller's.
class HashCons {
 public:
  static constexpr uint32_t kEmpty = 0xffffffffu;

  /// Where a key stands, or would be put; `node` is kEmpty where it does not stand.
  struct Place {
    uint32_t node;
    size_t at;
  };
  /// The entry of this key, of a hashed one that for which equal(node) holds.
  template <typename Equal>
  Place find(const NodeKey& key, Equal&& equal) const {
    const Entry* const entries = entries_.data();
    for (size_t i = home(key.hash());; i = (i + 1) & mask_) {
      const Entry& entry = entries[i];
      if (entry.children == key.children && entry.symbol == key.symbol &&
          (!key.hashed() || entry.node == kEmpty || equal(entry.node)))
        return {entry.node, i};
      if (entry.node == kEmpty) return {kEmpty, i};
    }
  }
  /// The entry of this key, which is not hashed.
  Place find(const NodeKey& key) const {
    const Entry* const entries = entries_.data();
    for (size_t i = home(key.hash());; i = (i + 1) & mask_) {
      const Entry& entry = entries[i];  // an empty one may look like the key: that is right then too
      if (entry.children == key.children && entry.symbol == key.symbol) return {entry.node, i};
      if (entry.node == kEmpty) return {kEmpty, i};
    }
  }
  /// A look-up of a key that is not hashed, in two halves: the first fetches the memory that the second reads.
  struct Probe;
  Probe begin_find(const NodeKey& key) const;
  uint32_t end_find(SymbolId symbol, const Probe& probe) const;
  /// `place` is what find gave for the key, in a table that did not change since.
  void insert(const NodeKey& key, uint32_t node, const Place& place);
  /// The key at a place stands for another node from now on.
  void replace(const Place& place, uint32_t node) { entries_[place.at].node = node; }
  /// Removes the entry of this key and node. False where there is none.
  bool erase(const NodeKey& key, uint32_t node);
  size_t size() const { return size_; }
  size_t bytes() const { return (mask_ + 1) * sizeof(Entry); }
  /// What bytes() will be after one more insertion.
  size_t bytes_of_next() const { return full() ? 2 * bytes() : bytes(); }

 private:
  struct Entry {
    uint64_t children;
    uint32_t symbol, node;
    uint64_t hash() const;
  };
  size_t home(uint64_t hash) const { return hash >> shift_; }
  bool full() const { return (size_ + 1) * 5 > (mask_ + 1) * 3; }
  static Column<Entry> empty_table(size_t entries);
  void grow();
  void put(uint64_t hash, const Entry& entry);
  Column<Entry> entries_ = empty_table(16);  // a power of two
  size_t size_ = 0, mask_ = 15;              // entries - 1
  uint32_t shift_ = 60;                      // 64 - log2(entries)
};

struct HashCons::Probe {
  uint64_t children;
  const Entry* home;
};

inline HashCons::Probe HashCons::begin_find(const NodeKey& key) const {
  const Entry* const at = entries_.data() + home(key.hash());
  __builtin_prefetch(at);
  return {key.children, at};
}

inline uint32_t HashCons::end_find(SymbolId symbol, const Probe& probe) const {
  const Entry* at = probe.home;
  while (at->children != probe.children || at->symbol != symbol.value) {
    if (at->node == kEmpty) return kEmpty;
    if (++at == entries_.data() + (mask_ + 1)) at = entries_.data();
  }
  return at->node;
}

}  // namespace weft::egraph
