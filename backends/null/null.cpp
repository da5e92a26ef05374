// The backend that takes every program at once and computes nothing: times the compiler and the runtime without
// kernels.
#include "backends/backend.hpp"

namespace weft::backends::null {
namespace {

class NullKernel : public Kernel {
 public:
  NullKernel() { resources_.implementation = "null"; }
  const ir::KernelResources& resources() const override { return resources_; }
  void run(const RunContext&, int) const override {}  // outputs keep whatever bytes they had

 private:
  ir::KernelResources resources_;
};

class Null : public Backend {
 public:
  Null() { facts_.cpu = "none"; }
  std::string_view name() const override { return "null"; }
  std::string version() const override { return "null 1"; }
  const ir::MachineFacts& machine() const override { return facts_; }
  std::variant<ir::KernelEstimate, ir::Refusal> estimate(const ir::KernelRequest&) const override {
    return ir::KernelEstimate{"null", static_cast<uint64_t>(facts_.launch_ns)};
  }
  ir::KernelResources resources(const ir::KernelRequest&) const override { return NullKernel().resources(); }
  std::unique_ptr<Kernel> compile(const ir::KernelRequest&) const override { return std::make_unique<NullKernel>(); }

 private:
  ir::MachineFacts facts_;
};

}  // namespace

const Backend& instance();
const Backend& instance() {
  static const Null backend;
  return backend;
}

}  // namespace weft::backends::null
