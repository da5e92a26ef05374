#include "backends/tbb/machine.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>

#include "backends/tbb/vector_ops.hpp"

namespace weft::backends::tbb {
namespace {

constexpr double kForkNs = 1000;          // TBB fork and join of a few tasks
constexpr double kSmallestPartNs = 8000;  // a part of less gains nothing over that

/// "512K", "16384K", "32M" in bytes; 0 where the file does not say.
int64_t cache_bytes(int index) {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
  int64_t value = 0;
  char unit = ' ';
  if (!(file >> value)) return 0;
  file >> unit;
  return unit == 'K' ? value << 10 : unit == 'M' ? value << 20 : value;
}

ir::MachineFacts detect() {
  ir::MachineFacts facts;
  facts.cpu = instruction_set();
  const bool wide = facts.cpu == "avx3", avx2 = facts.cpu == "avx2";
  facts.gflops_f32 = wide ? 110 : avx2 ? 80 : facts.cpu == "sse4" ? 25 : 5;
  facts.l2_gbps = wide ? 100 : avx2 ? 80 : 40;
  facts.l3_gbps = wide ? 70 : avx2 ? 50 : 30;
  facts.dram_gbps = 20;
  if (const int64_t l2 = cache_bytes(2)) facts.l2_bytes = l2;
  if (const int64_t l3 = cache_bytes(3)) facts.l3_bytes = l3;
  facts.launch_ns = 500;
  return facts;
}

double bandwidth(double footprint) {
  const ir::MachineFacts& facts = machine();
  if (footprint <= 0.75 * static_cast<double>(facts.l2_bytes)) return facts.l2_gbps;
  if (footprint <= 0.75 * static_cast<double>(facts.l3_bytes)) return facts.l3_gbps;
  return facts.dram_gbps;
}

double work_ns(const Load& load) {
  const double footprint = load.footprint > 0 ? load.footprint : load.bytes;
  return std::max(load.compute_ns, load.bytes / bandwidth(footprint));
}

}  // namespace

const ir::MachineFacts& machine() {
  static const ir::MachineFacts facts = detect();
  return facts;
}

int choose_parts(const Load& load, int threads) {
  const double work = work_ns(load);
  if (threads <= 1 || work < 2 * kSmallestPartNs || load.units <= 1) return 1;
  int64_t parts = static_cast<int64_t>(std::min<double>(threads, work / kSmallestPartNs));
  if (work > threads * 40'000.0) {  // several parts a thread even out what else runs there
    const double grain = std::clamp(work / (threads * 2.0), 20'000.0, 200'000.0);
    parts =
        std::max<int64_t>(1, static_cast<int64_t>(std::min(work / grain, 64.0 * threads) / threads + 0.5)) * threads;
  }
  return static_cast<int>(std::clamp<int64_t>(parts, 1, load.units));
}

double nanoseconds(const Load& load, int threads) {
  const int parts = choose_parts(load, threads);
  const double busy = std::min(parts, threads);
  return machine().launch_ns + work_ns(load) / busy + (parts > 1 ? kForkNs : 0);
}

Share share_of(int64_t total, int64_t grain, int part, int parts) {
  const int64_t grains = (total + grain - 1) / grain;
  const auto bound = [&](int64_t p) { return std::min(total, grains * p / parts * grain); };
  return {bound(part), bound(part + 1)};
}

}  // namespace weft::backends::tbb
