#pragma once
// Records of several kinds by the same number: arrays that grow together and share one count, which their owner keeps.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace weft::egraph {

inline constexpr size_t kHugePage = size_t{2} << 20;  // bytes
template <typename T>
T* at_huge_page(T* from) {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(from) + -reinterpret_cast<uintptr_t>(from) % kHugePage);
}

/// An array that knows how much it can hold, not how much it holds.
template <typename T>
class Column {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Column() = default;
  Column(const Column& other) {
    reserve(other.room_);
    if (room_ != 0) std::memcpy(static_cast<void*>(data_), other.data_, room_ * sizeof(T));
  }
  Column(Column&& other) noexcept { swap(other); }
  Column& operator=(Column other) noexcept { return swap(other), *this; }
  ~Column() { std::free(data_); }

  size_t room() const { return room_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }

  /// Throws std::bad_alloc and changes nothing.
  void reserve(size_t room) {
    if (room <= room_) return;
    void* const moved = std::realloc(static_cast<void*>(data_), room * sizeof(T));
    if (!moved) throw std::bad_alloc();
    data_ = static_cast<T*>(moved), room_ = room;
  }

  /// For what is looked up all over and large: it would miss the TLB each time in small pages. Before it is written to.
  void prefer_huge_pages() {
#if defined(__linux__)
    char* const first = reinterpret_cast<char*>(at_huge_page(data_));
    char* const end = reinterpret_cast<char*>(data_ + room_);
    if (end < first + kHugePage) return;
    (void)madvise(first, static_cast<size_t>(end - first) / kHugePage * kHugePage,
                  MADV_HUGEPAGE);  // refused: small pages serve too
#endif
  }

 private:
  void swap(Column& other) { std::swap(data_, other.data_), std::swap(room_, other.room_); }

  T* data_ = nullptr;
  size_t room_ = 0;
};

/// Room for `count` records in each. Throws std::bad_alloc; the columns stay good.
template <typename First, typename... Others>
void make_room(size_t count, Column<First>& first, Column<Others>&... others) {
  if (count <= first.room()) [[likely]]
    return;
  const size_t room = std::max<size_t>({64, 2 * first.room(), count});
  (others.reserve(room), ...);
  first.reserve(room);  // the last: it stands for all
}

}  // namespace weft::egraph
