#pragma once
// What the model benches and the reference writer ask of an engine: ours and the peers answer alike.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/eval.hpp"

namespace weft::bench {

/// An input or output of a loaded model; -1 stands for a dimension that the model leaves open.
struct PortInfo {
  std::string name;
  ir::DType dtype = ir::DType::f32;
  std::vector<int64_t> dims;
};

/// One model, loaded for a number of threads. Not thread-safe. Everything throws weft::Error.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual std::string engine() const = 0;  ///< "ONNX Runtime 1.30.0"
  virtual std::vector<PortInfo> inputs() const = 0;
  /// Keeps the tensors for the runs that follow; compiles what needs compiling for their shapes.
  virtual void bind(const ir::NamedTensors& inputs) = 0;
  virtual void run() = 0;  ///< the part that is timed
  /// Seconds of one run; an engine in a process of its own measures there.
  virtual double timed_run() {
    auto start = std::chrono::steady_clock::now();
    run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  virtual ir::NamedTensors outputs() const = 0;  ///< of the last run
};

}  // namespace weft::bench
