#pragma once
// The control groups (cgroups) of this process, where containers keep their limits.
#include <filesystem>
#include <string_view>
#include <vector>

namespace weft {

struct ControlGroup {
  std::filesystem::path folder;
  int version = 2;
};

/// The folders whose limits on `controller` ("cpu", "memory") bind this process, from each mount down to its own group:
/// a container may see its own group as the mount's root. `root` stands in for "/" in tests (proc/self/cgroup,
/// sys/fs/cgroup). Folders need not exist.
std::vector<ControlGroup> control_groups(std::string_view controller, const std::filesystem::path& root = "/");

}  // namespace weft
