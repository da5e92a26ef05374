#pragma once
// A small matrix product for attention (Highway, chosen at run time).
#include <cstdint>

namespace weft::backends::tbb {

struct GemmFunctions {
  /// c[m, n] = a[m, k] b[k, n], row-major with row strides lda, ldb, ldc; n is a multiple of the vector's lanes. Each
  /// sum runs over k in order. Where `factors` is not null, row i is multiplied by factors[i] at the end.
  void (*multiply)(const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc, int64_t m,
                   int64_t n, int64_t k, const float* factors);
  /// dst[rows, width] dense = src with a row stride.
  void (*pack)(const float* src, int64_t stride, float* dst, int64_t width, int64_t rows);
  int64_t panel;  ///< columns that are computed at once: b is read fastest as panels [k][panel]
};
const GemmFunctions& gemm_functions();

}  // namespace weft::backends::tbb
