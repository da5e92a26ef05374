// Ops that choose elements by index: Gather, GatherElements, GatherND, OneHot, Compress, Scatter...
#include <algorithm>

#include "ir/import/onnx/emit.hpp"
#include "ir/import/onnx/handlers.hpp"
#include "ir/support/error.hpp"

namespace weft::ir::onnx_import {
namespace {

/// Scatter with indices computed at run time compares every slot with every update; beyond this many pairs it is
/// refused.
constexpr int64_t kScatterPairs = int64_t{1} << 24;

/// Indices counted from the front: those below 0 count from the end of an axis of this size.
Ref from_front(Builder& b, Ref indices, Ref size) {
  return where(b, binary(b, Op::less, indices, 0.0), binary(b, Op::add, indices, size), indices);
}

Ref indices_of(Call& n, size_t input) {
  if (!is_integer(n.b.dtype(n.in(input))))
    fail(ErrorCode::type_mismatch, "input {} is {}, expected integers", input, n.b.describe(n.in(input)));
  return cast(n.b, n.in(input), DType::i64);
}

Refs gather_op(Call& n) {
  n.expect_inputs(2, 2);
  Ref x = n.in(0);
  int64_t axis = normalise_axis(n.integer("axis", 0), n.b.rank(x));
  const Tensor* indices = n.b.known(n.in(1));
  const Dim& size = n.b.shape(x)[static_cast<size_t>(axis)];
  for (int64_t i = 0; indices && size.is_constant() && i < indices->elements(); ++i)
    if (int64_t index = indices->at_int(i); index < -size.value() || index >= size.value())
      fail(ErrorCode::out_of_range, "index {} at position {} is outside [{},{}] of axis {} of {}", index, i,
           -size.value(), size.value() - 1, axis, n.b.describe(x));
  return {n.b.add(Op::gather, {x, n.in(1)}, {{"axis", axis}}, n.name())};
}

/// Row-major positions in `shape` of the elements of an index tensor, whose entry replaces the coordinate on `axis`.
Ref element_positions(Builder& b, Ref indices, const Shape& shape, int64_t axis) {
  int64_t rank = static_cast<int64_t>(shape.size());
  Ref position = from_front(b, indices, b.dims({shape[static_cast<size_t>(axis)]}, true));
  position = mul(b, position, b.dims({product(shape, static_cast<size_t>(axis) + 1)}, true));
  for (int64_t d = 0; d < rank; ++d) {
    if (d == axis) continue;
    Ref coordinate = along_axis(b, iota(b, b.shape(indices)[static_cast<size_t>(d)]), d, rank);
    position = add(b, position, mul(b, coordinate, b.dims({product(shape, static_cast<size_t>(d) + 1)}, true)));
  }
  return position;
}

Refs gather_elements(Call& n) {
  n.expect_inputs(2, 2);
  Ref x = n.in(0), indices = indices_of(n, 1);
  if (n.b.rank(x) != n.b.rank(indices) || n.b.rank(x) == 0)
    fail(ErrorCode::type_mismatch, "{} and {}, expected equal ranks", n.b.describe(x), n.b.describe(indices));
  int64_t axis = normalise_axis(n.integer("axis", 0), n.b.rank(x));
  Ref position = element_positions(n.b, indices, n.b.shape(x), axis);
  return {gather(n.b, reshape(n.b, x, {product(n.b.shape(x))}), position, 0)};
}

/// Row-major positions, in the axes [first, first + k) of `shape`, of index tuples [..., k].
Ref tuple_positions(Builder& b, Ref tuples, const Shape& shape, size_t first) {
  Dim last = b.shape(tuples).back();
  size_t k = static_cast<size_t>(last.value());
  if (first + k > shape.size())
    fail(ErrorCode::type_mismatch, "index tuples of {} for shape {}", last.text(), to_string(shape));
  Shape sizes(shape.begin() + static_cast<ptrdiff_t>(first), shape.begin() + static_cast<ptrdiff_t>(first + k));
  std::vector<Dim> strides;
  for (size_t i = 0; i < k; ++i) strides.push_back(product(sizes, i + 1));
  Ref position = mul(b, from_front(b, tuples, b.dims(sizes)), b.dims(strides));
  return reduce(b, Op::reduce_sum, position, {b.rank(tuples) - 1}, false);
}

Refs gather_nd(Call& n) {
  n.expect_inputs(2, 2);
  Ref x = n.in(0), tuples = indices_of(n, 1);
  int64_t batch = n.integer("batch_dims", 0);
  const Shape& shape = n.b.shape(x);
  if (n.b.rank(tuples) < 1 || batch < 0 || batch >= n.b.rank(tuples))
    fail(ErrorCode::type_mismatch, "indices {} with batch_dims {}", n.b.describe(tuples), batch);
  size_t lead = static_cast<size_t>(batch), k = static_cast<size_t>(n.b.shape(tuples).back().value());
  Ref position = tuple_positions(n.b, tuples, shape, lead);
  if (batch > 0) {
    Shape outer(shape.begin(), shape.begin() + batch);
    Ref number = mul(n.b, iota(n.b, product(outer)), n.b.dims({product(shape, lead, lead + k)}, true));
    outer.resize(static_cast<size_t>(n.b.rank(position)), Dim(1));
    position = add(n.b, position, reshape(n.b, number, outer));
  }
  Shape rows{product(shape, 0, lead + k)};
  rows.insert(rows.end(), shape.begin() + static_cast<ptrdiff_t>(lead + k), shape.end());
  return {gather(n.b, reshape(n.b, x, rows), position, 0)};
}

Refs one_hot(Call& n) {
  n.expect_inputs(3, 3);
  Builder& b = n.b;
  Ref indices = cast(b, n.in(0), DType::i64), values = n.in(2);
  auto depth = b.contents(n.in(1));
  if (!depth) n.known(1);
  if (!depth || depth->size() != 1 || ((*depth)[0].is_constant() && (*depth)[0].value() < 0))
    fail(ErrorCode::parse, "depth {}, expected one number that is not negative", b.describe(n.in(1)));
  int64_t rank = b.rank(indices) + 1, axis = normalise_axis(n.integer("axis", -1), rank);
  Ref wanted = unsqueeze(b, from_front(b, indices, b.dims({(*depth)[0]}, true)), axis);
  Ref hot = binary(b, Op::equal, wanted, along_axis(b, iota(b, (*depth)[0]), axis, rank));
  auto element = [&](int64_t i) { return reshape(b, slice(b, values, 0, i, i + 1), {}); };
  return {where(b, hot, element(1), element(0))};
}

Refs compress(Call& n) {
  n.expect_inputs(2, 2);
  Ref x = n.in(0);
  const Tensor& condition = n.known(1);
  bool flat = !n.has_attribute("axis");
  int64_t axis = n.integer("axis", 0);
  if (flat) x = reshape(n.b, x, {product(n.b.shape(x))});
  axis = normalise_axis(axis, n.b.rank(x));
  Ints chosen;
  for (int64_t i = 0; i < condition.elements(); ++i)
    if (condition.at_int(i)) chosen.push_back(i);
  return {gather(n.b, x, n.b.ints(chosen), axis)};
}

/// Positions of elements that are not zero, [rank, count]: its size depends on the values, which must be known.
Refs non_zero(Call& n) {
  const Tensor& x = n.known(0);
  std::vector<int64_t> dims = to_ints(x.shape()), strides = row_major_strides(dims), flat;
  for (int64_t i = 0; i < x.elements(); ++i)
    if (x.at_double(i) != 0) flat.push_back(i);
  Ints out;
  for (size_t d = 0; d < dims.size(); ++d)
    for (int64_t i : flat) out.push_back(i / strides[d] % dims[d]);
  return {
      n.b.constant(Tensor::from<int64_t>({static_cast<int64_t>(dims.size()), static_cast<int64_t>(flat.size())}, out))};
}

/// The first seq_lens[b] steps of each batch in reverse order, the others as they are.
Refs reverse_sequence(Call& n) {
  n.expect_inputs(2, 2);
  Builder& b = n.b;
  Ref x = n.in(0);
  int64_t time = normalise_axis(n.integer("time_axis", 0), b.rank(x)),
          batch = normalise_axis(n.integer("batch_axis", 1), b.rank(x));
  if (time == batch) fail(ErrorCode::parse, "time_axis and batch_axis are both {}", time);
  Ints perm{batch, time}, back(b.shape(x).size());
  for (int64_t d = 0; d < b.rank(x); ++d)
    if (d != time && d != batch) perm.push_back(d);
  for (size_t i = 0; i < perm.size(); ++i) back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  Ref moved = transpose(b, x, perm);
  Shape shape = b.shape(moved);
  Ref length = unsqueeze(b, indices_of(n, 1), 1), step = unsqueeze(b, iota(b, shape[1]), 0);
  Ref source = where(b, binary(b, Op::less, step, length), sub(b, sub(b, length, step), 1.0), step);
  Ref row = unsqueeze(b, mul(b, iota(b, shape[0]), b.dims({shape[1]}, true)), 1);
  Shape rows{shape[0] * shape[1]};
  rows.insert(rows.end(), shape.begin() + 2, shape.end());
  return {transpose(b, gather(b, reshape(b, moved, rows), add(b, row, source), 0), back)};
}

/// data[position[j]] = updates[j] (or combined with it), over rows: data [N, R], positions [M], updates [M, R].
Ref scatter_rows(Builder& b, Ref data, Ref positions, Ref updates, const std::string& reduction) {
  Dim slots = b.shape(data)[0], count = b.shape(positions)[0], width = b.shape(data)[1];
  const Tensor* known = b.known(positions);
  if (known && reduction == "none" && slots.is_constant()) {
    // Every slot reads from data or from the update that comes last.
    Ints source = range_of(0, slots.value());
    for (int64_t j = 0; j < known->elements(); ++j) {
      int64_t at = known->at_int(j);
      if (at < 0 || at >= slots.value())
        fail(ErrorCode::out_of_range, "index {} outside [0,{}]", at, slots.value() - 1);
      source[static_cast<size_t>(at)] = slots.value() + j;
    }
    return gather(b, concat(b, {data, updates}, 0), b.ints(source), 0);
  }
  Dim pairs = reduction == "none" ? slots * count : slots * count * width;
  if (!pairs.is_constant() || pairs.value() > kScatterPairs)
    fail(ErrorCode::unsupported, "{} slots and {} updates with indices computed at run time; supported are {} pairs",
         slots.text(), count.text(), kScatterPairs);
  Ref hit = binary(b, Op::equal, unsqueeze(b, iota(b, slots), 1), unsqueeze(b, positions, 0));  // [N, M]
  if (reduction == "none") {
    Ref none = b.constant(Tensor::scalar<int64_t>(-1));
    Ref which = where(b, hit, unsqueeze(b, iota(b, count), 0), none);
    Ref last = reduce(b, Op::reduce_max, which, {1}, false);
    Ref chosen = gather(b, updates, binary(b, Op::max, last, 0.0), 0);
    return where(b, unsqueeze(b, binary(b, Op::greater_equal, last, 0.0), 1), chosen, data);
  }
  struct Rule {
    Op whole, single;
    bool one;  // the neutral element is 1, not 0
  };
  Rule rule = reduction == "add" ? Rule{Op::reduce_sum, Op::add, false} : Rule{Op::reduce_prod, Op::mul, true};
  Ref three = unsqueeze(b, hit, 2), given = unsqueeze(b, updates, 0);  // [N, M, 1], [1, M, R]
  if (reduction == "max" || reduction == "min") {
    bool is_max = reduction == "max";
    Ref own = unsqueeze(b, data, 1);
    Ref held = where(b, three, given, own);  // [N, M, R]: slots without an update keep their own value
    Ref best = reduce(b, is_max ? Op::reduce_max : Op::reduce_min, held, {1}, false);
    return binary(b, is_max ? Op::max : Op::min, data, best);
  }
  if (reduction != "add" && reduction != "mul")
    fail(ErrorCode::parse, "reduction '{}', expected none, add, mul, max or min", reduction);
  Ref held = where(b, three, given, b.scalar(b.dtype(data), rule.one));
  return binary(b, rule.single, data, reduce(b, rule.whole, held, {1}, false));
}

Refs scatter_elements(Call& n) {
  n.expect_inputs(3, 3);
  Builder& b = n.b;
  Ref x = n.in(0), indices = indices_of(n, 1), updates = n.in(2);
  if (b.rank(x) != b.rank(indices) || b.shape(indices) != b.shape(updates) || b.rank(x) == 0)
    fail(ErrorCode::type_mismatch, "{}, indices {} and updates {}", b.describe(x), b.describe(indices),
         b.describe(updates));
  int64_t axis = normalise_axis(n.integer("axis", 0), b.rank(x));
  std::string reduction = n.text("reduction", "none");
  Dim count = product(b.shape(indices)), size = product(b.shape(x));
  if (count.is(0)) return {x};
  Ref position = reshape(b, element_positions(b, indices, b.shape(x), axis), {count});
  Ref flat = scatter_rows(b, reshape(b, x, {size, 1}), position, reshape(b, updates, {count, 1}), reduction);
  return {reshape(b, flat, b.shape(x))};
}

Refs scatter_nd(Call& n) {
  n.expect_inputs(3, 3);
  Builder& b = n.b;
  Ref x = n.in(0), tuples = indices_of(n, 1), updates = n.in(2);
  if (b.rank(tuples) < 1) fail(ErrorCode::type_mismatch, "indices {}", b.describe(tuples));
  std::string reduction = n.text("reduction", "none");
  Shape shape = b.shape(x), lead = b.shape(tuples);
  size_t k = static_cast<size_t>(lead.back().value());
  lead.pop_back();
  Dim rows = product(shape, 0, k), width = product(shape, k), count = product(lead);
  if (count.is(0)) return {x};
  Ref position = reshape(b, tuple_positions(b, tuples, shape, 0), {count});
  Ref flat = scatter_rows(b, reshape(b, x, {rows, width}), position, reshape(b, updates, {count, width}), reduction);
  return {reshape(b, flat, shape)};
}

constexpr OpRow kRows[] = {
    {"Compress", compress},
    {"Gather", gather_op},
    {"GatherElements", gather_elements},
    {"GatherND", gather_nd},
    {"NonZero", non_zero},
    {"OneHot", one_hot},
    {"ReverseSequence", reverse_sequence},
    {"Scatter", scatter_elements},
    {"ScatterElements", scatter_elements},
    {"ScatterND", scatter_nd},
};

}  // namespace

std::span<const OpRow> index_ops() { return kRows; }

}  // namespace weft::ir::onnx_import
