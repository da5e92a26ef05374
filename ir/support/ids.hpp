#pragma once
// Ids, not pointers: distinct types over uint32_t, so that a node is never taken for a class.
#include <compare>
#include <cstdint>
#include <functional>

namespace weft {

template <typename Tag>
struct Id {
  uint32_t value = kNone;
  static constexpr uint32_t kNone = 0xffffffffu;
  constexpr Id() = default;
  constexpr explicit Id(uint32_t v) : value(v) {}
  constexpr explicit Id(size_t v) : value(static_cast<uint32_t>(v)) {}
  constexpr explicit Id(int v) : value(static_cast<uint32_t>(v)) {}
  constexpr bool valid() const { return value != kNone; }
  constexpr auto operator<=>(const Id&) const = default;
};

}  // namespace weft

template <typename Tag>
struct std::hash<weft::Id<Tag>> {
  size_t operator()(weft::Id<Tag> id) const noexcept { return id.value * 0x9e3779b97f4a7c15ull >> 17; }
};
