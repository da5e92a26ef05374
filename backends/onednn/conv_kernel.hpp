#pragma once
// A convolution (or a matmul by a parameter) as a kernel.
#include <memory>

#include "backends/backend.hpp"
#include "backends/onednn/conv_choice.hpp"

namespace weft::backends::onednn {

/// Throws Error(unsupported) where oneDNN has no fast code for a part.
std::unique_ptr<Kernel> make_conv_kernel(ConvForm form, const ConvSplit& split, ConvChoice choice);

}  // namespace weft::backends::onednn
