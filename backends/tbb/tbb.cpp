// The backend of own loops: its families of kernels, fastest first.
#include "backends/backend.hpp"
#include "backends/tbb/kernel.hpp"
#include "ir/support/error.hpp"

namespace weft::backends::tbb {
namespace {

constexpr Family kFamilies[] = {
    {"loop", match_loop},           {"reduce", match_reduce}, {"normalise", match_normalise},
    {"depthwise", match_depthwise}, {"pool", match_pool},     {"attention", match_attention},
    {"gather", match_gather},       {"resize", match_resize},
};

class TbbBackend : public Backend {
 public:
  std::string_view name() const override { return "tbb"; }

  std::string version() const override {
    const ir::MachineFacts& m = machine();
    return fmt::format("tbb 2 {} {:g} GFLOP/s, L2 {} {:g} GB/s, L3 {} {:g} GB/s, DRAM {:g} GB/s, launch {:g} ns", m.cpu,
                       m.gflops_f32, m.l2_bytes, m.l2_gbps, m.l3_bytes, m.l3_gbps, m.dram_gbps, m.launch_ns);
  }

  const ir::MachineFacts& machine() const override { return tbb::machine(); }

  std::variant<ir::KernelEstimate, ir::Refusal> estimate(const ir::KernelRequest& request) const override {
    Match match = find(request);
    if (auto* refusal = std::get_if<ir::Refusal>(&match)) return *refusal;
    const FamilyKernel& kernel = *std::get<0>(match);
    return ir::KernelEstimate{kernel.name, static_cast<uint64_t>(std::min(kernel.nanoseconds, 1e17))};
  }

  ir::KernelResources resources(const ir::KernelRequest& request) const override {
    return compile(request)->resources();
  }

  std::unique_ptr<Kernel> compile(const ir::KernelRequest& request) const override {
    Match match = find(request);
    if (auto* refusal = std::get_if<ir::Refusal>(&match)) fail(ErrorCode::unsupported, "tbb: {}", refusal->reason);
    return std::move(std::get<0>(match));
  }

 private:
  /// The cheapest kernel of the families that take the program, or all their reasons.
  static Match find(const ir::KernelRequest& request) {
    auto analysis = std::make_shared<Analysis>(request.program);
    if (!analysis->refusal.empty()) return ir::Refusal{analysis->refusal};
    std::string reasons;
    std::unique_ptr<FamilyKernel> best;
    for (const Family& family : kFamilies) {
      Match match = family.match({analysis, request.operands, request.threads});
      if (auto* refusal = std::get_if<ir::Refusal>(&match)) {
        reasons += (reasons.empty() ? "" : "; ") + refusal->reason;
      } else if (auto& kernel = std::get<0>(match); !best || kernel->nanoseconds < best->nanoseconds) {
        best = std::move(kernel);
      }
    }
    if (best) return best;
    return ir::Refusal{std::move(reasons)};
  }
};

}  // namespace

const Backend& instance();
const Backend& instance() {
  static const TbbBackend backend;
  return backend;
}

}  // namespace weft::backends::tbb
