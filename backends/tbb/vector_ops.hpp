#pragma once
// Elementwise arithmetic on a chunk of a few hundred elements, vectorised for the CPU found at run time.
#include <cstddef>
#include <cstdint>
#include <optional>

#include "ir/graph.hpp"

namespace weft::backends::tbb {

/// Operands and result of one operation on a chunk. Those that the variant takes as scalars point to one element.
/// Bools are bytes of 0 or 1. `out` may equal an operand of the same element size.
struct ChunkArgs {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* out = nullptr;
  size_t n = 0;
  float p0 = 0, p1 = 0;  ///< attributes of the op (alpha, beta)
};
using ChunkFunction = void (*)(const ChunkArgs&);

enum class VectorOp : uint8_t {
  neg,
  abs,
  sign,
  sqrt,
  rsqrt,
  reciprocal,
  exp,
  log,
  tanh,
  erf,
  sigmoid,
  relu,
  softplus,
  silu,
  hard_swish,
  floor,
  ceil,
  round,
  leaky_relu,
  elu,
  hard_sigmoid,
  gelu_erf,
  gelu_tanh,
  square,
  cube,
  sqrt_pow,
  is_nan,
  is_inf,
  add,
  sub,
  mul,
  div,
  max,
  min,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  logical_not,
  logical_and,
  logical_or,
  logical_xor,
  where,
  clip,
  add_relu,  ///< two instructions of a program in one pass, rounded apart
  mul_add,   ///< a * b + c
  mul_add_relu,
  f32_from_byte,
  f32_from_i8,
  f32_from_i32,
  f32_from_bf16,
  bool_from_f32,
  u8_from_f32,
  i32_from_f32,
  bf16_from_f32,
  count_
};

/// The variant for the operands whose bits are set in `scalars` (bit 0 = a...), or null where there is none.
ChunkFunction chunk_function(VectorOp op, unsigned scalars);

/// The vector form of an elementwise node, with its attributes as p0 and p1; nothing where only the op table's own
/// evaluation fits (`exponent` is the value of a constant second operand, for pow).
struct VectorForm {
  VectorOp op;
  int operands = 1;  ///< the first ones of the node's
  float p0 = 0, p1 = 0;
};
std::optional<VectorForm> vector_form(const ir::Node& node, const ir::DType* operand_dtypes,
                                      std::optional<double> exponent);
/// Nanoseconds an element on one core of the CPU found.
double chunk_cost(VectorOp op);

// Row primitives of the norm, reduce, window and attention kernels; the order of operations depends only on n.
struct RowFunctions {
  float (*sum)(const float* x, size_t n);                               ///< blocked by 16 chains of lanes
  void (*sum_rows)(const float* x, size_t rows, size_t n, float* out);  ///< sum of each row of n
  double (*sum_squares_about)(const float* x, size_t n, float mean);
  float (*max)(const float* x, size_t n);         ///< NaN propagates; n >= 1
  float (*max_number)(const float* x, size_t n);  ///< the greatest where no element is NaN, else any
  float (*min)(const float* x, size_t n);
  float (*prod)(const float* x, size_t n);
  float (*exp_sum)(const float* x, float* out, size_t n, float subtract);  ///< out = exp(x - subtract), returns its sum
  double (*sum_exp)(const float* x, size_t n, float subtract);
  void (*scale)(const float* x, float* out, size_t n, float factor);
  /// Rows x[0..n) become exp(y - max y) of y = x * factor (+ mask where it is not null); inverse = 1 / their sum.
  /// Where all of y is -inf both are 0.
  void (*weigh_rows)(float* x, size_t stride, size_t rows, size_t n, float factor, const float* mask,
                     size_t mask_stride, float* inverse);
  /// ((x - high) - low) * factor, times gamma, plus beta where these are not null.
  void (*scale_shift)(const float* x, float* out, size_t n, float high, float low, float factor, const float* gamma,
                      const float* beta);
  void (*exp_columns)(const float* x, const float* subtract, float* out, float* acc,
                      size_t n);                           ///< out = exp(x - subtract), acc += out
  void (*add_into)(float* acc, const float* x, size_t n);  ///< acc += x
  /// Four chains acc[4][n]: row r of n elements at x + r * stride is added to chain (first + r) mod 4.
  void (*add_rows)(float* acc, size_t n, const float* x, int64_t stride, size_t rows, size_t first);
  void (*max_into)(float* acc, const float* x, size_t n);
  void (*min_into)(float* acc, const float* x, size_t n);
  void (*mul_into)(float* acc, const float* x, size_t n);
  void (*multiply_add_into)(float* acc, const float* x, size_t n, float factor);  ///< acc += factor * x
  float (*dot)(const float* a, const float* b, size_t n);
  /// dst[i * dst_stride + j] = src[j * src_stride + i], i < rows, j < columns; 4-byte elements.
  void (*transpose32)(const uint32_t* src, int64_t src_stride, uint32_t* dst, int64_t dst_stride, int64_t rows,
                      int64_t columns);
};
const RowFunctions& row_functions();
const char* instruction_set();  ///< "avx3", "avx2", "sse2"...

}  // namespace weft::backends::tbb
