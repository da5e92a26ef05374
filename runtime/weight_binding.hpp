#pragma once
// What is done once when weights meet a plan: the prologue runs, and kernels pack their parameters.
#include <future>
#include <memory>
#include <vector>

#include "runtime/executable.hpp"
#include "runtime/packed_store.hpp"
#include "runtime/shared_weights.hpp"

namespace weft::runtime {

struct BoundWeights {
  std::vector<ir::Tensor>
      tensors;  ///< by buffer: parameters, constants and prologue results that runs read; else undefined
  std::vector<SharedPacked> packed;  ///< by step; null where the kernel packs nothing
  int64_t bytes = 0;                 ///< of prologue results and packed forms
  std::future<void> storing;  ///< valid while packed forms are written to disk: its end waits until they are there
};

/// `parameters` in the order of plan.parameters, already checked. Uses what other bound plans of the process have made
/// of the same bytes, and what `store` has.
BoundWeights bind_weights(const Executable& executable, const std::vector<ir::Tensor>& parameters, int compile_threads,
                          const PackedStore& store);

}  // namespace weft::runtime
