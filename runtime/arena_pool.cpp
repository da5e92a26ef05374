#include "runtime/arena_pool.hpp"

#include <sys/mman.h>

#include <cstdlib>

#include "ir/support/error.hpp"

namespace weft::runtime {
namespace {
constexpr int64_t kHugePage = int64_t{2} << 20;
}

RunMemory::RunMemory(int64_t bytes, std::vector<void*> pointers) : arena_bytes(bytes), slots(std::move(pointers)) {
  if (bytes <= 0) return;
  int64_t alignment = bytes >= kHugePage ? kHugePage : 64;
  size_t size = static_cast<size_t>((bytes + alignment - 1) / alignment * alignment);
  arena = static_cast<std::byte*>(std::aligned_alloc(static_cast<size_t>(alignment), size));
  if (!arena) fail(ErrorCode::limit, "cannot allocate an arena of {} bytes", bytes);
  if (alignment == kHugePage) madvise(arena, size, MADV_HUGEPAGE);  // fewer page faults; refused is fine
}
RunMemory::~RunMemory() { std::free(arena); }

std::unique_ptr<RunMemory> ArenaPool::take() {
  std::lock_guard lock(mutex_);
  if (free_.empty()) return nullptr;
  std::unique_ptr<RunMemory> memory = std::move(free_.back());
  free_.pop_back();
  return memory;
}

void ArenaPool::give(std::unique_ptr<RunMemory> memory) {
  std::unique_lock lock(mutex_);
  if (free_.size() < kept_) return free_.push_back(std::move(memory));
  lock.unlock();  // freed outside the lock
}

void ArenaPool::trim() {
  std::vector<std::unique_ptr<RunMemory>> freed;
  std::lock_guard lock(mutex_);
  freed.swap(free_);
}

}  // namespace weft::runtime
