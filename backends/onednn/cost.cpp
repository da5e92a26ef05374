#include "backends/onednn/cost.hpp"

#include <unistd.h>

#include <algorithm>

namespace weft::backends::onednn {
namespace {

constexpr double kForkNs = 1000;    // of two or more parts
constexpr double kPartNs = 8000;    // a part of less gains nothing over that
constexpr double kCopyGbps = 20;    // gather or scatter of a tile, its bytes counted once
constexpr double kPackGbps = 1;     // weights that are packed in every run
constexpr double kScanGbps = 55;    // the guard against NaN, from L3
constexpr double kHiddenGbps = 80;  // a tensor read behind the sums, mostly hidden by them

int64_t cache_bytes(int name, int64_t fallback) {
  const long found = sysconf(name);
  return found > 0 ? found : fallback;
}

double filled(int64_t channels, int64_t unit) {
  return static_cast<double>(channels) / static_cast<double>((channels + unit - 1) / unit * unit);
}

/// Share of peak of a window over channels-last pixels: falls as the rows that one output row reads outgrow the cache,
/// because pixels lie far apart there.
double window_share(const ConvForm& f) {
  double rows = 4.0 * static_cast<double>(f.window[0] * axis_size(f.source.axes.back()));
  for (size_t i = 2; i + 1 < f.source.axes.size(); ++i) rows *= static_cast<double>(axis_size(f.source.axes[i]));
  if (rows <= 48e3) return 0.85;
  if (rows <= 96e3) return 0.85 - 0.12 * (rows - 48e3) / 48e3;
  return std::max(0.38, 0.73 - 0.30 * (rows - 96e3) / 48e3);
}

/// Share of peak that the sums themselves reach (measured: ResNet-50, MobileNetV2, PP-OCR, M-LSD shapes on
/// AVX2, 2.6.3).
double efficiency(const ConvForm& f, const ConvChoice& choice) {
  const auto inputs = static_cast<double>(axis_size(f.weights.axes[1]));
  const int64_t channels = axis_size(f.source.axes.back()), outputs = axis_size(f.destination.axes.back()) / f.groups;
  const bool strided = std::any_of(f.strides.begin(), f.strides.end(), [](int64_t s) { return s > 1; });
  const auto is = [&](const char* name) { return choice.implementation.find(name) != std::string::npos; };
  if (is("dw")) return strided ? 0.38 : 0.50;
  if (is("1x1")) return 0.96 * inputs / (inputs + 4) * filled(outputs, 8);
  if (is("gemm")) return f.groups > 1 ? 0.03 : 0.45;
  if (!is("jit") && !is("brg")) return 0.001;
  double share = inputs <= 4 ? 0.88 : choice.blocked ? 0.91 : window_share(f);
  if (strided && inputs > 4) share *= choice.blocked ? 0.95 : 0.92;
  if (channels >= 512) share *= 0.85;
  if (f.groups > 1) share *= std::min(1.0, 0.35 + inputs / 64);
  return share * filled(outputs, 8);
}

double bytes_of(const View& view) { return 4.0 * static_cast<double>(element_count(view)); }

/// Epilogue: arithmetic of every step, the bytes of operands, copies of those that lie otherwise, the scan of the
/// guard.
double steps_nanoseconds(const ConvForm& form, bool tiles) {
  const View &source = form.source, &destination = form.destination;
  const std::span<const Step> steps = std::span(form.steps).subspan(form.bias_first ? 1 : 0);  // the bias is free
  const double elements = static_cast<double>(element_count(destination));
  double total = 0;
  bool guarded = false;
  for (const Step& s : steps) guarded = guarded || loses_nan(s.kind);
  if (guarded) total += bytes_of(source) / kScanGbps;
  for (const Step& s : steps) {
    total += elements * step_nanoseconds(s.kind);
    if (s.spread == Spread::channel || s.spread == Spread::image_channel) total += 0.1 * elements;
    if (s.spread != Spread::full) continue;
    total += bytes_of(destination) / kHiddenGbps;
    if (tiles || !is_dense(s.operand) || !is_dense(destination)) total += bytes_of(destination) / kCopyGbps;
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

double conv_nanoseconds(const ConvForm& form, const ConvChoice& choice) {
  const ir::MachineFacts& m = machine_facts();
  const double sums = conv_flops(form) / (m.gflops_f32 * efficiency(form, choice));
  const double weights = bytes_of(form.weights) / m.l3_gbps;
  const double activations = (bytes_of(form.source) + bytes_of(form.destination)) / m.l3_gbps;
  double total = std::max({sums, weights, activations}) + steps_nanoseconds(form, choice.blocked);
  if (!form.fixed_weights) total += bytes_of(form.weights) / kPackGbps;
  if (!is_dense(form.source) || choice.blocked) total += bytes_of(form.source) / kCopyGbps;
  if (!is_dense(form.destination) || choice.blocked) total += bytes_of(form.destination) / kCopyGbps;
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

int worthwhile_parts(double nanoseconds, int threads) {
  return static_cast<int>(std::clamp<double>(nanoseconds / kPartNs, 1, std::max(threads, 1)));
}

uint64_t kernel_nanoseconds(double one_thread, int parts, double balance) {
  const double fork = parts > 1 ? kForkNs : 0;
  const double total = machine_facts().launch_ns + fork + one_thread / (parts * std::max(balance, 0.01));
  return static_cast<uint64_t>(std::min(total, 1e18));
}

}  // namespace weft::backends::onednn
