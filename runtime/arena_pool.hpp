#pragma once
// The working memory of runs, kept between them.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace weft::runtime {

/// What one run needs for itself: the arena, and one pointer an operand of a step.
struct RunMemory {
  explicit RunMemory(int64_t arena_bytes, std::vector<void*> pointers);
  ~RunMemory();
  RunMemory(const RunMemory&) = delete;
  RunMemory& operator=(const RunMemory&) = delete;
  std::byte* arena = nullptr;  ///< 64-byte aligned, uninitialised
  int64_t arena_bytes = 0;
  std::vector<void*> slots;
};

/// Memory of finished runs, at most `kept` of them: more runs at once get memory of their own that is freed at their
/// end.
class ArenaPool {
 public:
  explicit ArenaPool(size_t kept) : kept_(kept) {}
  std::unique_ptr<RunMemory> take();  ///< null where none is free
  void give(std::unique_ptr<RunMemory> memory);
  void trim();

 private:
  size_t kept_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<RunMemory>> free_;
};

}  // namespace weft::runtime
