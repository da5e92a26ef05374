// Row primitives (sums, maxima, normalisation, transposition), compiled once for each instruction set (Highway).
#include <cmath>
#include <cstring>

#include "backends/tbb/vector_ops.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/tbb/vector_rows.cpp"
#include "hwy/foreach_target.h"
//
#include "backends/tbb/vector_math_inl.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weft::backends::tbb::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;

/// Reduces n >= 0 elements: four chains of vectors, then a fixed tree of lanes, then the rest one by one.
template <class Combine, class CombineScalar>
float reduce(const float* x, size_t n, float start, Combine combine, CombineScalar scalar) {
  const DF d;
  const size_t lanes = hn::Lanes(d);
  VF a0 = hn::Set(d, start), a1 = a0, a2 = a0, a3 = a0;
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a0 = combine(a0, hn::LoadU(d, x + i));
    a1 = combine(a1, hn::LoadU(d, x + i + lanes));
    a2 = combine(a2, hn::LoadU(d, x + i + 2 * lanes));
    a3 = combine(a3, hn::LoadU(d, x + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) a0 = combine(a0, hn::LoadU(d, x + i));
  HWY_ALIGN float buffer[16];
  hn::StoreU(combine(combine(a0, a1), combine(a2, a3)), d, buffer);
  for (size_t half = lanes / 2; half > 0; half /= 2) {
    for (size_t k = 0; k < half; ++k) buffer[k] = scalar(buffer[k], buffer[k + half]);
  }
  float result = buffer[0];
  for (; i < n; ++i) result = scalar(result, x[i]);
  return result;
}

HWY_INLINE VF max_nan(VF a, VF b) {
  return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::IsNaN(b)), hn::Add(a, b), hn::Max(a, b));
}
HWY_INLINE VF min_nan(VF a, VF b) {
  return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::IsNaN(b)), hn::Add(a, b), hn::Min(a, b));
}
/// IEEE maximum of lanes: +0 is above -0, NaN propagates.
HWY_INLINE VF max_ieee(VF a, VF b) { return hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), max_nan(a, b)); }
HWY_INLINE VF min_ieee(VF a, VF b) { return hn::IfThenElse(hn::Eq(a, b), hn::Or(a, b), min_nan(a, b)); }
inline float max1(float a, float b) {
  if (std::isnan(a)) return a;
  if (std::isnan(b)) return b;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
inline float min1(float a, float b) {
  if (std::isnan(a)) return a;
  if (std::isnan(b)) return b;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

HWY_INLINE float sum_of(const float* x, size_t n) {
  const DF d;
  const size_t lanes = hn::Lanes(d);
  VF a0 = hn::Zero(d), a1 = a0, a2 = a0, a3 = a0;
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a0 = hn::Add(a0, hn::LoadU(d, x + i));
    a1 = hn::Add(a1, hn::LoadU(d, x + i + lanes));
    a2 = hn::Add(a2, hn::LoadU(d, x + i + 2 * lanes));
    a3 = hn::Add(a3, hn::LoadU(d, x + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) a0 = hn::Add(a0, hn::LoadU(d, x + i));
#if HWY_TARGET <= HWY_AVX2  // masked loads touch no byte behind the end
  if (i < n) a1 = hn::Add(a1, hn::MaskedLoad(hn::FirstN(d, n - i), d, x + i));
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a0, a1), hn::Add(a2, a3))));
#else
  float result = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a0, a1), hn::Add(a2, a3))));
  for (; i < n; ++i) result += x[i];
  return result;
#endif
}
float sum(const float* x, size_t n) { return sum_of(x, n); }
void sum_rows(const float* x, size_t rows, size_t n, float* out) {
  for (size_t r = 0; r < rows; ++r) out[r] = sum_of(x + r * n, n);
}
float max_number(const float* x, size_t n) {
  return reduce(
      x, n, -std::numeric_limits<float>::infinity(), [](VF a, VF b) { return hn::Max(a, b); },
      [](float a, float b) { return a > b ? a : b; });
}
float max(const float* x, size_t n) {
  return reduce(
      x, n, -std::numeric_limits<float>::infinity(), [](VF a, VF b) { return max_ieee(a, b); }, max1);
}
float min(const float* x, size_t n) {
  return reduce(
      x, n, std::numeric_limits<float>::infinity(), [](VF a, VF b) { return min_ieee(a, b); }, min1);
}
float prod(const float* x, size_t n) {
  return reduce(
      x, n, 1.0f, [](VF a, VF b) { return hn::Mul(a, b); }, [](float a, float b) { return a * b; });
}

/// Blocks of 1024 in f32, added up in double.
double sum_squares_about(const float* x, size_t n, float mean) {
  const DF d;
  const VF m = hn::Set(d, mean);
  const size_t lanes = hn::Lanes(d);
  double total = 0;
  for (size_t begin = 0; begin < n; begin += 1024) {
    const size_t end = begin + 1024 < n ? begin + 1024 : n;
    VF a0 = hn::Zero(d), a1 = a0;
    size_t i = begin;
    for (; i + 2 * lanes <= end; i += 2 * lanes) {
      const VF u = hn::Sub(hn::LoadU(d, x + i), m), v = hn::Sub(hn::LoadU(d, x + i + lanes), m);
      a0 = hn::MulAdd(u, u, a0);
      a1 = hn::MulAdd(v, v, a1);
    }
    HWY_ALIGN float buffer[16];
    hn::StoreU(hn::Add(a0, a1), d, buffer);
    for (size_t k = 0; k < lanes; ++k) total += buffer[k];
    for (; i < end; ++i) total += (static_cast<double>(x[i]) - mean) * (static_cast<double>(x[i]) - mean);
  }
  return total;
}

HWY_INLINE float exp_sum_of(const float* x, float* out, size_t n, float subtract) {
  const DF d;
  const VF s = hn::Set(d, subtract);
  const size_t lanes = hn::Lanes(d);
  double total = 0;
  for (size_t begin = 0; begin < n; begin += 1024) {
    const size_t end = begin + 1024 < n ? begin + 1024 : n;
    VF a0 = hn::Zero(d), a1 = a0;
    size_t i = begin;
    for (; i + 4 * lanes <= end; i += 4 * lanes) {
      VF e[4];
#pragma GCC unroll 4
      for (size_t k = 0; k < 4; ++k) e[k] = hn::Sub(hn::LoadU(d, x + i + k * lanes), s);
      ExpOfNegative<4>(d, e);
#pragma GCC unroll 4
      for (size_t k = 0; out && k < 4; ++k) hn::StoreU(e[k], d, out + i + k * lanes);
      a0 = hn::Add(a0, hn::Add(e[0], e[2]));
      a1 = hn::Add(a1, hn::Add(e[1], e[3]));
    }
    for (; i + lanes <= end; i += lanes) {
      const VF u = ExpOfNegative(d, hn::Sub(hn::LoadU(d, x + i), s));
      if (out) hn::StoreU(u, d, out + i);
      a0 = hn::Add(a0, u);
    }
    if (i < end) {
      const size_t rest = end - i;
      HWY_ALIGN float buffer[16];
      for (size_t k = 0; k < lanes; ++k) buffer[k] = -std::numeric_limits<float>::infinity();
      for (size_t k = 0; k < rest; ++k) buffer[k] = x[i + k] - subtract;
      const VF u = ExpOfNegative(d, hn::Load(d, buffer));
      a0 = hn::Add(a0, u);
      hn::Store(u, d, buffer);
      if (out) std::memcpy(out + i, buffer, rest * sizeof(float));
    }
    total += hn::GetLane(hn::SumOfLanes(d, hn::Add(a0, a1)));
  }
  return static_cast<float>(total);
}
float exp_sum(const float* x, float* out, size_t n, float subtract) { return exp_sum_of(x, out, n, subtract); }
double sum_exp(const float* x, size_t n, float subtract) { return exp_sum_of(x, nullptr, n, subtract); }

template <class F, class G>
HWY_INLINE void map(size_t n, F vector, G scalar) {
  const size_t lanes = hn::Lanes(DF());
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) vector(i);
  for (; i < n; ++i) scalar(i);
}

void scale(const float* x, float* out, size_t n, float factor) {
  const DF d;
  const VF f = hn::Set(d, factor);
  map(
      n, [&](size_t i) { hn::StoreU(hn::Mul(hn::LoadU(d, x + i), f), d, out + i); },
      [&](size_t i) { out[i] = x[i] * factor; });
}

template <bool kMask>
HWY_INLINE float scale_mask_as(float* x, const float* mask, size_t n, float factor) {
  const DF d;
  const VF f = hn::Set(d, factor);
  const size_t lanes = hn::Lanes(d);
  VF m0 = hn::Set(d, -std::numeric_limits<float>::infinity()), m1 = m0;
  const auto at = [&](size_t i) {
    VF v = hn::Mul(hn::LoadU(d, x + i), f);
    if constexpr (kMask) v = hn::Add(v, hn::LoadU(d, mask + i));
    hn::StoreU(v, d, x + i);
    return v;
  };
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    m0 = hn::Max(m0, at(i));
    m1 = hn::Max(m1, at(i + lanes));
  }
  for (; i + lanes <= n; i += lanes) m0 = hn::Max(m0, at(i));
  float greatest = hn::GetLane(hn::MaxOfLanes(d, hn::Max(m0, m1)));
  for (; i < n; ++i) {
    x[i] = x[i] * factor;
    if constexpr (kMask) x[i] = x[i] + mask[i];
    greatest = greatest > x[i] ? greatest : x[i];
  }
  return greatest;
}
void weigh_rows(float* x, size_t stride, size_t rows, size_t n, float factor, const float* mask, size_t mask_stride,
                float* inverse) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  for (size_t r = 0; r < rows; ++r, x += stride) {
    const float greatest =
        mask ? scale_mask_as<true>(x, mask + r * mask_stride, n, factor) : scale_mask_as<false>(x, nullptr, n, factor);
    if (greatest == kLowest && max(x, n) == kLowest) {  // and no NaN beside it
      for (size_t i = 0; i < n; ++i) x[i] = 0;
      inverse[r] = 0;
    } else {
      inverse[r] = 1 / exp_sum_of(x, x, n, greatest);
    }
  }
}

template <bool kGamma, bool kBeta>
void scale_shift_as(const float* x, float* out, size_t n, float high, float low, float factor, const float* gamma,
                    const float* beta) {
  const DF d;
  const VF h = hn::Set(d, high), l = hn::Set(d, low), f = hn::Set(d, factor);
  map(
      n,
      [&](size_t i) {
        VF v = hn::Mul(hn::Sub(hn::Sub(hn::LoadU(d, x + i), h), l), f);
        if constexpr (kGamma) v = hn::Mul(v, hn::LoadU(d, gamma + i));
        if constexpr (kBeta) v = hn::Add(v, hn::LoadU(d, beta + i));
        hn::StoreU(v, d, out + i);
      },
      [&](size_t i) {
        float v = ((x[i] - high) - low) * factor;
        if constexpr (kGamma) v = v * gamma[i];
        if constexpr (kBeta) v = v + beta[i];
        out[i] = v;
      });
}
void scale_shift(const float* x, float* out, size_t n, float high, float low, float factor, const float* gamma,
                 const float* beta) {
  if (gamma && beta)
    scale_shift_as<true, true>(x, out, n, high, low, factor, gamma, beta);
  else if (gamma)
    scale_shift_as<true, false>(x, out, n, high, low, factor, gamma, beta);
  else if (beta)
    scale_shift_as<false, true>(x, out, n, high, low, factor, gamma, beta);
  else
    scale_shift_as<false, false>(x, out, n, high, low, factor, gamma, beta);
}

void exp_columns(const float* x, const float* subtract, float* out, float* acc, size_t n) {
  const DF d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const VF e = ExpOfNegative(d, hn::Sub(hn::LoadU(d, x + i), hn::LoadU(d, subtract + i)));
    hn::StoreU(e, d, out + i);
    hn::StoreU(hn::Add(hn::LoadU(d, acc + i), e), d, acc + i);
  }
  if (i == n) return;
  HWY_ALIGN float buffer[16] = {};
  for (size_t k = i; k < n; ++k) buffer[k - i] = x[k] - subtract[k];
  hn::Store(ExpOfNegative(d, hn::Load(d, buffer)), d, buffer);
  for (size_t k = i; k < n; ++k) {
    out[k] = buffer[k - i];
    acc[k] += out[k];
  }
}

template <class F, class G>
HWY_INLINE void into(float* acc, const float* x, size_t n, F vector, G scalar) {
  const DF d;
  map(
      n, [&](size_t i) { hn::StoreU(vector(hn::LoadU(d, acc + i), hn::LoadU(d, x + i)), d, acc + i); },
      [&](size_t i) { acc[i] = scalar(acc[i], x[i]); });
}
void add_into(float* acc, const float* x, size_t n) {
  into(
      acc, x, n, [](VF a, VF b) { return hn::Add(a, b); }, [](float a, float b) { return a + b; });
}
/// kVectors vectors of columns, all rows: chains stay in registers, each line is read once.
template <size_t kVectors>
HWY_INLINE void add_rows_at(float* acc, size_t n, const float* x, int64_t stride, size_t rows, size_t first) {
  const DF d;
  const size_t lanes = hn::Lanes(d);
  VF chains[4][kVectors];
#pragma GCC unroll 4
  for (size_t k = 0; k < 4; ++k) {
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) chains[k][v] = hn::LoadU(d, acc + (first + k) % 4 * n + v * lanes);
  }
  size_t r = 0;
  for (; r + 4 <= rows; r += 4, x += 4 * stride) {
#pragma GCC unroll 4
    for (size_t k = 0; k < 4; ++k) {
#pragma GCC unroll 4
      for (size_t v = 0; v < kVectors; ++v)
        chains[k][v] = hn::Add(chains[k][v], hn::LoadU(d, x + static_cast<int64_t>(k) * stride + v * lanes));
    }
  }
#pragma GCC unroll 4
  for (size_t k = 0; k < 3; ++k) {
    if (r + k >= rows) break;
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v)
      chains[k][v] = hn::Add(chains[k][v], hn::LoadU(d, x + static_cast<int64_t>(k) * stride + v * lanes));
  }
#pragma GCC unroll 4
  for (size_t k = 0; k < 4; ++k) {
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) hn::StoreU(chains[k][v], d, acc + (first + k) % 4 * n + v * lanes);
  }
}
void add_rows(float* acc, size_t n, const float* x, int64_t stride, size_t rows, size_t first) {
  const size_t lanes = hn::Lanes(DF());
  if (rows == 1 || stride >= 1024) {  // columns of far rows would share few sets of the cache
    for (size_t r = 0; r < rows; ++r) add_into(acc + (first + r) % 4 * n, x + static_cast<int64_t>(r) * stride, n);
    return;
  }
  size_t j = 0;
  for (; j + 2 * lanes <= n; j += 2 * lanes) add_rows_at<2>(acc + j, n, x + j, stride, rows, first);
  for (; j + lanes <= n; j += lanes) add_rows_at<1>(acc + j, n, x + j, stride, rows, first);
  for (; j < n; ++j) {
    for (size_t r = 0; r < rows; ++r)
      acc[(first + r) % 4 * n + j] += x[static_cast<int64_t>(r) * stride + static_cast<int64_t>(j)];
  }
}
void max_into(float* acc, const float* x, size_t n) {
  into(
      acc, x, n, [](VF a, VF b) { return max_ieee(a, b); }, max1);
}
void min_into(float* acc, const float* x, size_t n) {
  into(
      acc, x, n, [](VF a, VF b) { return min_ieee(a, b); }, min1);
}
void mul_into(float* acc, const float* x, size_t n) {
  into(
      acc, x, n, [](VF a, VF b) { return hn::Mul(a, b); }, [](float a, float b) { return a * b; });
}
void multiply_add_into(float* acc, const float* x, size_t n, float factor) {
  const VF f = hn::Set(DF(), factor);
  into(
      acc, x, n, [&](VF a, VF b) { return hn::MulAdd(b, f, a); },
      [&](float a, float b) { return std::fma(b, factor, a); });
}

float dot(const float* a, const float* b, size_t n) {
  const DF d;
  const size_t lanes = hn::Lanes(d);
  VF s0 = hn::Zero(d), s1 = s0;
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    s0 = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), s0);
    s1 = hn::MulAdd(hn::LoadU(d, a + i + lanes), hn::LoadU(d, b + i + lanes), s1);
  }
  for (; i + lanes <= n; i += lanes) s0 = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), s0);
  float result = hn::GetLane(hn::SumOfLanes(d, hn::Add(s0, s1)));
  for (; i < n; ++i) result += a[i] * b[i];
  return result;
}

#if HWY_TARGET != HWY_SCALAR
/// 4x4 through interleaving.
HWY_INLINE void transpose4(const uint32_t* s, int64_t src_stride, uint32_t* t, int64_t dst_stride) {
  const hn::FixedTag<uint32_t, 4> d;
  const hn::RepartitionToWide<decltype(d)> dw;
  const auto r0 = hn::LoadU(d, s), r1 = hn::LoadU(d, s + src_stride);
  const auto r2 = hn::LoadU(d, s + 2 * src_stride), r3 = hn::LoadU(d, s + 3 * src_stride);
  const auto a = hn::BitCast(dw, hn::InterleaveLower(d, r0, r1)), b = hn::BitCast(dw, hn::InterleaveLower(d, r2, r3));
  const auto e = hn::BitCast(dw, hn::InterleaveUpper(d, r0, r1)), f = hn::BitCast(dw, hn::InterleaveUpper(d, r2, r3));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dw, a, b)), d, t);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dw, a, b)), d, t + dst_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dw, e, f)), d, t + 2 * dst_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dw, e, f)), d, t + 3 * dst_stride);
}

/// Two to four planes to pixels or back: whole vectors; returns the rows (or columns) done.
int64_t interleave(const uint32_t* src, int64_t src_stride, uint32_t* dst, int64_t rows, int64_t columns) {
  const hn::FixedTag<uint32_t, 4> d;
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4) {
    const auto a = hn::LoadU(d, src + i), b = hn::LoadU(d, src + src_stride + i);
    if (columns == 2) {
      hn::StoreInterleaved2(a, b, d, dst + 2 * i);
      continue;
    }
    const auto c = hn::LoadU(d, src + 2 * src_stride + i);
    if (columns == 3)
      hn::StoreInterleaved3(a, b, c, d, dst + 3 * i);
    else
      hn::StoreInterleaved4(a, b, c, hn::LoadU(d, src + 3 * src_stride + i), d, dst + 4 * i);
  }
  return i;
}
int64_t deinterleave(const uint32_t* src, uint32_t* dst, int64_t dst_stride, int64_t rows, int64_t columns) {
  const hn::FixedTag<uint32_t, 4> d;
  int64_t j = 0;
  for (; j + 4 <= columns; j += 4) {
    hn::Vec<decltype(d)> a, b, c, e;
    if (rows == 2) {
      hn::LoadInterleaved2(d, src + 2 * j, a, b);
    } else if (rows == 3) {
      hn::LoadInterleaved3(d, src + 3 * j, a, b, c);
      hn::StoreU(c, d, dst + 2 * dst_stride + j);
    } else {
      hn::LoadInterleaved4(d, src + 4 * j, a, b, c, e);
      hn::StoreU(c, d, dst + 2 * dst_stride + j);
      hn::StoreU(e, d, dst + 3 * dst_stride + j);
    }
    hn::StoreU(a, d, dst + j);
    hn::StoreU(b, d, dst + dst_stride + j);
  }
  return j;
}
#endif

/// Tiles of 16x16, so that whole lines are read and written, of 4x4 blocks; the edges one by one.
void transpose32(const uint32_t* src, int64_t src_stride, uint32_t* dst, int64_t dst_stride, int64_t rows,
                 int64_t columns) {
  int64_t row_begin = 0, column_begin = 0, row_end = 0, column_end = 0;
#if HWY_TARGET != HWY_SCALAR
  if (columns >= 2 && columns <= 4 && dst_stride == columns)
    row_begin = interleave(src, src_stride, dst, rows, columns);
  else if (rows >= 2 && rows <= 4 && src_stride == rows)
    column_begin = deinterleave(src, dst, dst_stride, rows, columns);
  row_end = row_begin + (rows - row_begin) / 4 * 4;
  column_end = column_begin + (columns - column_begin) / 4 * 4;
  for (int64_t i0 = row_begin; i0 < row_end; i0 += 16) {
    const int64_t i1 = i0 + 16 < row_end ? i0 + 16 : row_end;
    for (int64_t j0 = column_begin; j0 < column_end; j0 += 16) {
      const int64_t j1 = j0 + 16 < column_end ? j0 + 16 : column_end;
      for (int64_t i = i0; i < i1; i += 4) {
        for (int64_t j = j0; j < j1; j += 4)
          transpose4(src + j * src_stride + i, src_stride, dst + i * dst_stride + j, dst_stride);
      }
    }
  }
#endif
  for (int64_t i = row_begin; i < rows; ++i) {
    for (int64_t j = i < row_end ? column_end : column_begin; j < columns; ++j)
      dst[i * dst_stride + j] = src[j * src_stride + i];
  }
}

const RowFunctions* rows() {
  static const RowFunctions functions = {
      sum,      sum_rows, sum_squares_about, max,         max_number,  min,      prod,     exp_sum,
      sum_exp,  scale,    weigh_rows,        scale_shift, exp_columns, add_into, add_rows, max_into,
      min_into, mul_into, multiply_add_into, dot,         transpose32};
  return &functions;
}
const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace weft::backends::tbb::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <string>

namespace weft::backends::tbb {

HWY_EXPORT(rows);
HWY_EXPORT(target_name);

const RowFunctions& row_functions() {
  static const RowFunctions& functions = *HWY_DYNAMIC_DISPATCH(rows)();
  return functions;
}
const char* instruction_set() {
  static const std::string name = [] {
    std::string s = HWY_DYNAMIC_DISPATCH(target_name)();
    std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return s;
  }();
  return name.c_str();
}

}  // namespace weft::backends::tbb
#endif
