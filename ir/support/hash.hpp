#pragma once
// 128-bit content hashes (XXH3), for structural keys and content addresses.
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace weft {

struct Hash128 {
  uint64_t low = 0, high = 0;
  auto operator<=>(const Hash128&) const = default;
  std::string hex() const;  ///< 32 lower-case hexadecimal digits, high word first
};

Hash128 hash_bytes(const void* data, size_t size);

/// Feeds values one after another. Variable-length fields are preceded by their length, so that no two sequences of
/// fields give the same bytes.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  Hasher& raw(const void* data, size_t size);
  Hasher& u64(uint64_t value) { return raw(&value, sizeof value); }
  Hasher& text(std::string_view s) { return u64(s.size()).raw(s.data(), s.size()); }
  Hasher& hash(const Hash128& h) { return u64(h.low).u64(h.high); }
  Hash128 finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft

template <>
struct std::hash<weft::Hash128> {
  size_t operator()(const weft::Hash128& h) const noexcept { return h.low; }
};
