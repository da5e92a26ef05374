// Sliding windows: convolutions and pools.
#include <algorithm>
#include <cmath>

#include "ir/import/onnx/emit.hpp"
#include "ir/import/onnx/handlers.hpp"
#include "ir/support/error.hpp"

namespace weft::ir::onnx_import {
namespace {

struct WindowAttributes {
  Ints kernel, strides, dilations, pads;  // pads: all low ones, then all high ones
};

Ints entries(Call& n, std::string_view name, size_t count, int64_t fallback) {
  Ints values = n.ints(name).value_or(Ints(count, fallback));
  if (values.empty()) values.assign(count, fallback);
  if (values.size() != count) fail(ErrorCode::parse, "{} has {} entries, expected {}", name, values.size(), count);
  return values;
}

size_t spatial_axes(Call& n, Ref x) {
  if (n.b.rank(x) < 3) fail(ErrorCode::type_mismatch, "{}, expected [N, C, spatial...]", n.b.describe(x));
  return n.b.shape(x).size() - 2;
}

/// auto_pad: SAME_* pads so that the result has ceil(size / stride) elements, the odd one behind (UPPER) or before
/// (LOWER).
void apply_auto_pad(const std::string& mode, const Shape& x, WindowAttributes& w) {
  size_t axes = w.kernel.size();
  if (mode == "NOTSET" || mode.empty()) return;
  w.pads.assign(2 * axes, 0);
  if (mode == "VALID") return;
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER") fail(ErrorCode::parse, "auto_pad '{}'", mode);
  for (size_t i = 0; i < axes; ++i) {
    int64_t reach = w.dilations[i] * (w.kernel[i] - 1) + 1, total = reach - 1;
    if (w.strides[i] < 1) fail(ErrorCode::parse, "stride {}", w.strides[i]);
    if (w.strides[i] != 1) {
      const Dim& size = x[2 + i];
      if (!size.is_constant())
        fail(ErrorCode::unsupported, "auto_pad {} with stride {} on an axis of unknown size; bind the dimension {}",
             mode, w.strides[i], size.text());
      int64_t out = (size.value() + w.strides[i] - 1) / w.strides[i];
      total = std::max<int64_t>(0, (out - 1) * w.strides[i] + reach - size.value());
    }
    int64_t low = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    w.pads[i] = low;
    w.pads[axes + i] = total - low;
  }
}

WindowAttributes read_window(Call& n, Ref x, std::optional<Ints> kernel) {
  size_t axes = spatial_axes(n, x);
  WindowAttributes w;
  auto given = n.ints("kernel_shape");
  if (!given && !kernel) fail(ErrorCode::parse, "attribute 'kernel_shape' is missing");
  if (given && kernel && *given != *kernel)
    fail(ErrorCode::type_mismatch, "kernel_shape {} but the weights have {}", to_string(to_shape(*given)),
         to_string(to_shape(*kernel)));
  w.kernel = given ? *given : *kernel;
  if (w.kernel.size() != axes)
    fail(ErrorCode::type_mismatch, "kernel_shape of {} entries for {}", w.kernel.size(), n.b.describe(x));
  w.strides = entries(n, "strides", axes, 1);
  w.dilations = entries(n, "dilations", axes, 1);
  w.pads = entries(n, "pads", 2 * axes, 0);
  apply_auto_pad(n.text("auto_pad", "NOTSET"), n.b.shape(x), w);
  return w;
}

/// Padding that the window ops of the IR do not take (negative: cropping) is done before.
Ref crop_negative_pads(Call& n, Ref x, WindowAttributes& w) {
  size_t axes = w.kernel.size();
  Ints low(axes + 2, 0), high(axes + 2, 0);
  for (size_t i = 0; i < axes; ++i) {
    low[i + 2] = std::min<int64_t>(0, w.pads[i]);
    high[i + 2] = std::min<int64_t>(0, w.pads[axes + i]);
  }
  for (int64_t& p : w.pads) p = std::max<int64_t>(p, 0);
  return pad(n.b, x, low, high);
}

Ints kernel_of(Call& n, Ref w) {
  if (n.b.rank(w) < 3) fail(ErrorCode::type_mismatch, "weights {}, expected [out, in, spatial...]", n.b.describe(w));
  const Shape& shape = n.b.shape(w);
  return to_ints(Shape(shape.begin() + 2, shape.end()));
}

Ref with_bias(Call& n, Ref y, size_t input) {
  if (!n.has(input)) return y;
  return n.b.add(Op::add, {y, along_axis(n.b, n.in(input), 1, n.b.rank(y))}, {}, n.name());
}

Refs conv(Call& n) {
  n.expect_inputs(2, 3);
  Ref x = n.in(0), weights = n.in(1);
  WindowAttributes w = read_window(n, x, kernel_of(n, weights));
  int64_t groups = n.integer("group", 1);
  x = crop_negative_pads(n, x, w);
  Ref y = n.b.add(Op::conv, {x, weights},
                  {{"strides", w.strides}, {"pads", w.pads}, {"dilations", w.dilations}, {"groups", groups}},
                  n.has(2) ? "" : n.name());
  return {with_bias(n, y, 2)};
}

/// Pads that give `output_shape`, or with SAME_* a result of size * stride. Where the result is larger than the windows
/// reach, zeros follow.
void transpose_pads(Call& n, Ref x, WindowAttributes& w, Ints& extra) {
  size_t axes = w.kernel.size();
  std::string mode = n.text("auto_pad", "NOTSET");
  auto wanted = n.ints("output_shape");
  if (wanted && wanted->size() == axes + 2) wanted->erase(wanted->begin(), wanted->begin() + 2);
  if (wanted && wanted->size() != axes)
    fail(ErrorCode::parse, "output_shape has {} entries, expected {}", wanted->size(), axes);
  bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (mode == "VALID") w.pads.assign(2 * axes, 0);
  if (!wanted && !same) return;
  for (size_t i = 0; i < axes; ++i) {
    int64_t reach = w.dilations[i] * (w.kernel[i] - 1) + 1, total = reach - w.strides[i] + extra[i];
    if (wanted) total = w.strides[i] * (n.b.shape(x)[2 + i].value() - 1) + extra[i] + reach - (*wanted)[i];
    if (total < 0) {
      extra[i] -= total;
      total = 0;
    }
    int64_t half = total / 2;
    w.pads[i] = mode == "SAME_UPPER" ? half : total - half;
    w.pads[axes + i] = total - w.pads[i];
  }
}

Refs conv_transpose(Call& n) {
  n.expect_inputs(2, 3);
  Ref x = n.in(0), weights = n.in(1);
  size_t axes = spatial_axes(n, x);
  Ints kernel = kernel_of(n, weights), extra = entries(n, "output_padding", axes, 0);
  WindowAttributes w;
  w.kernel = n.ints("kernel_shape").value_or(kernel);
  if (w.kernel != kernel)
    fail(ErrorCode::type_mismatch, "kernel_shape {} but the weights have {}", to_string(to_shape(w.kernel)),
         to_string(to_shape(kernel)));
  w.strides = entries(n, "strides", axes, 1);
  w.dilations = entries(n, "dilations", axes, 1);
  w.pads = entries(n, "pads", 2 * axes, 0);
  int64_t groups = n.integer("group", 1);
  transpose_pads(n, x, w, extra);
  Ints low(axes + 2, 0), high(axes + 2, 0), inside(axes);
  for (size_t i = 0; i < axes; ++i) {
    // The op takes padding behind the result below the stride; what is more is zeros.
    inside[i] = std::clamp<int64_t>(extra[i], 0, std::max<int64_t>(0, std::max(w.strides[i], w.dilations[i]) - 1));
    high[i + 2] = extra[i] - inside[i];
  }
  Ref y = n.b.add(Op::conv_transpose, {x, weights},
                  {{"strides", w.strides},
                   {"pads", w.pads},
                   {"dilations", w.dilations},
                   {"output_padding", inside},
                   {"groups", groups}});
  return {with_bias(n, pad(n.b, y, low, high), 2)};
}

Refs max_pool(Call& n) {
  n.expect_inputs(1, 1);
  n.ignore({"storage_order"});  // of the indices, which are not computed
  if (n.wants(1)) fail(ErrorCode::unsupported, "the second output (indices)");
  Ref x = n.in(0);
  WindowAttributes w = read_window(n, x, {});
  return {n.b.add(Op::max_pool, {x},
                  {{"kernel", w.kernel},
                   {"strides", w.strides},
                   {"pads", w.pads},
                   {"dilations", w.dilations},
                   {"ceil_mode", n.flag("ceil_mode", false)}},
                  n.name())};
}

Attributes average_attributes(Call& n, const WindowAttributes& w, bool count_padding) {
  return {{"kernel", w.kernel},
          {"strides", w.strides},
          {"pads", w.pads},
          {"dilations", w.dilations},
          {"ceil_mode", n.flag("ceil_mode", false)},
          {"count_include_pad", count_padding}};
}

Refs average_pool(Call& n) {
  n.expect_inputs(1, 1);
  Ref x = n.in(0);
  WindowAttributes w = read_window(n, x, {});
  return {n.b.add(Op::avg_pool, {x}, average_attributes(n, w, n.flag("count_include_pad", false)), n.name())};
}

Ref root(Builder& b, Ref x, double p) {
  if (p == 1) return x;
  return p == 2 ? unary(b, Op::sqrt, x) : binary(b, Op::pow, x, 1 / p);
}

Ref powered(Builder& b, Ref x, double p) {
  if (p == 2) return mul(b, x, x);
  Ref size = unary(b, Op::abs, x);
  return p == 1 ? size : binary(b, Op::pow, size, p);
}

double norm_of(Call& n) {
  if (n.opset < 2) return n.real("p", 2);
  return static_cast<double>(n.integer("p", 2));
}

/// (sum |x|^p)^(1/p) of each window: padding is zeros, so the sum is the mean over the whole window times its size.
Refs lp_pool(Call& n) {
  n.expect_inputs(1, 1);
  Ref x = n.in(0);
  double p = norm_of(n), size = 1;
  WindowAttributes w = read_window(n, x, {});
  for (int64_t k : w.kernel) size *= static_cast<double>(k);
  if (n.has_attribute("ceil_mode") && n.flag("ceil_mode", false)) fail(ErrorCode::unsupported, "ceil_mode=1");
  Ref mean = n.b.add(Op::avg_pool, {powered(n.b, x, p)}, average_attributes(n, w, true));
  return {root(n.b, mul(n.b, mean, size), p)};
}

Refs global_lp_pool(Call& n) {
  double p = norm_of(n);
  Ref x = n.in(0);
  return {root(n.b, reduce(n.b, Op::reduce_sum, powered(n.b, x, p), range_of(2, n.b.rank(x)), true), p)};
}

template <Op op>
Refs global_pool(Call& n) {
  n.expect_inputs(1, 1);
  Ref x = n.in(0);
  spatial_axes(n, x);
  return {n.b.add(op, {x}, {{"axes", range_of(2, n.b.rank(x))}, {"keepdims", true}}, n.name())};
}

constexpr OpRow kRows[] = {
    {"AveragePool", average_pool},
    {"Conv", conv},
    {"ConvTranspose", conv_transpose},
    {"GlobalAveragePool", global_pool<Op::reduce_mean>},
    {"GlobalLpPool", global_lp_pool},
    {"GlobalMaxPool", global_pool<Op::reduce_max>},
    {"LpPool", lp_pool},
    {"MaxPool", max_pool},
};

}  // namespace

std::span<const OpRow> window_ops() { return kRows; }

}  // namespace weft::ir::onnx_import
