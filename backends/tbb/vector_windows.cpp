#include "backends/tbb/vector_windows.hpp"

#include <cmath>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/tbb/vector_windows.cpp"
#include "hwy/foreach_target.h"
//
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weft::backends::tbb::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;

struct Taps {
  int64_t y0, y1, x0, x1;
};

/// Fetches to L2 what the next output row needs and this one does not, under outputs [at, at + count): a window walks
/// over too many lines at once for the hardware to see a stream.
HWY_INLINE void prefetch_next_row(const WindowRow& r, int64_t at, int64_t count) {
  const int64_t below = (r.row + 1) * r.stride_h - r.low_h + (r.kernel_h - 1) * r.dilation_h;
  const int64_t first = at * r.stride_w - r.low_w + (r.kernel_w - 1) * r.dilation_w, last = first + count * r.stride_w;
  const int64_t from = first < 0 ? 0 : first, to = last < r.width ? last : r.width;
  for (int64_t y = below - r.stride_h + 1; y <= below; ++y) {
    if (y < 0 || y >= r.height) continue;
    const float* line = r.x + y * r.width * r.channels;
    for (int64_t i = from * r.channels; i < to * r.channels; i += 16) __builtin_prefetch(line + i, 0, 2);
  }
}

/// kOutputs neighbouring outputs at once, for every channel; all have the same taps inside.
template <int kOutputs>
void depthwise_tile(const WindowRow& r, int64_t at, const Taps& taps) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), channels = r.channels;
  const int64_t iy = r.row * r.stride_h - r.low_h, ix = at * r.stride_w - r.low_w;
  const float* base = r.x + (iy * r.width + ix) * channels;
  const int64_t step_y = r.dilation_h * r.width * channels, step_x = r.dilation_w * channels,
                step_o = r.stride_w * channels;
  float* out = r.out + (at - r.begin) * channels;
  int64_t c = 0;
  for (; c < channels && channels >= lanes; c += lanes) {
    if (c + lanes > channels) c = channels - lanes;  // some channels twice
    VF acc[kOutputs];
#pragma GCC unroll 8
    for (int o = 0; o < kOutputs; ++o) acc[o] = hn::Zero(d);
    for (int64_t ky = taps.y0; ky < taps.y1; ++ky) {
      const float* line = base + ky * step_y + c;
      const float* w = r.weights + ky * r.kernel_w * channels + c;
      for (int64_t kx = taps.x0; kx < taps.x1; ++kx) {
        const VF weight = hn::LoadU(d, w + kx * channels);
#pragma GCC unroll 8
        for (int o = 0; o < kOutputs; ++o)
          acc[o] = hn::MulAdd(weight, hn::LoadU(d, line + kx * step_x + o * step_o), acc[o]);
      }
    }
#pragma GCC unroll 8
    for (int o = 0; o < kOutputs; ++o) hn::StoreU(acc[o], d, out + o * channels + c);
  }
  for (; c < channels; ++c) {
#pragma GCC unroll 8
    for (int o = 0; o < kOutputs; ++o) {
      float acc = 0;
      for (int64_t ky = taps.y0; ky < taps.y1; ++ky) {
        for (int64_t kx = taps.x0; kx < taps.x1; ++kx) {
          acc = std::fma(r.weights[(ky * r.kernel_w + kx) * channels + c],
                         base[ky * step_y + kx * step_x + o * step_o + c], acc);
        }
      }
      out[o * channels + c] = acc;
    }
  }
}

/// One output: four vectors of channels at once, so that sums do not wait for each other.
void depthwise_single(const WindowRow& r, int64_t at, const Taps& taps) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), channels = r.channels;
  if (channels < lanes) return depthwise_tile<1>(r, at, taps);
  const float* base = r.x + ((r.row * r.stride_h - r.low_h) * r.width + at * r.stride_w - r.low_w) * channels;
  const int64_t step_y = r.dilation_h * r.width * channels, step_x = r.dilation_w * channels;
  float* out = r.out + (at - r.begin) * channels;
  const auto vectors = [&](auto count, int64_t c) {
    constexpr int kCount = decltype(count)::value;
    VF acc[kCount];
#pragma GCC unroll 8
    for (int v = 0; v < kCount; ++v) acc[v] = hn::Zero(d);
    for (int64_t ky = taps.y0; ky < taps.y1; ++ky) {
      for (int64_t kx = taps.x0; kx < taps.x1; ++kx) {
        const float *x = base + ky * step_y + kx * step_x + c, *w = r.weights + (ky * r.kernel_w + kx) * channels + c;
#pragma GCC unroll 8
        for (int v = 0; v < kCount; ++v)
          acc[v] = hn::MulAdd(hn::LoadU(d, w + v * lanes), hn::LoadU(d, x + v * lanes), acc[v]);
      }
    }
#pragma GCC unroll 8
    for (int v = 0; v < kCount; ++v) hn::StoreU(acc[v], d, out + c + v * lanes);
  };
  int64_t c = 0;
  for (; c + 4 * lanes <= channels; c += 4 * lanes) vectors(std::integral_constant<int, 4>(), c);
  for (; c + lanes <= channels; c += lanes) vectors(std::integral_constant<int, 1>(), c);
  if (c < channels) vectors(std::integral_constant<int, 1>(), channels - lanes);  // some channels twice
}

/// As above for dilation 1 and a full row of taps, their number and the stride known: neighbouring outputs share
/// columns.
template <int kOutputs, int kWidth, int kStride>
void depthwise_shared(const WindowRow& r, int64_t at, const Taps& taps) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), channels = r.channels;
  const float* base = r.x + ((r.row * r.stride_h - r.low_h) * r.width + at * kStride - r.low_w) * channels;
  const int64_t step_y = r.dilation_h * r.width * channels;
  float* out = r.out + (at - r.begin) * channels;
  const int64_t whole = channels >= lanes ? channels : 0;
  for (int64_t c = 0; c < whole; c += lanes) {
    if (c + lanes > channels) c = channels - lanes;  // some channels twice
    VF acc[kOutputs];
#pragma GCC unroll 16
    for (int o = 0; o < kOutputs; ++o) acc[o] = hn::Zero(d);
    for (int64_t ky = taps.y0; ky < taps.y1; ++ky) {
      const float* line = base + ky * step_y + c;
      const float* w = r.weights + ky * kWidth * channels + c;
      VF weight[kWidth];
#pragma GCC unroll 16
      for (int k = 0; k < kWidth; ++k) weight[k] = hn::LoadU(d, w + k * channels);
#pragma GCC unroll 16
      for (int column = 0; column < (kOutputs - 1) * kStride + kWidth; ++column) {
        const VF x = hn::LoadU(d, line + column * channels);
#pragma GCC unroll 16
        for (int o = 0; o < kOutputs; ++o) {
          const int k = column - o * kStride;
          if (k >= 0 && k < kWidth) acc[o] = hn::MulAdd(weight[k], x, acc[o]);
        }
      }
    }
#pragma GCC unroll 16
    for (int o = 0; o < kOutputs; ++o) hn::StoreU(acc[o], d, out + o * channels + c);
  }
  for (int64_t c = whole; c < channels; ++c) {
    for (int o = 0; o < kOutputs; ++o) {
      float acc = 0;
      for (int64_t ky = taps.y0; ky < taps.y1; ++ky) {
        for (int k = 0; k < kWidth; ++k) {
          acc = std::fma(r.weights[(ky * kWidth + k) * channels + c],
                         base[ky * step_y + (o * kStride + k) * channels + c], acc);
        }
      }
      out[o * channels + c] = acc;
    }
  }
}

/// The tile for the window's width and stride where one is made for them.
using TileFunction = void (*)(const WindowRow& r, int64_t at, const Taps& taps);
TileFunction tile_for(const WindowRow& r) {
  if (r.dilation_w != 1) return depthwise_tile<4>;
  if (r.kernel_w == 3 && r.stride_w == 1) return depthwise_shared<4, 3, 1>;
  if (r.kernel_w == 3 && r.stride_w == 2) return depthwise_shared<4, 3, 2>;
  if (r.kernel_w == 5 && r.stride_w == 1) return depthwise_shared<4, 5, 1>;
  if (r.kernel_w == 5 && r.stride_w == 2) return depthwise_shared<4, 5, 2>;
  return depthwise_tile<4>;
}

void depthwise(const WindowRow& r) {
  Taps taps;
  WindowRow::inside(r.row * r.stride_h - r.low_h, r.dilation_h, r.kernel_h, r.height, taps.y0, taps.y1);
  const int64_t reach = (r.kernel_w - 1) * r.dilation_w;
  const TileFunction tile = tile_for(r);
  for (int64_t at = r.begin; at < r.end;) {
    const int64_t first = at * r.stride_w - r.low_w, fourth = first + 3 * r.stride_w;
    if (at + 4 <= r.end && first >= 0 && fourth + reach < r.width) {
      taps.x0 = 0;
      taps.x1 = r.kernel_w;
      prefetch_next_row(r, at, 4);
      tile(r, at, taps);
      at += 4;
    } else {
      WindowRow::inside(first, r.dilation_w, r.kernel_w, r.width, taps.x0, taps.x1);
      depthwise_single(r, at, taps);
      ++at;
    }
  }
}

HWY_INLINE VF max_ieee(VF a, VF b) {
  const VF m = hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), hn::Max(a, b));
  return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::IsNaN(b)), hn::Add(a, b), m);
}
inline float max1(float a, float b) {
  if (std::isnan(a)) return a;
  if (std::isnan(b)) return b;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

template <class Combine, class CombineScalar, class Finish, class FinishScalar>
HWY_INLINE void pool_at(const WindowRow& r, int64_t at, const Taps& taps, float start, Combine combine,
                        CombineScalar scalar, Finish finish, FinishScalar finish_scalar) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), channels = r.channels;
  const float* base = r.x + ((r.row * r.stride_h - r.low_h) * r.width + at * r.stride_w - r.low_w) * channels;
  const int64_t step_y = r.dilation_h * r.width * channels, step_x = r.dilation_w * channels;
  float* out = r.out + (at - r.begin) * channels;
  int64_t c = 0;
  const auto vector = [&](int64_t from) {
    VF acc = hn::Set(d, start);
    for (int64_t ky = taps.y0; ky < taps.y1; ++ky) {
      for (int64_t kx = taps.x0; kx < taps.x1; ++kx)
        acc = combine(acc, hn::LoadU(d, base + ky * step_y + kx * step_x + from));
    }
    hn::StoreU(finish(acc), d, out + from);
  };
  for (; c + lanes <= channels; c += lanes) vector(c);
  if (c < channels && channels >= lanes) return vector(channels - lanes);  // some channels twice
  for (; c < channels; ++c) {
    float acc = start;
    for (int64_t ky = taps.y0; ky < taps.y1; ++ky) {
      for (int64_t kx = taps.x0; kx < taps.x1; ++kx) acc = scalar(acc, base[ky * step_y + kx * step_x + c]);
    }
    out[c] = finish_scalar(acc);
  }
}

template <typename F>
HWY_INLINE void for_windows(const WindowRow& r, const F& f) {
  Taps taps;
  WindowRow::inside(r.row * r.stride_h - r.low_h, r.dilation_h, r.kernel_h, r.height, taps.y0, taps.y1);
  for (int64_t at = r.begin; at < r.end; ++at) {
    WindowRow::inside(at * r.stride_w - r.low_w, r.dilation_w, r.kernel_w, r.width, taps.x0, taps.x1);
    prefetch_next_row(r, at, 1);
    f(at, taps);
  }
}

/// The greatest of a window of vectors. The unit's own maximum takes no heed of NaN and of the sign of zeros: which
/// lanes saw a NaN, and whether every element was negative, is kept beside it.
HWY_INLINE VF greatest(const float* base, int64_t step_y, int64_t step_x, const Taps& taps) {
  const DF d;
  VF most = hn::Set(d, -std::numeric_limits<float>::infinity()), signs = hn::Set(d, -0.0f);
  auto unordered = hn::Lt(most, most);
  for (int64_t ky = taps.y0; ky < taps.y1; ++ky) {
    for (int64_t kx = taps.x0; kx < taps.x1; ++kx) {
      const VF x = hn::LoadU(d, base + ky * step_y + kx * step_x);
      most = hn::Max(most, x);
      signs = hn::And(signs, x);
      unordered = hn::Or(unordered, hn::IsNaN(x));
    }
  }
  const VF exact = hn::IfThenElse(hn::Eq(most, hn::Zero(d)), signs, most);
  return hn::IfThenElse(unordered, hn::Set(d, std::numeric_limits<float>::quiet_NaN()), exact);
}

void max_pool(const WindowRow& r) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(DF()));
  if (r.channels < lanes) {
    return for_windows(r, [&](int64_t at, const Taps& taps) {
      pool_at(
          r, at, taps, -std::numeric_limits<float>::infinity(), [](VF a, VF b) { return max_ieee(a, b); }, max1,
          [](VF a) { return a; }, [](float a) { return a; });
    });
  }
  const int64_t step_y = r.dilation_h * r.width * r.channels, step_x = r.dilation_w * r.channels;
  for_windows(r, [&](int64_t at, const Taps& taps) {
    const float* base = r.x + ((r.row * r.stride_h - r.low_h) * r.width + at * r.stride_w - r.low_w) * r.channels;
    float* out = r.out + (at - r.begin) * r.channels;
    int64_t c = 0;
    for (; c + lanes <= r.channels; c += lanes) hn::StoreU(greatest(base + c, step_y, step_x, taps), DF(), out + c);
    if (c == r.channels) return;
    c = r.channels - lanes;  // some channels twice
    hn::StoreU(greatest(base + c, step_y, step_x, taps), DF(), out + c);
  });
}

void average_pool(const WindowRow& r) {
  const auto counted = [&](int64_t position, int64_t dilation, int64_t kernel, int64_t size) {
    int64_t n = 0;
    for (int64_t k = 0; k < kernel; ++k) n += position + k * dilation < size;
    return n;
  };
  for_windows(r, [&](int64_t at, const Taps& taps) {
    int64_t count = (taps.y1 - taps.y0) * (taps.x1 - taps.x0);
    if (r.count_padding) {
      count = counted(r.row * r.stride_h - r.low_h, r.dilation_h, r.kernel_h, r.height + r.high_h) *
              counted(at * r.stride_w - r.low_w, r.dilation_w, r.kernel_w, r.width + r.high_w);
    }
    const float divisor = static_cast<float>(count);
    pool_at(
        r, at, taps, 0.0f, [](VF a, VF b) { return hn::Add(a, b); }, [](float a, float b) { return a + b; },
        [&](VF a) { return hn::Div(a, hn::Set(DF(), divisor)); }, [&](float a) { return a / divisor; });
  });
}

/// One channel: the rows of the window are joined first, vectorised along the width, then columns.
template <class Combine, class CombineScalar>
HWY_INLINE void plane_row(const WindowRow& r, float start, Combine combine, CombineScalar scalar) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t reach = (r.kernel_w - 1) * r.dilation_w, first = r.begin * r.stride_w - r.low_w;
  const int64_t length = (r.end - r.begin - 1) * r.stride_w + reach + 1;
  int64_t y0, y1;
  WindowRow::inside(r.row * r.stride_h - r.low_h, r.dilation_h, r.kernel_h, r.height, y0, y1);
  for (int64_t i = 0; i < length; ++i) r.line[i] = start;
  const int64_t from = first < 0 ? 0 : first, to = first + length < r.width ? first + length : r.width;
  for (int64_t ky = y0; ky < y1; ++ky) {
    const float* x = r.x + (r.row * r.stride_h - r.low_h + ky * r.dilation_h) * r.width;
    float* line = r.line - first;
    int64_t i = from;
    for (; i + lanes <= to; i += lanes) hn::StoreU(combine(hn::LoadU(d, line + i), hn::LoadU(d, x + i)), d, line + i);
    for (; i < to; ++i) line[i] = scalar(line[i], x[i]);
  }
  const int64_t count = r.end - r.begin;
  int64_t at = 0;
  if (r.stride_w <= 2) {  // r.line has room for a vector behind its end
    for (; at + lanes <= count; at += lanes) {
      VF acc = hn::Set(d, start);
      for (int64_t kx = 0; kx < r.kernel_w; ++kx) {
        const float* p = r.line + at * r.stride_w + kx * r.dilation_w;
        VF value, odd;
        if (r.stride_w == 1)
          value = hn::LoadU(d, p);
        else
          hn::LoadInterleaved2(d, p, value, odd);
        acc = combine(acc, value);
      }
      hn::StoreU(acc, d, r.out + at);
    }
  }
  for (; at < count; ++at) {
    float acc = start;
    for (int64_t kx = 0; kx < r.kernel_w; ++kx) acc = scalar(acc, r.line[at * r.stride_w + kx * r.dilation_w]);
    r.out[at] = acc;
  }
}

void max_plane(const WindowRow& r) {
  plane_row(
      r, -std::numeric_limits<float>::infinity(), [](VF a, VF b) { return max_ieee(a, b); }, max1);
}
void average_plane(const WindowRow& r) {
  plane_row(
      r, 0.0f, [](VF a, VF b) { return hn::Add(a, b); }, [](float a, float b) { return a + b; });
  const int64_t position = r.row * r.stride_h - r.low_h, limit = r.height + (r.count_padding ? r.high_h : 0);
  int64_t rows = 0;
  for (int64_t k = 0; k < r.kernel_h; ++k) {
    const int64_t y = position + k * r.dilation_h;
    rows += y < limit && (r.count_padding || y >= 0);
  }
  for (int64_t at = r.begin; at < r.end; ++at) r.out[at - r.begin] /= static_cast<float>(rows) * r.column_counts[at];
}

const WindowFunctions* windows() {
  static const WindowFunctions functions = {depthwise, max_pool, average_pool, max_plane, average_plane};
  return &functions;
}

}  // namespace weft::backends::tbb::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::backends::tbb {
HWY_EXPORT(windows);
const WindowFunctions& window_functions() {
  static const WindowFunctions& functions = *HWY_DYNAMIC_DISPATCH(windows)();
  return functions;
}
}  // namespace weft::backends::tbb
#endif
