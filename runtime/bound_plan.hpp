#pragma once
// A plan with its kernels compiled and its weights bound: immutable, run from any thread.
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/eval.hpp"
#include "ir/plan.hpp"
#include "runtime/executable.hpp"
#include "runtime/plan_cache.hpp"

namespace weft::runtime {

struct NamedType {
  std::string name;
  ir::TensorType type;
};

/// Sees the operands of each step as it begins and its outputs as it ends.
struct StepObserver {
  using See = std::function<void(const ir::Step& step, std::span<const ir::Tensor> tensors)>;
  See before, after;
};

class BoundPlan {
 public:
  /// Runs the prologue and packs weights. `parameters` in the order of plan.parameters; each is checked against its
  /// type. Results are shared with every other bound plan in the process that has the same kernels on the same bytes,
  /// and packed weights with other processes through the disk of `cache`.
  static std::shared_ptr<const BoundPlan> bind(std::shared_ptr<const Executable> executable,
                                               std::vector<ir::Tensor> parameters, int compile_threads,
                                               const CacheOptions& cache);
  ~BoundPlan();
  BoundPlan(const BoundPlan&) = delete;
  BoundPlan& operator=(const BoundPlan&) = delete;

  const ir::Plan& plan() const;
  int64_t peak_bytes() const;    ///< arena and outputs of one run
  int64_t packed_bytes() const;  ///< memory of packed weights and prologue results, beyond the weights' own

  /// Positional and lean: inputs in the order of plan().inputs, checked for dtype and shape; outputs are written where
  /// defined (checked) and allocated where not.
  void run(std::span<const ir::Tensor> inputs, std::span<ir::Tensor> outputs) const;
  /// By name: every input exactly once, no others. Returns outputs by name.
  ir::NamedTensors run(const ir::NamedTensors& inputs, const ir::NamedTensors& outputs = {}) const;
  /// Runs step by step on the calling thread, `observe` in between.
  void run_observed(std::span<const ir::Tensor> inputs, std::span<ir::Tensor> outputs,
                    const StepObserver& observe) const;
  /// Frees the arenas that no run is using.
  void trim() const;
  /// Packed weights that are new to the disk are written while runs begin; waits until they are (as the end of this
  /// object does), for who times runs.
  void wait_until_stored() const;

 private:
  struct State;
  explicit BoundPlan(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace weft::runtime
