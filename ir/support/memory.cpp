#include "ir/support/memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>

#include "ir/support/control_groups.hpp"
#include "ir/support/error.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;
constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

/// The number of a file that is one; nothing for "max" or where there is none.
std::optional<int64_t> number_in(const fs::path& file) {
  std::ifstream in(file);
  int64_t value = 0;
  return in >> value ? std::optional(value) : std::nullopt;
}

/// The numbers of lines "NAME NUMBER" or "NAME: NUMBER kB", added up; nothing where none is there.
std::optional<int64_t> sum_of_lines(const fs::path& file, std::initializer_list<std::string_view> names) {
  std::optional<int64_t> sum;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name;
    int64_t value = 0;
    if (!(words >> name >> value) || std::find(names.begin(), names.end(), name) == names.end()) continue;
    sum = sum.value_or(0) + value;
  }
  return sum;
}

/// What a group leaves; pages of files that it holds can be reclaimed.
int64_t left_of(const ControlGroup& group) {
  const bool v2 = group.version == 2;
  const auto most = number_in(group.folder / (v2 ? "memory.max" : "memory.limit_in_bytes"));
  const auto used = number_in(group.folder / (v2 ? "memory.current" : "memory.usage_in_bytes"));
  if (!most || !used) return kUnlimited;
  const auto files = v2 ? sum_of_lines(group.folder / "memory.stat", {"active_file", "inactive_file"})
                        : sum_of_lines(group.folder / "memory.stat", {"total_active_file", "total_inactive_file"});
  return std::max<int64_t>(0, *most - std::max<int64_t>(0, *used - files.value_or(0)));
}

int64_t address_space_left(const fs::path& root) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  const int64_t used = number_in(root / "proc/self/statm").value_or(0) * sysconf(_SC_PAGESIZE);
  return std::max<int64_t>(0, static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, kUnlimited)) - used);
}

}  // namespace

int64_t available_memory(const fs::path& root) {
  int64_t least = address_space_left(root);
  if (sum_of_lines(root / "proc/meminfo", {"MemAvailable:"}))
    least = std::min(least, 1024 * *sum_of_lines(root / "proc/meminfo", {"MemAvailable:", "SwapFree:"}));
  for (const ControlGroup& group : control_groups("memory", root)) least = std::min(least, left_of(group));
  return least;
}

void require_memory(int64_t bytes, std::string_view what) {
  if (bytes < kLeastLookedUp) return;
  const int64_t there = available_memory();
  if (bytes > there)
    fail(ErrorCode::limit, "{} bytes of memory are needed for {}, {} are available", bytes, what, there);
}

}  // namespace weft
