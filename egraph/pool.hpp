#pragma once
// Vectors that live in huge pages where they are large: look-ups all over them would otherwise miss the TLB each time.
#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace weft::egraph {

template <typename T>
struct PoolAllocator {
  using value_type = T;
  static constexpr size_t kHugePage = size_t{2} << 20, kLarge = 2 * kHugePage;  // bytes

  PoolAllocator() = default;
  template <typename U>
  PoolAllocator(const PoolAllocator<U>&) {}
  T* allocate(size_t count) {
    const size_t bytes = count * sizeof(T);
    if (bytes < kLarge) return static_cast<T*>(::operator new(bytes));
    const size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    void* const memory = ::operator new (whole, std::align_val_t{kHugePage});
#if defined(__linux__)
    (void)madvise(memory, whole, MADV_HUGEPAGE);  // refused: small pages serve too
#endif
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t count) {
    if (count * sizeof(T) < kLarge)
      ::operator delete(memory);
    else
      ::operator delete (memory, std::align_val_t{kHugePage});
  }
  bool operator==(const PoolAllocator&) const { return true; }
};

template <typename T>
using Pool = std::vector<T, PoolAllocator<T>>;

}  // namespace weft::egraph
