// Contents of small tensors as dimensions: what Shape, Gather, Concat, Mul... compute when a dimension is a symbol.
#include <algorithm>

#include "ir/import/onnx/builder.hpp"
#include "ir/support/error.hpp"

namespace weft::ir::onnx_import {
namespace {

/// Where the elements of the data operands go is found by running the op on their numbers instead.
struct MovedOperands {
  size_t first, count;  // which operands are data; the others must be known
};

std::optional<MovedOperands> moved_operands(Op op, size_t operands) {
  switch (op) {
    case Op::reshape:
    case Op::transpose:
    case Op::broadcast:
    case Op::slice:
    case Op::split:
    case Op::concat:
      return MovedOperands{0, operands};
    case Op::gather:
      return MovedOperands{0, 1};
    case Op::where:
      return MovedOperands{1, 2};
    default:
      return std::nullopt;
  }
}

/// Symbols are sizes: not negative. Enough to decide the comparisons with -1 that exporters write.
std::optional<bool> compare(Op op, const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) {
    int64_t x = a.value(), y = b.value();
    switch (op) {
      case Op::equal:
        return x == y;
      case Op::not_equal:
        return x != y;
      case Op::less:
        return x < y;
      case Op::less_equal:
        return x <= y;
      case Op::greater:
        return x > y;
      default:
        return x >= y;
    }
  }
  if (a == b) return op == Op::equal || op == Op::less_equal || op == Op::greater_equal;
  bool a_negative = a.is_constant() && a.value() < 0, b_negative = b.is_constant() && b.value() < 0;
  if (!a_negative && !b_negative) return std::nullopt;
  bool less = a_negative;
  switch (op) {
    case Op::equal:
      return false;
    case Op::not_equal:
      return true;
    case Op::less:
    case Op::less_equal:
      return less;
    default:
      return !less;
  }
}

std::optional<Dim> combine(Op op, const Dim& a, const Dim& b, bool is_real) {
  switch (op) {
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::mul:
      return a * b;
    case Op::max:
      return max(a, b);
    case Op::min:
      return min(a, b);
    case Op::div:  // of sizes: truncation is floor; a real quotient is kept only where it is certainly whole
      if (!b.is_constant() || b.value() <= 0) return std::nullopt;
      if (is_real && !b.is(1)) return std::nullopt;
      return floor_div(a, b);
    default:
      break;
  }
  if (auto truth = compare(op, a, b)) return Dim(*truth);
  return std::nullopt;
}

bool is_comparison(Op op) {
  return op == Op::equal || op == Op::not_equal || op == Op::less || op == Op::less_equal || op == Op::greater ||
         op == Op::greater_equal;
}

Tensor numbered(const Shape& shape, int64_t first) {
  Tensor t = Tensor::allocate({DType::i64, shape});
  auto out = t.mutable_as<int64_t>();
  for (size_t i = 0; i < out.size(); ++i) out[i] = first + static_cast<int64_t>(i);
  return t;
}

}  // namespace

std::optional<Refs> Builder::fold_movement(Op op, const Refs& operands, const Attributes& complete) {
  auto moved = moved_operands(op, operands.size());
  if (!moved) return std::nullopt;
  std::vector<Tensor> tensors;
  std::vector<Dim> elements;
  DType element = dtype(operands[moved->first]);
  for (size_t i = 0; i < operands.size(); ++i) {
    const Item& it = item(operands[i]);
    if (i < moved->first || i >= moved->first + moved->count) {
      if (!it.tensor.defined()) return std::nullopt;
      tensors.push_back(it.tensor);
      continue;
    }
    auto part = contents(operands[i]);
    if (!part || it.type.dtype != element) return std::nullopt;
    tensors.push_back(numbered(it.type.shape, static_cast<int64_t>(elements.size())));
    elements.insert(elements.end(), part->begin(), part->end());
  }
  std::vector<TensorType> types;
  for (const Tensor& t : tensors) types.push_back(t.type());
  constexpr int64_t kLimit = 4096;
  for (const TensorType& t : infer(op, types, complete))
    if (!ir::is_static(t.shape) || t.elements() > kLimit) return std::nullopt;
  std::vector<TensorType> result_types;
  std::vector<std::vector<Dim>> results;
  for (const Tensor& t : evaluate(op, tensors, complete)) {
    std::vector<Dim> result;
    for (int64_t index : t.as<int64_t>()) result.push_back(elements[static_cast<size_t>(index)]);
    results.push_back(std::move(result));
    result_types.push_back({element, t.shape()});
  }
  return push_contents(result_types, std::move(results));
}

std::optional<std::vector<Dim>> Builder::fold_arithmetic(Op op, const Refs& operands, const TensorType& result) const {
  std::vector<std::vector<Dim>> parts;
  for (Ref r : operands) {
    auto part = contents(r);
    if (!part) return std::nullopt;
    parts.push_back(std::move(*part));
  }
  size_t count = static_cast<size_t>(result.elements());
  std::vector<Dim> out;
  bool is_real = is_float(dtype(operands[0]));
  switch (op) {
    case Op::cast:
      if (result.dtype == DType::boolean) return std::nullopt;
      return parts[0];
    case Op::floor:
    case Op::ceil:
    case Op::round:
      return parts[0];  // contents are whole numbers
    case Op::neg:
      for (const Dim& d : parts[0]) out.push_back(Dim(0) - d);
      return out;
    case Op::reduce_prod:
    case Op::reduce_sum: {
      if (count != 1) return std::nullopt;
      Dim total = op == Op::reduce_prod ? 1 : 0;
      for (const Dim& d : parts[0]) total = op == Op::reduce_prod ? total * d : total + d;
      return std::vector<Dim>{total};
    }
    default:
      break;
  }
  if (operands.size() != 2) return std::nullopt;
  for (auto& part : parts) {
    if (part.size() != count && part.size() != 1) return std::nullopt;
    if (part.size() != count) part.assign(count, part[0]);
  }
  for (size_t i = 0; i < count; ++i) {
    auto dim = combine(op, parts[0][i], parts[1][i], is_real);
    if (!dim) return std::nullopt;
    out.push_back(*dim);
  }
  return out;
}

std::optional<Refs> Builder::fold_symbolic(Op op, const Refs& operands, const Attributes& complete) {
  if (auto folded = fold_movement(op, operands, complete)) return folded;
  std::vector<TensorType> types;
  for (Ref r : operands) types.push_back(type(r));
  std::vector<TensorType> results = infer(op, types, complete);
  if (results.size() != 1 || !ir::is_static(results[0].shape)) return std::nullopt;
  if (results[0].dtype == DType::boolean && !is_comparison(op)) return std::nullopt;
  auto folded = fold_arithmetic(op, operands, results[0]);
  if (!folded) return std::nullopt;
  return push_contents(results, {std::move(*folded)});
}

/// A dimension as a value of the program: the sum over that many ones. Folds away when the symbol is bound.
Value Builder::materialise_dims(const Item& item) {
  std::vector<Value> parts;
  Value one;
  for (const Dim& d : item.dims) {
    if (d.is_constant()) {
      parts.push_back(graph_.constant(Tensor::from<int64_t>({1}, {d.value()})));
      continue;
    }
    if (!one.node.valid()) one = graph_.constant(Tensor::from<int64_t>({1}, {1}));
    Value ones = graph_.value(Op::broadcast, {one}, {{"shape", Shape{d}}});
    parts.push_back(graph_.value(Op::reduce_sum, {ones}, {{"axes", std::vector<int64_t>{0}}, {"keepdims", true}}));
  }
  Value all = parts.size() == 1 ? parts[0] : graph_.value(Op::concat, parts, {{"axis", int64_t{0}}});
  if (item.type.dtype != DType::i64) all = graph_.value(Op::cast, {all}, {{"to", item.type.dtype}});
  if (item.type.rank() != 1) all = graph_.value(Op::reshape, {all}, {{"shape", item.type.shape}});
  return all;
}

}  // namespace weft::ir::onnx_import
