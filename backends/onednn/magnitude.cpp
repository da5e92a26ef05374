#include "backends/onednn/magnitude.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/onednn/magnitude.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace weft::backends::onednn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Largest bit pattern without the sign: patterns of |x| order as the numbers do, infinity and NaN above all.
int32_t largest_pattern(const float* HWY_RESTRICT values, int64_t count) {
  const hn::ScalableTag<int32_t> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto mask = hn::Set(d, 0x7fffffff);
  auto m0 = hn::Zero(d), m1 = m0, m2 = m0, m3 = m0;
  const int32_t* bits = reinterpret_cast<const int32_t*>(values);
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    m0 = hn::Max(m0, hn::And(mask, hn::LoadU(d, bits + i)));
    m1 = hn::Max(m1, hn::And(mask, hn::LoadU(d, bits + i + lanes)));
    m2 = hn::Max(m2, hn::And(mask, hn::LoadU(d, bits + i + 2 * lanes)));
    m3 = hn::Max(m3, hn::And(mask, hn::LoadU(d, bits + i + 3 * lanes)));
  }
  int32_t result = hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(m0, m1), hn::Max(m2, m3))));
  for (; i < count; ++i) result = std::max(result, bits[i] & 0x7fffffff);
  return result;
}

}  // namespace weft::backends::onednn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::backends::onednn {
HWY_EXPORT(largest_pattern);

float largest_magnitude(const float* values, int64_t count) {
  const float largest = std::bit_cast<float>(HWY_DYNAMIC_DISPATCH(largest_pattern)(values, count));
  return largest <= std::numeric_limits<float>::max() ? largest : std::numeric_limits<float>::infinity();
}

}  // namespace weft::backends::onednn
#endif
