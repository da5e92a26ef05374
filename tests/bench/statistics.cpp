#include "tests/bench/statistics.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>

namespace weft::bench {
namespace {

double quantile(const std::vector<double>& sorted, double share) {
  double place = share * static_cast<double>(sorted.size() - 1);
  size_t below = static_cast<size_t>(place);
  size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// The value of the first line "KEY : value" of /proc/cpuinfo.
std::string cpu_field(const std::string& key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind(key, 0) == 0 && line.find(": ") != std::string::npos) return line.substr(line.find(": ") + 2);
  return "unknown";
}

const char* widest_vectors() {
  std::string flags = " " + cpu_field("flags") + " ";
  for (const char* name : {"avx512_bf16", "avx512_vnni", "avx512f", "avx2", "avx", "sse4_2"})
    if (flags.find(std::string(" ") + name + " ") != std::string::npos) return name;
  return "no vectors known";
}

}  // namespace

Summary summarize(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {quantile(values, 0.5), quantile(values, 0.1), quantile(values, 0.9), values.size()};
}

std::string machine_line() {
  utsname system{};
  uname(&system);
  double gib = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE)) / (1 << 30);
  return fmt::format("{} (family {}, model {}, {}), {} cores, {:.0f} GiB, {} {}", cpu_field("model name"),
                     cpu_field("cpu family"), cpu_field("model\t"), widest_vectors(), sysconf(_SC_NPROCESSORS_ONLN),
                     gib, system.sysname, system.machine);
}

std::string load_average() {
  double loads[3] = {};
  if (getloadavg(loads, 3) != 3) return "unknown";
  return fmt::format("{:.2f} {:.2f} {:.2f}", loads[0], loads[1], loads[2]);
}

std::string today() { return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))); }

}  // namespace weft::bench
