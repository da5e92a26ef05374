// The innermost product of our own loops, compiled once a target: kPanel columns by up to kGroup rows in registers.
#if defined(WEFT_ONEDNN_MICRO_GEMM_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_ONEDNN_MICRO_GEMM_INL
#undef WEFT_ONEDNN_MICRO_GEMM_INL
#else
#define WEFT_ONEDNN_MICRO_GEMM_INL
#endif

#include <hwy/highway.h>

#include "backends/onednn/panel.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::backends::onednn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using PanelTag = hn::CappedTag<float, 8>;
using PanelVec = hn::Vec<PanelTag>;
constexpr size_t kPanelLanes = hn::MaxLanes(PanelTag());
constexpr int kPanelVecs = static_cast<int>(kPanel / kPanelLanes);

/// c[r][0, kPanel) = sum over k of a[r * row + k] * b[k * kPanel + ...], summed in the order of k. `b` and `c` are
/// aligned. The next panel is fetched ahead, since a panel of weights is used by few rows.
template <int kRows, bool kAhead>
HWY_INLINE void multiply_rows(const float* HWY_RESTRICT a, int64_t row, const float* HWY_RESTRICT b,
                              float* HWY_RESTRICT c, int64_t c_row, int64_t depth) {
  const PanelTag d;
  PanelVec sum[kRows][kPanelVecs];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kPanelVecs; ++v) sum[r][v] = hn::Zero(d);
  for (int64_t k = 0; k < depth; ++k) {
    PanelVec w[kPanelVecs];
#pragma GCC unroll 4
    for (int v = 0; v < kPanelVecs; ++v) w[v] = hn::Load(d, b + v * static_cast<int>(kPanelLanes));
    if (kAhead) __builtin_prefetch(b + depth * kPanel, 0, 2);
    b += kPanel;
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const PanelVec x = hn::Set(d, a[r * row + k]);
#pragma GCC unroll 4
      for (int v = 0; v < kPanelVecs; ++v) sum[r][v] = hn::MulAdd(x, w[v], sum[r][v]);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kPanelVecs; ++v) hn::Store(sum[r][v], d, c + r * c_row + v * static_cast<int>(kPanelLanes));
}

template <bool kAhead>
inline void multiply_group(int64_t rows, const float* a, int64_t row, const float* b, float* c, int64_t c_row,
                           int64_t depth) {
  static_assert(kGroup == 6);
  switch (rows) {
    case 6:
      return multiply_rows<6, kAhead>(a, row, b, c, c_row, depth);
    case 5:
      return multiply_rows<5, kAhead>(a, row, b, c, c_row, depth);
    case 4:
      return multiply_rows<4, kAhead>(a, row, b, c, c_row, depth);
    case 3:
      return multiply_rows<3, kAhead>(a, row, b, c, c_row, depth);
    case 2:
      return multiply_rows<2, kAhead>(a, row, b, c, c_row, depth);
    default:
      return multiply_rows<1, kAhead>(a, row, b, c, c_row, depth);
  }
}

/// One step on every vector of a box of pixels, in place in `values`.
template <typename F>
HWY_INLINE void for_each_vector(const PanelStep& s, const PanelBox& box, float* HWY_RESTRICT values, const F& f) {
  const PanelTag d;
  const bool splat = s.reach == PanelStep::Reach::number || s.reach == PanelStep::Reach::none;
  const PanelVec number = hn::Set(d, splat && s.operand ? *s.operand : 0.0f);
  for (int64_t i = 0; i < box.rows; ++i) {
    for (int64_t j = 0; j < box.columns; ++j) {
      float* HWY_RESTRICT at = values + (i * box.pitch + j) * kPanel;
      const float* operand = splat ? nullptr : s.operand + i * s.row_step + j * s.pixel_step;
      for (int64_t c = 0; c < box.channels; c += static_cast<int64_t>(kPanelLanes)) {
        const PanelVec x = hn::Load(d, at + c), y = splat ? number : hn::LoadU(d, operand + c);
        hn::Store(f(x, y), d, at + c);
      }
    }
  }
}

/// Comparisons with a NaN are false, so it passes every clamp written this way.
HWY_INLINE PanelVec at_least(PanelVec x, PanelVec low) { return hn::IfThenElse(hn::Lt(x, low), low, x); }
HWY_INLINE PanelVec at_most(PanelVec x, PanelVec high) { return hn::IfThenElse(hn::Gt(x, high), high, x); }

inline void apply_panel_step(const PanelStep& s, const PanelBox& box, float* values) {
  const PanelTag d;
  const PanelVec zero = hn::Zero(d), one = hn::Set(d, 1.0f), alpha = hn::Set(d, s.alpha), beta = hn::Set(d, s.beta);
  const auto each = [&](const auto& f) { for_each_vector(s, box, values, f); };
  switch (s.kind) {
    case StepKind::relu:
      return each([&](PanelVec x, PanelVec) { return at_least(x, zero); });
    case StepKind::leaky_relu:
      return each([&](PanelVec x, PanelVec) { return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(alpha, x), x); });
    case StepKind::clip:
      return each([&](PanelVec x, PanelVec) { return at_most(at_least(x, alpha), beta); });
    case StepKind::hard_swish:
      return each([&](PanelVec x, PanelVec) {
        const PanelVec share = hn::Add(hn::Mul(x, hn::Set(d, 1.0f / 6)), hn::Set(d, 0.5f));
        return hn::Mul(x, at_least(at_most(share, one), zero));
      });
    case StepKind::hard_sigmoid:
      return each([&](PanelVec x, PanelVec) { return at_least(at_most(hn::Add(hn::Mul(alpha, x), beta), one), zero); });
    case StepKind::abs:
      return each([&](PanelVec x, PanelVec) { return hn::Abs(x); });
    case StepKind::sqrt:
      return each([&](PanelVec x, PanelVec) { return hn::Sqrt(x); });
    case StepKind::add:
      return each([&](PanelVec x, PanelVec y) { return hn::Add(x, y); });
    case StepKind::subtract:
      return each([&](PanelVec x, PanelVec y) { return hn::Sub(x, y); });
    case StepKind::multiply:
      return each([&](PanelVec x, PanelVec y) { return hn::Mul(x, y); });
    case StepKind::divide:
      return each([&](PanelVec x, PanelVec y) { return hn::Div(x, y); });
    case StepKind::maximum:
      return each([&](PanelVec x, PanelVec y) { return hn::IfThenElse(hn::Or(hn::Lt(x, y), hn::Ne(y, y)), y, x); });
    case StepKind::minimum:
      return each([&](PanelVec x, PanelVec y) { return hn::IfThenElse(hn::Or(hn::Gt(x, y), hn::Ne(y, y)), y, x); });
    default:
      return;  // has_panel_step() says no
  }
}

/// The pixels of a box to where they belong: `pixel(i, j)` = destination + i * row_step + j * pixel_step.
inline void store_panel(const PanelBox& box, const float* values, float* destination, int64_t row_step,
                        int64_t pixel_step) {
  const PanelTag d;
  for (int64_t i = 0; i < box.rows; ++i)
    for (int64_t j = 0; j < box.columns; ++j)
      for (int64_t c = 0; c < box.channels; c += static_cast<int64_t>(kPanelLanes))
        hn::StoreU(hn::Load(d, values + (i * box.pitch + j) * kPanel + c), d,
                   destination + i * row_step + j * pixel_step + c);
}

}  // namespace weft::backends::onednn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
