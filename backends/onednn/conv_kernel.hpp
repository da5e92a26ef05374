#pragma once
// A convolution (or a matmul by a parameter) as a kernel.
#include <memory>

#include "backends/backend.hpp"
#include "backends/onednn/conv_split.hpp"

namespace weft::backends::onednn {

/// `residual_as_sum`: a tensor added first is copied to the destination and summed there, never a binary post-op.
/// Throws Error(unsupported) where oneDNN has no fast code for a part.
std::unique_ptr<Kernel> make_conv_kernel(ConvForm form, const ConvSplit& split, bool residual_as_sum);

}  // namespace weft::backends::onednn
