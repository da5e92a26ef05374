#pragma once
// Weights and bias of a convolution in the form that its primitives want.
#include <memory>
#include <vector>

#include "backends/backend.hpp"
#include "backends/onednn/form.hpp"

namespace weft::backends::onednn {

/// Memory of oneDNN over storage of our own, aligned to 64 bytes, or over somebody else's.
class OwnMemory {
 public:
  explicit OwnMemory(const Desc& desc);
  OwnMemory(const Desc& desc, void* elsewhere);
  dnnl_memory_t get() const { return memory_.get(); }
  void* data() const { return memory_.get_data_handle(); }
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

/// One block of bytes (`image`): the bounds, then weights and biases slice by slice, each aligned to 64 bytes.
struct ConvParameters : PackedParameters {
  std::vector<OwnMemory> weights;  ///< one a slice
  std::vector<OwnMemory> bias;     ///< one a slice, or none
  double weight_norm = 0;          ///< largest sum of |w| over an output channel
  double bias_bound = 0;
  std::vector<double> operand_bounds;  ///< of steps whose operand is a parameter; -1 for the others
  std::span<const char> block;         ///< all of it
  std::shared_ptr<const void> owner;   ///< of the block
  int64_t bytes() const override { return static_cast<int64_t>(block.size()); }
  std::span<const char> image() const override { return block; }
};

/// `bias` may be null. `operands` as in Kernel::pack.
std::unique_ptr<ConvParameters> pack_conv(const ConvForm& form, const Step* bias, std::span<const WeightSlice> slices,
                                          std::span<const ir::Tensor> operands);
/// From the image that pack_conv() gave for the same form and slices; null where its size is another.
std::unique_ptr<ConvParameters> unpack_conv(const ConvForm& form, bool bias, std::span<const WeightSlice> slices,
                                            std::span<const char> image, std::shared_ptr<const void> owner);
/// One slice of the packed weights as a dense [channels, C / groups, window...] array again.
std::vector<float> dense_slice(const ConvForm& form, const WeightSlice& slice, const OwnMemory& weights);

}  // namespace weft::backends::onednn
