#pragma once
// Weights and bias of a convolution in the form that its primitives want.
#include <memory>
#include <vector>

#include "backends/backend.hpp"
#include "backends/onednn/form.hpp"

namespace weft::backends::onednn {

/// Memory of oneDNN over storage of our own, aligned to 64 bytes.
class OwnMemory {
 public:
  explicit OwnMemory(const Desc& desc);
  dnnl_memory_t get() const { return memory_.get(); }
  void* data() const { return storage_.get(); }
  int64_t bytes() const { return static_cast<int64_t>(desc_.get_size()); }
  const Desc& desc() const { return desc_; }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  Desc desc_;
  std::unique_ptr<void, Free> storage_;
  dnnl::memory memory_;
};

/// One slice [channel, channel + channels) of the output channels, in one layout.
struct WeightSlice {
  int64_t channel = 0, channels = 0;
  Desc desc;
  bool operator==(const WeightSlice&) const = default;
};

struct ConvParameters : PackedParameters {
  std::vector<OwnMemory> weights;  ///< one a slice
  std::vector<OwnMemory> bias;     ///< one a slice, or none
  double weight_norm = 0;          ///< largest sum of |w| over an output channel
  double bias_bound = 0;
  std::vector<double> operand_bounds;  ///< of steps whose operand is a parameter; -1 for the others
  int64_t bytes() const override;
};

/// `bias` may be null. `operands` as in Kernel::pack.
std::unique_ptr<ConvParameters> pack_conv(const ConvForm& form, const Step* bias, std::span<const WeightSlice> slices,
                                          std::span<const ir::Tensor> operands);

}  // namespace weft::backends::onednn
