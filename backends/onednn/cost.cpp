#include "backends/onednn/cost.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>

namespace weft::backends::onednn {
namespace {

constexpr size_t kProbes = 4096;   // descriptors remembered
constexpr double kForkNs = 1000;   // of two or more parts
constexpr double kCopyGbps = 12;   // gather or scatter of a tile, counted once (read and write together: twice that)
constexpr double kScanGbps = 30;   // the guard against NaN

int64_t cache_bytes(int name, int64_t fallback) {
  const long found = sysconf(name);
  return found > 0 ? found : fallback;
}

double filled(int64_t channels, int64_t unit) {
  return static_cast<double>(channels) / static_cast<double>((channels + unit - 1) / unit * unit);
}

/// Share of peak that the sums themselves reach (measure: ResNet-50, MobileNetV2 and PP-OCR shapes on AVX2, 2.6.3).
double efficiency(const ConvForm& f, const std::string& implementation) {
  const auto inputs = static_cast<double>(axis_size(f.weights.axes[1]));
  const int64_t outputs = axis_size(f.destination.axes.back()) / f.groups;
  const bool strided = std::any_of(f.strides.begin(), f.strides.end(), [](int64_t s) { return s > 1; });
  const auto is = [&](const char* name) { return implementation.find(name) != std::string::npos; };
  if (is("dw")) return strided ? 0.38 : 0.50;
  if (is("1x1")) return 0.95 * inputs / (inputs + 4) * filled(outputs, 8);
  if (is("gemm")) return f.groups > 1 ? 0.03 : 0.45;
  if (!is("jit") && !is("brg")) return 0.001;
  double share = inputs <= 4 ? 0.85 : 0.82;
  if (strided && inputs > 4) share = 0.74;
  if (axis_size(f.source.axes.back()) % 256 == 0) share *= 0.88;  // pixels a multiple of 1 KB apart thrash L1
  if (f.groups > 1) share *= std::min(1.0, 0.35 + inputs / 64);
  return share * filled(outputs, 8);
}

double bytes_of(const View& view) { return 4.0 * static_cast<double>(element_count(view)); }

/// Epilogue: arithmetic of every step, the bytes of operands, copies of those that lie otherwise, the scan of the guard.
double steps_nanoseconds(std::span<const Step> steps, const View& source, const View& destination) {
  const double elements = static_cast<double>(element_count(destination));
  double total = 0;
  bool guarded = false;
  for (const Step& s : steps) guarded = guarded || loses_nan(s.kind);
  if (guarded) total += bytes_of(source) / kScanGbps;
  for (const Step& s : steps) {
    total += elements * step_nanoseconds(s.kind);
    if (s.spread == Spread::channel || s.spread == Spread::image_channel) total += 0.1 * elements;
    if (s.spread != Spread::full) continue;
    total += bytes_of(destination) / machine_facts().l3_gbps;
    if (!is_dense(s.operand) || !is_dense(destination)) total += bytes_of(destination) / kCopyGbps;
    if (guarded) total += bytes_of(destination) / kScanGbps;
  }
  return total;
}

}  // namespace

const ir::MachineFacts& machine_facts() {
  static const ir::MachineFacts facts = [] {
    ir::MachineFacts f;
    f.l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE, 512 << 10);
    f.l3_bytes = cache_bytes(_SC_LEVEL3_CACHE_SIZE, 16 << 20);
    f.l2_gbps = 60;
    f.l3_gbps = 40;
    f.dram_gbps = 15;
    switch (effective_isa()) {  // flops a cycle times a clock that a loaded core holds; Zen 4 splits AVX-512 in two
      case Isa::avx512:
        f.cpu = "avx512";
        f.gflops_f32 = __builtin_cpu_is("amd") ? 32 * 3.6 : 64 * 2.4;
        break;
      case Isa::avx2:
        f.cpu = "avx2";
        f.gflops_f32 = 32 * 3.2;
        break;
      case Isa::portable:
        f.cpu = "portable";
        f.gflops_f32 = 8 * 3.0;
        break;
    }
    return f;
  }();
  return facts;
}

double conv_nanoseconds(const ConvForm& form, const std::string& implementation) {
  const ir::MachineFacts& m = machine_facts();
  const double sums = conv_flops(form) / (m.gflops_f32 * efficiency(form, implementation));
  const double weights = bytes_of(form.weights) / m.l3_gbps;
  const double activations = (bytes_of(form.source) + bytes_of(form.destination)) / m.l3_gbps;
  double total = std::max({sums, weights, activations}) + steps_nanoseconds(form.steps, form.source, form.destination);
  if (!is_dense(form.source)) total += bytes_of(form.source) / kCopyGbps;
  if (!is_dense(form.destination)) total += bytes_of(form.destination) / kCopyGbps;
  return total;
}

double matmul_nanoseconds(const MatmulForm& form) {
  const ir::MachineFacts& m = machine_facts();
  const auto rows = static_cast<double>(axis_size(form.destination.axes.end()[-2]));
  const auto depth = static_cast<double>(axis_size(form.a.axes.back()));
  const auto columns = static_cast<double>(axis_size(form.destination.axes.back()));
  const double batches = static_cast<double>(element_count(form.destination)) / (rows * columns);
  double share = 0.88 * depth / (depth + 8) * rows / (rows + 3) * columns / (columns + 4);
  if (axis_size(form.destination.axes.back()) % 1024 == 0) share *= 0.55;  // rows of b a multiple of 4 KB apart
  const double sums = matmul_flops(form) / (m.gflops_f32 * share) + 200 * batches;
  const double bytes = (bytes_of(form.a) + bytes_of(form.b) + bytes_of(form.destination)) / m.l3_gbps;
  double total = std::max(sums, bytes);
  for (const Step& s : form.steps) {
    total += static_cast<double>(element_count(form.destination)) * (step_nanoseconds(s.kind) + 0.15);
    if (s.spread == Spread::full) total += static_cast<double>(element_count(form.destination)) * 0.4;
  }
  return total;
}

uint64_t kernel_nanoseconds(double one_thread, int parts, double balance) {
  const double fork = parts > 1 ? kForkNs : 0;
  const double total = machine_facts().launch_ns + fork + one_thread / (parts * std::max(balance, 0.01));
  return static_cast<uint64_t>(std::min(total, 1e18));
}

std::string implementation_of(const ConvForm& form) {
  const bool run = form.window == Dims{1, 1} && form.strides == Dims{1, 1} && form.groups == 1 && axis_size(form.source.axes[0]) == 1 &&
                   axis_size(form.source.axes[2]) == 1 && form.pads_begin == Dims{0, 0} && form.pads_end == Dims{0, 0};
  if (run && effective_isa() != Isa::portable) return "jit_1x1";
  ConvDesc conv;
  const auto order = [](const View& v) {
    std::vector<int64_t> dims = sizes(v);
    std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
    return dims;
  };
  Dims from = order(form.source), to = order(form.destination);
  Dims weights = form.window;
  weights.insert(weights.begin(), {to[1] / form.groups, axis_size(form.weights.axes[1])});
  if (form.groups != 1) weights.insert(weights.begin(), form.groups);
  const bool line = form.window.size() == 1;
  const auto pad = [&](Dims dims, size_t at, int64_t value) {
    if (line) dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), value);
    return dims;
  };
  from = pad(from, 2, 1);
  to = pad(to, 2, 1);
  weights = pad(weights, weights.size() - 1, 1);
  std::string key = fmt::format("{} {} {} {} {} {} {}", fmt::join(from, ","), fmt::join(to, ","), fmt::join(weights, ","),
                                fmt::join(form.strides, ","), fmt::join(form.dilations, ","), fmt::join(form.pads_begin, ","),
                                fmt::join(form.pads_end, ","));
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  conv.source = channels_last(from);
  conv.destination = channels_last(to);
  conv.weights = any_desc(weights);
  conv.strides = pad(form.strides, 0, 1);
  for (int64_t d : pad(form.dilations, 0, 1)) conv.dilations.push_back(d - 1);
  conv.pads_begin = pad(form.pads_begin, 0, 0);
  conv.pads_end = pad(form.pads_end, 0, 0);
  if (known.size() >= kProbes) known.clear();
  return known[std::move(key)] = conv_implementation(conv);
}

}  // namespace weft::backends::onednn
