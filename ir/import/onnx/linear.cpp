// Matrix products: MatMul, Gemm.
#include "ir/import/onnx/einsum.hpp"
#include "ir/import/onnx/emit.hpp"
#include "ir/import/onnx/handlers.hpp"
#include "ir/support/error.hpp"

namespace weft::ir::onnx_import {
namespace {

Refs matmul_op(Call& n) {
  n.expect_inputs(2, 2);
  return {n.b.add(Op::matmul, {n.in(0), n.in(1)}, {}, n.name())};
}

/// com.microsoft: alpha * op(a) @ op(b).
Refs fused_matmul(Call& n) {
  double alpha = n.real("alpha", 1);
  bool transpose_a = n.flag("transA", false), transpose_b = n.flag("transB", false);
  if (n.flag("transBatchA", false) || n.flag("transBatchB", false))
    fail(ErrorCode::unsupported, "transBatchA/transBatchB");
  Ref y = matmul(n.b, n.in(0), n.in(1), transpose_a, transpose_b);
  return {alpha == 1 ? y : mul(n.b, y, alpha)};
}

/// alpha * op(a) @ op(b) + beta * c. A beta of 0 leaves c unread, as BLAS does.
Refs gemm(Call& n) {
  n.expect_inputs(2, 3);
  n.ignore({"broadcast"});  // opset 6: c broadcasts in any case
  double alpha = n.real("alpha", 1), beta = n.real("beta", 1);
  bool transpose_a = n.flag("transA", false), transpose_b = n.flag("transB", false);
  for (size_t i : {size_t{0}, size_t{1}})
    if (n.b.rank(n.in(i)) != 2)
      fail(ErrorCode::type_mismatch, "input {} is {}, expected rank 2", i, n.b.describe(n.in(i)));
  bool has_c = n.has(2) && beta != 0;
  Ref y = n.b.add(Op::matmul, {n.in(0), n.in(1)}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}},
                  alpha == 1 && !has_c ? n.name() : "");
  if (alpha != 1) y = mul(n.b, y, alpha);
  if (!has_c) return {y};
  Ref c = beta == 1 ? n.in(2) : mul(n.b, n.in(2), beta);
  if (broadcast(n.b.shape(y), n.b.shape(c)) != n.b.shape(y))
    fail(ErrorCode::type_mismatch, "c is {}, which does not broadcast to {}", n.b.describe(c), to_string(n.b.shape(y)));
  return {n.b.add(Op::add, {y, c}, {}, n.name())};
}

Refs einsum_op(Call& n) { return {einsum(n.b, n.text("equation", ""), n.operands())}; }

constexpr OpRow kRows[] = {
    {"Einsum", einsum_op},
    {"FusedMatMul", fused_matmul, "com.microsoft"},
    {"Gemm", gemm},
    {"MatMul", matmul_op},
};

}  // namespace

std::span<const OpRow> linear_ops() { return kRows; }

}  // namespace weft::ir::onnx_import
