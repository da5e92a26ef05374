// Normalisations and losses.
#include <algorithm>
#include <cmath>

#include "ir/import/onnx/emit.hpp"
#include "ir/import/onnx/handlers.hpp"
#include "ir/support/error.hpp"

namespace weft::ir::onnx_import {
namespace {

Ref mean_of(Builder& b, Ref x, const Ints& axes) { return reduce(b, Op::reduce_mean, x, axes, true); }

/// (x - mean) / sqrt(variance + eps) over axes; the variance of the centred values, so that a large mean cancels
/// nothing.
struct Standardised {
  Ref y, mean, inverse_deviation, variance;
};
Standardised standardise(Builder& b, Ref x, const Ints& axes, double eps) {
  Ref mean = mean_of(b, x, axes), centred = binary(b, Op::sub, x, mean);
  Ref variance = mean_of(b, mul(b, centred, centred), axes);
  Ref deviation = unary(b, Op::sqrt, add(b, variance, eps));
  return {div(b, centred, deviation), mean, unary(b, Op::reciprocal, deviation), variance};
}

/// x * s + t along axis 1, with s = scale / sqrt(var + eps) and t = bias - mean * s computed on the parameters.
Ref scale_and_shift(Builder& b, Ref x, Ref scale, Ref bias, Ref mean, Ref variance, double eps, std::string_view name) {
  Ref s = div(b, scale, unary(b, Op::sqrt, add(b, variance, eps)));
  Ref t = binary(b, Op::sub, bias, mul(b, mean, s));
  bool vectors = b.rank(scale) == 1;
  auto fit = [&](Ref p) {
    return cast(b, vectors ? along_axis(b, p, 1, std::max<int64_t>(b.rank(x), 2)) : p, b.dtype(x));
  };
  if (b.rank(x) == 1) return b.add(Op::add, {mul(b, x, cast(b, s, b.dtype(x))), cast(b, t, b.dtype(x))}, {}, name);
  return b.add(Op::add, {mul(b, x, fit(s)), fit(t)}, {}, name);
}

Refs batch_norm(Call& n) {
  n.expect_inputs(5, 5);
  Builder& b = n.b;
  n.ignore({"consumed_inputs"});
  double eps = n.real("epsilon", 1e-5f), momentum = n.real("momentum", 0.9f);
  bool spatial = n.flag("spatial", true), training = n.flag("training_mode", false);
  if (n.opset < 7 && !n.flag("is_test", false) && n.wants(1))
    fail(ErrorCode::unsupported, "training mode (is_test=0 with more than one output)");
  if (n.opset >= 7 && n.opset < 14 && n.wants(1)) fail(ErrorCode::unsupported, "training mode (more than one output)");
  Ref x = n.in(0), scale = n.in(1), bias = n.in(2), mean = n.in(3), variance = n.in(4);
  if (!spatial && b.rank(scale) == 1 && b.rank(x) > 2)
    fail(ErrorCode::unsupported, "spatial=0 with parameters of rank 1");
  if (!training) return {scale_and_shift(b, x, scale, bias, mean, variance, eps, n.name())};
  Ints axes = range_of(0, b.rank(x));
  axes.erase(axes.begin() + 1);
  Standardised s = standardise(b, x, axes, eps);
  auto flat = [&](Ref r) { return cast(b, reshape(b, r, {b.shape(x)[1]}), b.dtype(mean)); };
  Ref batch_mean = flat(s.mean), batch_variance = flat(s.variance);
  auto running = [&](Ref old, Ref now) { return add(b, mul(b, old, momentum), mul(b, now, 1 - momentum)); };
  Refs out{scale_and_shift(b, x, scale, bias, batch_mean, batch_variance, eps, n.name())};
  if (n.wants(1)) out.push_back(running(mean, batch_mean));
  if (n.wants(2)) out.push_back(running(variance, batch_variance));
  return out;
}

Refs instance_norm(Call& n) {
  n.expect_inputs(3, 3);
  n.ignore({"consumed_inputs"});
  Builder& b = n.b;
  Ref x = n.in(0);
  if (b.rank(x) < 3) fail(ErrorCode::type_mismatch, "{}, expected [N, C, spatial...]", b.describe(x));
  Ref y = standardise(b, x, range_of(2, b.rank(x)), n.real("epsilon", 1e-5f)).y;
  return {add(b, mul(b, y, along_axis(b, n.in(1), 1, b.rank(x))), along_axis(b, n.in(2), 1, b.rank(x)))};
}

/// Channels in groups; scale and bias one a group (opset 18) or one a channel (opset 21).
Refs group_norm(Call& n) {
  n.expect_inputs(3, 3);
  n.ignore({"stash_type"});
  Builder& b = n.b;
  Ref x = n.in(0);
  int64_t groups = n.integer("num_groups");
  double eps = n.real("epsilon", 1e-5f);
  Shape shape = b.shape(x);
  if (shape.size() < 2 || groups < 1 || (shape[1].is_constant() && shape[1].value() % groups != 0))
    fail(ErrorCode::type_mismatch, "{} in {} groups", b.describe(x), groups);
  Ref grouped = reshape(b, x, {shape[0], groups, floor_div(product(shape, 1), Dim(groups))});
  Ref y = standardise(b, grouped, {2}, eps).y;
  if (n.opset < 21) {
    y = add(b, mul(b, y, along_axis(b, n.in(1), 1, 3)), along_axis(b, n.in(2), 1, 3));
    return {reshape(b, y, shape)};
  }
  y = reshape(b, y, shape);
  return {add(b, mul(b, y, along_axis(b, n.in(1), 1, b.rank(x))), along_axis(b, n.in(2), 1, b.rank(x)))};
}

/// Normalised over axes [axis, rank). The op computes Y alone; mean and inverse deviation need the composite.
Refs layer_norm(Call& n) {
  n.expect_inputs(2, 3);
  n.ignore({"stash_type"});
  Builder& b = n.b;
  Ref x = n.in(0), scale = n.in(1);
  int64_t axis = normalise_axis(n.integer("axis", -1), b.rank(x));
  double eps = n.real("epsilon", 1e-5f);
  if (!n.wants(1) && !n.wants(2)) {
    Ref bias = n.has(2) ? n.in(2) : full(b, b.dtype(x), 0, b.shape(scale));
    return {b.add(Op::layer_norm, {x, scale, bias}, {{"axis", axis}, {"eps", eps}}, n.name())};
  }
  Standardised s = standardise(b, x, range_of(axis, b.rank(x)), eps);
  Ref y = mul(b, s.y, scale);
  return {n.has(2) ? add(b, y, n.in(2)) : y, s.mean, s.inverse_deviation};
}

Refs rms_norm(Call& n) {
  n.expect_inputs(2, 2);
  n.ignore({"stash_type"});
  int64_t axis = normalise_axis(n.integer("axis", -1), n.b.rank(n.in(0)));
  return {n.b.add(Op::rms_norm, {n.in(0), n.in(1)}, {{"axis", axis}, {"eps", n.real("epsilon", 1e-5f)}}, n.name())};
}

/// com.microsoft: (RMS or layer) normalisation of x + skip (+ bias); the sum is the fourth output.
Refs skip_norm(Call& n) {
  bool rms = n.op_type() == "SkipSimplifiedLayerNormalization";
  Builder& b = n.b;
  double eps = n.real("epsilon", 1e-5f);
  Ref sum = add(b, n.in(0), n.in(1));
  if (Ref bias = n.optional(rms ? 3 : 4); bias.valid()) sum = add(b, sum, bias);
  int64_t axis = b.rank(sum) - 1;
  Refs operands{sum, n.in(2)};
  if (!rms) operands.push_back(n.has(3) ? n.in(3) : full(b, b.dtype(sum), 0, b.shape(n.in(2))));
  Ref y = b.add(rms ? Op::rms_norm : Op::layer_norm, operands, {{"axis", axis}, {"eps", eps}}, n.name());
  if (n.wants(1) || n.wants(2)) fail(ErrorCode::unsupported, "the outputs mean and inv_std_var");
  return {y, Ref{}, Ref{}, sum};
}

/// x / (bias + alpha / size * sum of squares over neighbouring channels)^beta.
Refs lrn(Call& n) {
  n.expect_inputs(1, 1);
  Builder& b = n.b;
  Ref x = n.in(0);
  int64_t size = n.integer("size"), rank = b.rank(x);
  double alpha = n.real("alpha", 1e-4f), beta = n.real("beta", 0.75), bias = n.real("bias", 1);
  constexpr int64_t kLargest = 1024;
  if (size < 1 || size > kLargest || rank < 2)
    fail(ErrorCode::type_mismatch, "size {} over the channels of {}", size, b.describe(x));
  Ints low(static_cast<size_t>(rank), 0), high = low;
  low[1] = (size - 1) / 2;
  high[1] = size - 1 - low[1];
  Ref squares = pad(b, mul(b, x, x), low, high), sum;
  Dim channels = b.shape(x)[1];
  for (int64_t i = 0; i < size; ++i) {
    Ref part = slice(b, squares, 1, i, channels + Dim(i));
    sum = sum.valid() ? add(b, sum, part) : part;
  }
  Ref scale = binary(b, Op::pow, add(b, mul(b, sum, alpha / static_cast<double>(size)), bias), beta);
  return {div(b, x, scale)};
}

/// x / (sum |x|^p)^(1/p) along an axis, for p of 1 or 2.
Refs lp_normalization(Call& n) {
  Builder& b = n.b;
  Ref x = n.in(0);
  int64_t axis = normalise_axis(n.integer("axis", -1), b.rank(x)), p = n.integer("p", 2);
  if (p != 1 && p != 2) fail(ErrorCode::parse, "p={}, expected 1 or 2", p);
  Ref sum = reduce(b, Op::reduce_sum, p == 1 ? unary(b, Op::abs, x) : mul(b, x, x), {axis}, true);
  return {div(b, x, p == 1 ? sum : unary(b, Op::sqrt, sum))};
}

Refs mean_variance_norm(Call& n) {
  Builder& b = n.b;
  Ref x = n.in(0);
  Ints axes = normalise_axes(n.ints("axes").value_or(Ints{0, 2, 3}), b.rank(x));
  Ref centred = binary(b, Op::sub, x, mean_of(b, x, axes));
  Ref deviation = unary(b, Op::sqrt, mean_of(b, mul(b, centred, centred), axes));
  return {div(b, centred, add(b, deviation, 1e-9))};
}

/// -log_probability[target] * weight[target], reduced; log_probability [N, C, d...], target [N, d...].
Ref likelihood_loss(Call& n, Ref log_probability, Ref target, Ref weight) {
  Builder& b = n.b;
  std::string reduction = n.text("reduction", "mean");
  bool ignores = n.has_attribute("ignore_index");
  int64_t ignored = n.integer("ignore_index", 0);
  target = cast(b, target, DType::i64);
  const Shape shape = b.shape(log_probability);
  int64_t rank = b.rank(log_probability);
  DType dtype = b.dtype(log_probability);
  Ref one_hot = binary(b, Op::equal, unsqueeze(b, target, 1), along_axis(b, iota(b, shape[1]), 1, rank));
  Ref zero = b.scalar(dtype, 0);
  Ref picked = reduce(b, Op::reduce_sum, where(b, one_hot, log_probability, zero), {1}, false);
  Ref weights = weight.valid()
                    ? reduce(b, Op::reduce_sum, where(b, one_hot, along_axis(b, weight, 1, rank), zero), {1}, false)
                    : full(b, dtype, 1, b.shape(target));
  if (ignores) {
    Ref skip = binary(b, Op::equal, target, b.constant(Tensor::scalar<int64_t>(ignored)));
    weights = where(b, skip, zero, weights);
    picked = where(b, skip, zero, picked);
  }
  Ref loss = unary(b, Op::neg, mul(b, picked, weights));
  if (reduction == "none") return loss;
  if (reduction != "mean" && reduction != "sum") fail(ErrorCode::parse, "reduction '{}'", reduction);
  Ints all = range_of(0, rank - 1);
  Ref total = reduce(b, Op::reduce_sum, loss, all, false);
  return reduction == "sum" ? total : div(b, total, reduce(b, Op::reduce_sum, weights, all, false));
}

Refs negative_log_likelihood(Call& n) {
  n.expect_inputs(2, 3);
  return {likelihood_loss(n, n.in(0), n.in(1), n.optional(2))};
}

Refs softmax_cross_entropy(Call& n) {
  n.expect_inputs(2, 3);
  Ref log_probability = n.b.add(Op::log_softmax, {n.in(0)}, {{"axis", int64_t{1}}});
  return {likelihood_loss(n, log_probability, n.in(1), n.optional(2)), log_probability};
}

constexpr OpRow kRows[] = {
    {"BatchNormalization", batch_norm},
    {"GroupNormalization", group_norm},
    {"InstanceNormalization", instance_norm},
    {"LRN", lrn},
    {"LayerNormalization", layer_norm},
    {"LpNormalization", lp_normalization},
    {"MeanVarianceNormalization", mean_variance_norm},
    {"NegativeLogLikelihoodLoss", negative_log_likelihood},
    {"RMSNormalization", rms_norm},
    {"SimplifiedLayerNormalization", rms_norm},
    {"SimplifiedLayerNormalization", rms_norm, "com.microsoft"},
    {"SkipLayerNormalization", skip_norm, "com.microsoft"},
    {"SkipSimplifiedLayerNormalization", skip_norm, "com.microsoft"},
    {"SoftmaxCrossEntropyLoss", softmax_cross_entropy},
};

}  // namespace

std::span<const OpRow> norm_ops() { return kRows; }

}  // namespace weft::ir::onnx_import
