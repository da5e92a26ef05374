#include "backends/tbb/vector_gemm.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/tbb/vector_gemm.cpp"
#include "hwy/foreach_target.h"
//
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weft::backends::tbb::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;

// Registers: 6 x 4 vectors of sums with 32 registers, 4 x 2 with 16.
#if HWY_TARGET <= HWY_AVX3
constexpr int kRows = 6, kVectors = 4;
#else
constexpr int kRows = 4, kVectors = 2;
#endif

template <int kM, int kN>
void tile(const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc, int64_t k) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  VF acc[kM][kN];
#pragma GCC unroll 8
  for (int r = 0; r < kM; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kN; ++v) acc[r][v] = hn::Zero(d);
  }
  for (int64_t i = 0; i < k; ++i) {
    VF row[kN];
#pragma GCC unroll 8
    for (int v = 0; v < kN; ++v) row[v] = hn::LoadU(d, b + i * ldb + v * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < kM; ++r) {
      const VF x = hn::Set(d, a[r * lda + i]);
#pragma GCC unroll 8
      for (int v = 0; v < kN; ++v) acc[r][v] = hn::MulAdd(x, row[v], acc[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kM; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kN; ++v) hn::StoreU(acc[r][v], d, c + r * ldc + v * lanes);
  }
}

template <int kN>
void columns(const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc, int64_t m, int64_t k) {
  int64_t r = 0;
  for (; r + kRows <= m; r += kRows) tile<kRows, kN>(a + r * lda, lda, b, ldb, c + r * ldc, ldc, k);
  for (; r + 2 <= m; r += 2) tile<2, kN>(a + r * lda, lda, b, ldb, c + r * ldc, ldc, k);
  if (r < m) tile<1, kN>(a + r * lda, lda, b, ldb, c + r * ldc, ldc, k);
}

void gemm(const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc, int64_t m, int64_t n,
          int64_t k) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(DF()));
  int64_t j = 0;
  for (; j + kVectors * lanes <= n; j += kVectors * lanes) columns<kVectors>(a, lda, b + j, ldb, c + j, ldc, m, k);
  for (; j + lanes <= n; j += lanes) columns<1>(a, lda, b + j, ldb, c + j, ldc, m, k);
}
GemmFunction find_gemm() { return gemm; }

}  // namespace weft::backends::tbb::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::backends::tbb {
HWY_EXPORT(find_gemm);
GemmFunction gemm_function() {
  static const GemmFunction function = HWY_DYNAMIC_DISPATCH(find_gemm)();
  return function;
}
}  // namespace weft::backends::tbb
#endif
