#include "runtime/version.hpp"

#include <fstream>

#include "backends/registry.hpp"

namespace weft::runtime {

std::string_view version() { return WEFT_VERSION; }
std::string_view build_info() { return WEFT_BUILD; }

std::vector<std::pair<std::string, std::string>> backend_versions() {
  std::vector<std::pair<std::string, std::string>> versions;
  for (const backends::Backend* backend : backends::registry())
    versions.emplace_back(backend->name(), backend->version());
  return versions;
}

std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(':') + 2));
  return "unknown";
}

}  // namespace weft::runtime
