#pragma once
// How much memory there is: asked before something large is allocated, since Linux promises more than it has and ends
// the process that believes it.
#include <cstdint>
#include <filesystem>
#include <string_view>

namespace weft {

/// Bytes that this process can still fill: the least of what the machine has available (with swap), what its control
/// groups (v1 and v2, every level) leave beside what can be reclaimed, and what is left of its address space (ulimit
/// -v). INT64_MAX where nothing tells. `root` stands in for "/" in tests.
int64_t available_memory(const std::filesystem::path& root = "/");

/// Less is allocated without a look at what there is.
inline constexpr int64_t kLeastLookedUp = int64_t{64} << 20;

/// Throws Error(limit) naming both numbers where `bytes` are more than there are. `what` they are for: "a run".
void require_memory(int64_t bytes, std::string_view what);

}  // namespace weft
