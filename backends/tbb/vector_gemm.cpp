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

// Registers: 6 x 4 vectors of sums with 32 registers, 6 x 2 with 16 (two more hold a row of b, one an element of a).
#if HWY_TARGET <= HWY_AVX3
constexpr int kRows = 6, kVectors = 4;
#else
constexpr int kRows = 6, kVectors = 2;
#endif

/// Keeps a vector in its register: GCC would fold the load into every multiply-add that uses it, and loads are what
/// bounds the loop.
HWY_INLINE void keep(VF& v) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSE4
  __asm__("" : "+v"(v.raw));
#else
  (void)v;
#endif
}

template <int kM, int kN>
void tile(const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc, int64_t k,
          const float* factors) {
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
    for (int v = 0; v < kN; ++v) {
      row[v] = hn::LoadU(d, b + i * ldb + v * lanes);
      keep(row[v]);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kM; ++r) {
      const VF x = hn::Set(d, a[r * lda + i]);
#pragma GCC unroll 8
      for (int v = 0; v < kN; ++v) acc[r][v] = hn::MulAdd(x, row[v], acc[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kM; ++r) {
    const VF factor = factors ? hn::Set(d, factors[r]) : hn::Zero(d);
#pragma GCC unroll 8
    for (int v = 0; v < kN; ++v)
      hn::StoreU(factors ? hn::Mul(acc[r][v], factor) : acc[r][v], d, c + r * ldc + v * lanes);
  }
}

template <int kN>
void columns(const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc, int64_t m, int64_t k,
             const float* factors) {
  int64_t r = 0;
  const auto run = [&](auto rows, auto function) {
    for (; r + rows <= m; r += rows)
      function(a + r * lda, lda, b, ldb, c + r * ldc, ldc, k, factors ? factors + r : nullptr);
  };
  run(kRows, tile<kRows, kN>);
  run(4, tile<4, kN>);
  run(1, tile<1, kN>);
}

void gemm(const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc, int64_t m, int64_t n,
          int64_t k, const float* factors) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(DF()));
  int64_t j = 0;
  for (; j + kVectors * lanes <= n; j += kVectors * lanes)
    columns<kVectors>(a, lda, b + j, ldb, c + j, ldc, m, k, factors);
  for (; j + lanes <= n; j += lanes) columns<1>(a, lda, b + j, ldb, c + j, ldc, m, k, factors);
}

/// Whole vectors of a row at a time; GCC's own copy calls memcpy for each.
void pack(const float* src, int64_t stride, float* dst, int64_t width, int64_t rows) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < rows; ++r, src += stride, dst += width) {
    int64_t j = 0;
    for (; j + lanes <= width; j += lanes) hn::StoreU(hn::LoadU(d, src + j), d, dst + j);
    for (; j < width; ++j) dst[j] = src[j];
  }
}

GemmFunctions find_gemm() { return {gemm, pack, kVectors * static_cast<int64_t>(hn::Lanes(DF()))}; }

}  // namespace weft::backends::tbb::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::backends::tbb {
HWY_EXPORT(find_gemm);
const GemmFunctions& gemm_functions() {
  static const GemmFunctions functions = HWY_DYNAMIC_DISPATCH(find_gemm)();
  return functions;
}
}  // namespace weft::backends::tbb
#endif
