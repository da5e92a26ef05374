#include "tests/bench/weft_runner.hpp"

#include "runtime/session.hpp"
#include "runtime/version.hpp"

namespace weft::bench {
namespace {

PortInfo port_of(const runtime::NamedType& named) {
  PortInfo port{named.name, named.type.dtype, {}};
  for (const ir::Dim& dim : named.type.shape) port.dims.push_back(dim.is_constant() ? dim.value() : -1);
  return port;
}

class WeftRunner : public Runner {
 public:
  WeftRunner(const std::filesystem::path& model, runtime::SessionOptions options)
      : session_(runtime::Session::load(model, std::move(options))) {}

  std::string engine() const override { return "weft " + std::string(runtime::version()); }
  std::vector<PortInfo> inputs() const override {
    std::vector<PortInfo> ports;
    for (const runtime::NamedType& input : session_.inputs()) ports.push_back(port_of(input));
    return ports;
  }
  void bind(const ir::NamedTensors& inputs) override {
    inputs_ = inputs;
    outputs_ = session_.run(inputs_);  // compiles; its outputs are the buffers of the runs that follow
  }
  void run() override { session_.run(inputs_, outputs_); }
  ir::NamedTensors outputs() const override { return outputs_; }

 private:
  runtime::Session session_;
  ir::NamedTensors inputs_, outputs_;
};

}  // namespace

std::unique_ptr<Runner> load_weft(const std::filesystem::path& model, const models::ModelCase& model_case,
                                  int threads) {
  runtime::SessionOptions options;
  options.compile.threads = threads;
  options.cache.disk = options.cache.memory = false;
  for (const models::ModelInput& input : model_case.inputs)
    options.shapes.emplace_back(input.name, ir::to_ints(input.type.shape));
  return std::make_unique<WeftRunner>(model, std::move(options));
}

}  // namespace weft::bench
