#pragma once
// A small matrix product for attention (Highway, chosen at run time).
#include <cstdint>

namespace weft::backends::tbb {

/// c[m, n] = a[m, k] b[k, n], row-major with row strides lda, ldb, ldc; n is a multiple of 16. Each sum runs over k in
/// order.
using GemmFunction = void (*)(const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc,
                              int64_t m, int64_t n, int64_t k);
GemmFunction gemm_function();

}  // namespace weft::backends::tbb
