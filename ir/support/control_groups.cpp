#include "ir/support/control_groups.hpp"

#include <fstream>
#include <string>

namespace weft {
namespace {

namespace fs = std::filesystem;

bool lists(std::string_view controllers, std::string_view wanted) {
  while (!controllers.empty()) {
    const size_t comma = controllers.find(',');
    if (controllers.substr(0, comma) == wanted) return true;
    controllers = comma == std::string_view::npos ? "" : controllers.substr(comma + 1);
  }
  return false;
}

}  // namespace

std::vector<ControlGroup> control_groups(std::string_view controller, const fs::path& root) {
  std::vector<ControlGroup> groups;
  const fs::path mounts = root / "sys/fs/cgroup";
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {  // ID:CONTROLLERS:GROUP
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    const auto add = [&](fs::path folder, int version) {
      groups.push_back({folder, version});
      for (const fs::path& part : fs::path(group).relative_path()) groups.push_back({folder /= part, version});
    };
    if (controllers.empty()) {
      add(mounts, 2);
    } else if (lists(controllers, controller)) {
      add(mounts / controller, 1);
      if (controllers != controller) add(mounts / controllers, 1);
    }
  }
  return groups;
}

}  // namespace weft
