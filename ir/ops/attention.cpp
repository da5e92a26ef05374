#include "ir/ops/element.hpp"
#include "ir/ops/indexing.hpp"
#include "ir/ops/record.hpp"

namespace weft::ir::ops {
namespace {

/// Sizes of one attention: `batch` is the broadcast of all axes but the last two.
struct Heads {
  Shape batch;
  Dim queries, keys, depth, value_depth;
};

Shape leading(const TensorType& type) { return {type.shape.begin(), type.shape.end() - 2}; }

Heads heads_of(std::span<const TensorType> operands) {
  if (operands.size() < 3 || operands.size() > 4)
    fail(ErrorCode::invalid_argument, "{} operands, expected q, k, v and perhaps a mask", operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    static constexpr std::string_view kNames[] = {"q", "k", "v", "mask"};
    check_same_dtype(operands[0], operands[i], kNames[i]);
    if (i < 3 && operands[i].rank() < 2)
      fail(ErrorCode::type_mismatch, "operand {} is {}, expected a rank of 2 or more", kNames[i],
           to_string(operands[i]));
  }
  const TensorType &q = operands[0], &k = operands[1], &v = operands[2];
  Heads h;
  h.batch = broadcast(broadcast(leading(q), leading(k)), leading(v));
  h.queries = q.shape[q.rank() - 2], h.value_depth = v.shape.back();
  h.keys = same_dim(k.shape[k.rank() - 2], v.shape[v.rank() - 2], "positions of k against those of v");
  h.depth = same_dim(q.shape.back(), k.shape.back(), "depth of q against that of k");
  return h;
}

Shape with(Shape batch, const Dim& rows, const Dim& columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

std::vector<TensorType> infer_attention(std::span<const TensorType> operands, const Attributes&) {
  Heads h = heads_of(operands);
  check_float(operands[0]);
  Shape scores = with(h.batch, h.queries, h.keys);
  if (operands.size() == 4 && broadcast(scores, operands[3].shape) != scores)
    fail(ErrorCode::type_mismatch, "mask of shape {} does not broadcast to {}", to_string(operands[3].shape),
         to_string(scores));
  return {{operands[0].dtype, with(h.batch, h.queries, h.value_depth)}};
}

/// Softmax of a row of scores; a row of -inf only gives zeros.
void softmax_or_zeros(std::vector<double>& row) {
  double greatest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (double v : row) greatest = element::max(greatest, v);
  bool masked = greatest == -std::numeric_limits<double>::infinity();
  for (double& v : row) sum += v = masked ? 0 : std::exp(v - greatest);
  for (double& v : row) v = masked ? 0 : v / sum;
}

/// One operand as matrices of wide elements that are broadcast over the batch.
template <typename T>
struct Matrices {
  const T* data;
  std::vector<int64_t> strides;  // of batch axes, then row and column
  Matrices(const Tensor& tensor, const Shape& batch, int64_t rows, int64_t columns)
      : data(static_cast<const T*>(tensor.data())),
        strides(broadcast_strides(to_ints(tensor.shape()), to_ints(with(batch, rows, columns)))) {}
  double at(const std::vector<int64_t>& index, int64_t row, int64_t column) const {
    int64_t offset = dot(index, strides) + row * strides[index.size()] + column * strides[index.size() + 1];
    return static_cast<double>(element::load(data[offset]));
  }
};

template <typename T>
void attend(std::span<const Tensor> operands, const Attributes& attributes, const Heads& h, T* out) {
  int64_t queries = h.queries.value(), keys = h.keys.value(), depth = h.depth.value(),
          value_depth = h.value_depth.value();
  Matrices<T> q(operands[0], h.batch, queries, depth), k(operands[1], h.batch, keys, depth),
      v(operands[2], h.batch, keys, value_depth);
  std::optional<Matrices<T>> mask;
  if (operands.size() == 4) mask.emplace(operands[3], h.batch, queries, keys);
  bool causal = attributes.boolean("causal");
  double scale = attributes.real("scale");
  std::vector<double> row(static_cast<size_t>(keys));
  for_each_index(to_ints(h.batch), [&](const std::vector<int64_t>& index) {
    for (int64_t i = 0; i < queries; ++i) {
      for (int64_t j = 0; j < keys; ++j) {
        double score = 0;
        for (int64_t d = 0; d < depth; ++d) score += q.at(index, i, d) * k.at(index, j, d);
        score *= scale;
        if (mask) score += mask->at(index, i, j);
        if (causal && j - i > keys - queries) score = -std::numeric_limits<double>::infinity();
        row[static_cast<size_t>(j)] = score;
      }
      softmax_or_zeros(row);
      for (int64_t d = 0; d < value_depth; ++d) {
        double sum = 0;
        for (int64_t j = 0; j < keys; ++j) sum += row[static_cast<size_t>(j)] * v.at(index, j, d);
        *out++ = element::convert<T>(sum);
      }
    }
  });
}

std::vector<TensorType> types_of(std::span<const Tensor> tensors) {
  std::vector<TensorType> types;
  for (const Tensor& tensor : tensors) types.push_back(tensor.type());
  return types;
}

void evaluate_attention(std::span<const Tensor> operands, const Attributes& attributes, std::span<Tensor> outputs) {
  if (outputs[0].elements() == 0) return;
  Heads h = heads_of(types_of(operands));
  dispatch(operands[0].dtype(), [&]<typename T>() {
    if constexpr (DTypeOf<T>::value >= DType::f16)
      attend<T>(operands, attributes, h, static_cast<T*>(outputs[0].mutable_data()));
  });
}

Work work_attention(std::span<const TensorType> operands, const Attributes&, std::span<const TensorType> outputs) {
  Work work = bytes_moved(operands, outputs);
  Heads h = heads_of(operands);
  double scores = static_cast<double>(element_count(with(h.batch, h.queries, h.keys)));
  work.flops =
      scores * (2 * static_cast<double>(h.depth.value()) + 2 * static_cast<double>(h.value_depth.value()) + 14);
  return work;
}

}  // namespace

OpInfo attention_record() {
  return {.op = Op::attention,
          .summary =
              "softmax(scale * q @ k^T + mask) @ v for xs = q [..,Sq,D], k [..,Sk,D], v [..,Sk,Dv] and perhaps an "
              "additive mask; "
              "causal aligns the last query with the last key; a fully masked row gives 0 (Vaswani et al. 2017; ONNX "
              "Attention 23)",
          .operands = {{"xs", true}},
          .attributes = {real("scale"), boolean("causal", false)},
          .infer = infer_attention,
          .eval = evaluate_attention,
          .work = work_attention,
          .examples = {
              "attention(f32[1,1][1], f32[2,1][3, 3], f32[2,1][1, 2], scale=0.5) == f32[1,1][1.5]",
              "attention(f32[2,1][1, 1], f32[2,1][3, 3], f32[2,1][1, 2], scale=1, causal=true) == f32[2,1][1, 1.5]"}};
}

}  // namespace weft::ir::ops
