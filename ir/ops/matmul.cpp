#include <algorithm>

#include "ir/ops/element.hpp"
#include "ir/ops/indexing.hpp"
#include "ir/ops/record.hpp"

namespace weft::ir::ops {
namespace {

/// Both operands as stacks of matrices; an operand of rank 1 is a row (a) or a column (b), whose axis leaves the
/// result.
struct Factors {
  Shape batch, a_batch, b_batch;
  Dim m, n, k, a_inner, b_inner;
  bool a_transposed, b_transposed;
};

Factors factors(const TensorType& a, const TensorType& b, const Attributes& attributes) {
  if (a.rank() == 0 || b.rank() == 0) fail(ErrorCode::type_mismatch, "operands of rank 0");
  Factors f;
  f.a_transposed = attributes.boolean("transpose_a") && a.rank() > 1;
  f.b_transposed = attributes.boolean("transpose_b") && b.rank() > 1;
  f.a_batch.assign(a.shape.begin(), a.shape.end() - (a.rank() > 1 ? 2 : 1));
  f.b_batch.assign(b.shape.begin(), b.shape.end() - (b.rank() > 1 ? 2 : 1));
  f.batch = broadcast(f.a_batch, f.b_batch);
  Dim a_rows = a.rank() > 1 ? a.shape[a.rank() - 2] : Dim(1), a_columns = a.shape.back();
  Dim b_rows = b.rank() > 1 ? b.shape[b.rank() - 2] : b.shape[0], b_columns = b.rank() > 1 ? b.shape.back() : Dim(1);
  f.m = f.a_transposed ? a_columns : a_rows;
  f.n = f.b_transposed ? b_rows : b_columns;
  f.k =
      same_dim(f.a_transposed ? a_rows : a_columns, f.b_transposed ? b_columns : b_rows, "inner dimensions of a and b");
  return f;
}

std::vector<TensorType> infer_matmul(std::span<const TensorType> operands, const Attributes& attributes) {
  const TensorType &a = operands[0], &b = operands[1];
  check_numeric(a);
  check_same_dtype(a, b, "b");
  Factors f = factors(a, b, attributes);
  TensorType out{a.dtype, f.batch};
  if (a.rank() > 1) out.shape.push_back(f.m);
  if (b.rank() > 1) out.shape.push_back(f.n);
  return {out};
}

/// A matrix of wide elements, rows x columns, from one that may be stored transposed.
template <typename T>
void widen(const T* from, int64_t rows, int64_t columns, bool transposed, std::vector<element::Accumulator<T>>& to) {
  to.resize(static_cast<size_t>(rows * columns));
  auto slot = to.begin();
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      *slot++ = element::load_wide(transposed ? from[c * rows + r] : from[r * columns + c]);
}

/// One matrix product; sums are wide and taken in the order of k.
template <typename T>
void multiply(const std::vector<element::Accumulator<T>>& a, const std::vector<element::Accumulator<T>>& b, T* out,
              int64_t m, int64_t n, int64_t k) {
  std::vector<element::Accumulator<T>> sums(static_cast<size_t>(n));
  for (int64_t i = 0; i < m; ++i) {
    std::fill(sums.begin(), sums.end(), 0);
    for (int64_t p = 0; p < k; ++p) {
      auto factor = a[static_cast<size_t>(i * k + p)];
      const auto* row = b.data() + p * n;
      for (int64_t j = 0; j < n; ++j) sums[static_cast<size_t>(j)] += factor * row[j];
    }
    for (auto sum : sums) *out++ = element::convert<T>(sum);
  }
}

template <typename T>
void matmul(const Tensor& a, const Tensor& b, const Factors& f, Tensor& out) {
  std::vector<int64_t> batch = to_ints(f.batch);
  std::vector<int64_t> a_strides = broadcast_strides(to_ints(f.a_batch), batch),
                       b_strides = broadcast_strides(to_ints(f.b_batch), batch);
  int64_t m = f.m.value(), n = f.n.value(), k = f.k.value(), b_held = -1;
  std::vector<element::Accumulator<T>> wide_a, wide_b;
  T* to = static_cast<T*>(out.mutable_data());
  for_each_index(batch, [&](const std::vector<int64_t>& index) {
    int64_t b_matrix = dot(index, b_strides);
    if (b_matrix != b_held) widen(static_cast<const T*>(b.data()) + b_matrix * k * n, k, n, f.b_transposed, wide_b);
    b_held = b_matrix;
    widen(static_cast<const T*>(a.data()) + dot(index, a_strides) * m * k, m, k, f.a_transposed, wide_a);
    multiply<T>(wide_a, wide_b, to, m, n, k);
    to += m * n;
  });
}

void evaluate_matmul(std::span<const Tensor> operands, const Attributes& attributes, std::span<Tensor> outputs) {
  if (outputs[0].elements() == 0) return;
  Factors f = factors(operands[0].type(), operands[1].type(), attributes);
  dispatch(operands[0].dtype(), [&]<typename T>() {
    if constexpr (!std::is_same_v<T, bool>) matmul<T>(operands[0], operands[1], f, outputs[0]);
  });
}

Work work_matmul(std::span<const TensorType> operands, const Attributes& attributes,
                 std::span<const TensorType> outputs) {
  Work work = bytes_moved(operands, outputs);
  double k = static_cast<double>(factors(operands[0], operands[1], attributes).k.value());
  work.flops = 2 * k * static_cast<double>(outputs[0].elements());
  return work;
}

}  // namespace

OpInfo matmul_record() {
  return {
      .op = Op::matmul,
      .summary =
          "matrix product with numpy's broadcasting; the transposed axes are the last two (numpy.matmul, ONNX MatMul)",
      .operands = {{"a"}, {"b"}},
      .attributes = {boolean("transpose_a", false), boolean("transpose_b", false)},
      .infer = infer_matmul,
      .eval = evaluate_matmul,
      .work = work_matmul,
      .gradient =
          "if(transpose_a, true, sum_to(matmul(b, dy, transpose_a=transpose_b, transpose_b=true), shape(a)), "
          "sum_to(matmul(dy, b, transpose_b=logical_not(transpose_b)), shape(a))); "
          "if(transpose_b, true, sum_to(matmul(dy, a, transpose_a=true, transpose_b=transpose_a), shape(b)), "
          "sum_to(matmul(a, dy, transpose_a=logical_not(transpose_a)), shape(b)))",
      .examples = {"matmul(f32[2,2][1, 2, 3, 4], f32[2,2][5, 6, 7, 8]) == f32[2,2][19, 22, 43, 50]",
                   "matmul(f32[2][1, 2], f32[2,2][5, 6, 7, 8], transpose_b=true) == f32[2][17, 23]"}};
}

}  // namespace weft::ir::ops
