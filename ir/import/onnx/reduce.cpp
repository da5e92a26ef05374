// Reductions along axes.
#include <algorithm>

#include "ir/import/onnx/emit.hpp"
#include "ir/import/onnx/handlers.hpp"
#include "ir/support/error.hpp"

namespace weft::ir::onnx_import {
namespace {

struct Reduced {
  Ref x;
  Ints axes;
  bool keepdims;
  bool nothing;  ///< no axes and noop_with_empty_axes: x unchanged
};

/// Axes as attribute (before opset 18, or 13 of ReduceSum) or input; none means all, or nothing where the node says so.
Reduced read_reduction(Call& n) {
  n.expect_inputs(1, 2);
  Reduced r{n.in(0), {}, n.flag("keepdims", true), false};
  auto axes = n.ints_of("axes", 1);
  bool noop = n.flag("noop_with_empty_axes", false);
  if (axes && !axes->empty())
    r.axes = normalise_axes(*axes, n.b.rank(r.x));
  else if (noop)
    r.nothing = true;
  else
    r.axes = range_of(0, n.b.rank(r.x));
  return r;
}

Ref reduce(Call& n, Op op, const Reduced& r) {
  if (r.nothing) return r.x;
  return n.b.add(op, {r.x}, {{"axes", r.axes}, {"keepdims", r.keepdims}}, n.name());
}

template <Op op>
Refs plain(Call& n) {
  Reduced r = read_reduction(n);
  bool of_bools = n.b.dtype(r.x) == DType::boolean;  // ReduceMax/Min of opset 20
  if (of_bools) r.x = cast(n.b, r.x, DType::u8);
  Ref y = reduce(n, op, r);
  return {of_bools ? cast(n.b, y, DType::boolean) : y};
}

Refs l1(Call& n) {
  Reduced r = read_reduction(n);
  r.x = unary(n.b, Op::abs, r.x);
  return {reduce(n, Op::reduce_sum, r)};
}

Refs sum_square(Call& n) {
  Reduced r = read_reduction(n);
  r.x = mul(n.b, r.x, r.x);
  return {reduce(n, Op::reduce_sum, r)};
}

Refs l2(Call& n) {
  Ref sum = sum_square(n)[0];
  if (is_float(n.b.dtype(sum))) return {unary(n.b, Op::sqrt, sum)};
  return {cast(n.b, unary(n.b, Op::sqrt, cast(n.b, sum, DType::f64)), n.b.dtype(sum))};
}

Ref logarithm(Builder& b, Ref x) {
  if (is_float(b.dtype(x))) return unary(b, Op::log, x);
  return cast(b, unary(b, Op::log, cast(b, x, DType::f64)), b.dtype(x));
}

Refs log_sum(Call& n) { return {logarithm(n.b, reduce(n, Op::reduce_sum, read_reduction(n)))}; }

/// max + log(sum(exp(x - max))), with the maximum taken as 0 where it is infinite so that no inf - inf arises.
Refs log_sum_exp(Call& n) {
  Reduced r = read_reduction(n);
  Builder& b = n.b;
  if (r.nothing) return {r.x};
  DType dtype = b.dtype(r.x);
  if (!is_float(dtype)) r.x = cast(b, r.x, DType::f64);
  Ref top = reduce(b, Op::reduce_max, r.x, r.axes, true);
  top = where(b, unary(b, Op::is_inf, top), b.scalar(b.dtype(top), 0), top);
  Ref sum = reduce(b, Op::reduce_sum, unary(b, Op::exp, binary(b, Op::sub, r.x, top)), r.axes, true);
  Ref y = add(b, unary(b, Op::log, sum), top);
  if (!r.keepdims) {
    Shape shape;
    for (int64_t d = 0; d < b.rank(r.x); ++d)
      if (!std::binary_search(r.axes.begin(), r.axes.end(), d)) shape.push_back(b.shape(y)[static_cast<size_t>(d)]);
    y = reshape(b, y, shape);
  }
  return {cast(b, y, dtype)};
}

template <Op op>
Refs arg(Call& n) {
  n.expect_inputs(1, 1);
  int64_t axis = normalise_axis(n.integer("axis", 0), n.b.rank(n.in(0)));
  return {n.b.add(
      op, {n.in(0)},
      {{"axis", axis}, {"keepdims", n.flag("keepdims", true)}, {"select_last", n.flag("select_last_index", false)}},
      n.name())};
}

Refs cumulative_sum(Call& n) {
  n.expect_inputs(2, 2);
  std::vector<int64_t> axis = n.known_ints(1);
  if (axis.size() != 1) fail(ErrorCode::parse, "{} axes, expected one", axis.size());
  return {n.b.add(Op::cumsum, {n.in(0)},
                  {{"axis", normalise_axis(axis[0], n.b.rank(n.in(0)))},
                   {"exclusive", n.flag("exclusive", false)},
                   {"reverse", n.flag("reverse", false)}},
                  n.name())};
}

constexpr OpRow kRows[] = {
    {"ArgMax", arg<Op::argmax>},
    {"ArgMin", arg<Op::argmin>},
    {"CumSum", cumulative_sum},
    {"ReduceL1", l1},
    {"ReduceL2", l2},
    {"ReduceLogSum", log_sum},
    {"ReduceLogSumExp", log_sum_exp},
    {"ReduceMax", plain<Op::reduce_max>},
    {"ReduceMean", plain<Op::reduce_mean>},
    {"ReduceMin", plain<Op::reduce_min>},
    {"ReduceProd", plain<Op::reduce_prod>},
    {"ReduceSum", plain<Op::reduce_sum>},
    {"ReduceSumSquare", sum_square},
};

}  // namespace

std::span<const OpRow> reduce_ops() { return kRows; }

}  // namespace weft::ir::onnx_import
