#pragma once
// What a backend is: an ir::Target (facts, costs, refusals) that can also make kernels run.
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/target.hpp"

namespace weft::backends {

/// Parameters of one kernel in the form that it likes best (packed weights, folded scales); made once, shared by all
/// runs.
class PackedParameters {
 public:
  virtual ~PackedParameters() = default;
  virtual int64_t bytes() const = 0;  ///< memory beyond the parameters' own
  /// All of it as bytes that Kernel::unpack() of an equal kernel takes in another process; empty where it cannot be
  /// stored.
  virtual std::span<const char> image() const { return {}; }
};

/// One run of a kernel. Pointers are row-major buffers of the program's types; parameter operands are given too.
struct RunContext {
  std::span<const void* const> inputs;
  std::span<void* const> outputs;
  void* scratch = nullptr;                   ///< resources().scratch_bytes for this part, 64-byte aligned
  const PackedParameters* packed = nullptr;  ///< what pack() gave, or null
};

/// A compiled kernel: immutable, callable from any thread, several runs at once. It never starts threads: the caller
/// runs its parts, each once, in any order, perhaps at the same time.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual const ir::KernelResources& resources() const = 0;
  /// `operands` has one tensor an input; those that are not parameters are undefined. May return null.
  virtual std::unique_ptr<PackedParameters> pack(std::span<const ir::Tensor> operands) const;
  /// What pack() gave an equal kernel for equal operands, from its image(): 64-byte aligned, never written, alive as
  /// long as `owner`. Null where it is no such image: then pack().
  virtual std::unique_ptr<PackedParameters> unpack(std::span<const char> image,
                                                   std::shared_ptr<const void> owner) const;
  virtual void run(const RunContext& context, int part) const = 0;
};

class Backend : public ir::Target {
 public:
  /// Throws Error(unsupported) with the reason where estimate() would refuse.
  virtual std::unique_ptr<Kernel> compile(const ir::KernelRequest& request) const = 0;
};

}  // namespace weft::backends
