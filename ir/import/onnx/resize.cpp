// Resize and its older form Upsample.
#include <algorithm>
#include <cmath>

#include "ir/import/onnx/emit.hpp"
#include "ir/import/onnx/handlers.hpp"
#include "ir/support/error.hpp"

namespace weft::ir::onnx_import {
namespace {

struct Target {
  Shape shape;
  std::vector<double> scales;
};

/// out / in where both are symbolic and one a multiple of the other: found by trying two values for every symbol.
double symbolic_ratio(const Dim& in, const Dim& out) {
  if (in == out) return 1;
  auto at = [&](int64_t value) {
    DimBindings bindings;
    for (const Dim& d : {in, out})
      for (const std::string& s : d.symbols()) bindings[s] = value;
    return static_cast<double>(out.substitute(bindings).value()) / static_cast<double>(in.substitute(bindings).value());
  };
  double first = at(5040), second = at(10080);
  if (!(first > 0) || first != second || !std::isfinite(first))
    fail(ErrorCode::unsupported, "size {} from {} is not a fixed scale; bind these dimensions to numbers", out.text(),
         in.text());
  return first;
}

/// floor(size * scale) of a symbolic size: the scale as a fraction of small numbers.
Dim scaled(const Dim& size, double scale) {
  if (size.is_constant()) {
    double out = std::floor(static_cast<double>(size.value()) * scale);
    if (!(out >= 0 && out < 0x1p40)) fail(ErrorCode::out_of_range, "size {} scaled by {}", size.text(), scale);
    return static_cast<int64_t>(out);
  }
  for (int64_t bottom = 1; bottom <= 64; ++bottom) {
    double top = scale * static_cast<double>(bottom);
    if (top == std::floor(top) && top < 0x1p31) return floor_div(size * Dim(static_cast<int64_t>(top)), bottom);
  }
  fail(ErrorCode::unsupported, "scale {} of the dimension {}, which is not a number yet; bind it", scale, size.text());
}

Target from_scales(Call& n, const Shape& x, const std::vector<int64_t>& axes, const std::vector<double>& given) {
  Target t{x, std::vector<double>(x.size(), 1)};
  if (given.size() != axes.size())
    fail(ErrorCode::parse, "{} scales for {} axes of {}", given.size(), axes.size(), n.b.describe(n.in(0)));
  for (size_t i = 0; i < axes.size(); ++i) {
    size_t axis = static_cast<size_t>(axes[i]);
    if (!(given[i] > 0) || !std::isfinite(given[i]))
      fail(ErrorCode::parse, "scale {} of axis {}, expected a positive number", given[i], axis);
    t.scales[axis] = given[i];
    t.shape[axis] = given[i] == 1 ? x[axis] : scaled(x[axis], given[i]);
  }
  return t;
}

Target from_sizes(Call& n, const Shape& x, const std::vector<int64_t>& axes, const std::vector<Dim>& sizes,
                  const std::string& policy) {
  Target t{x, std::vector<double>(x.size(), 1)};
  if (sizes.size() != axes.size())
    fail(ErrorCode::parse, "{} sizes for {} axes of {}", sizes.size(), axes.size(), n.b.describe(n.in(0)));
  for (size_t i = 0; i < axes.size(); ++i) {
    size_t axis = static_cast<size_t>(axes[i]);
    t.shape[axis] = sizes[i];
    if (x[axis].is(0) || (sizes[i].is_constant() && sizes[i].value() < 0))
      fail(ErrorCode::type_mismatch, "axis {} of size {} cannot become {}", axis, x[axis].text(), sizes[i].text());
    t.scales[axis] = symbolic_ratio(x[axis], sizes[i]);
  }
  if (policy == "stretch") return t;
  if (policy != "not_larger" && policy != "not_smaller")
    fail(ErrorCode::parse, "keep_aspect_ratio_policy '{}'", policy);
  double scale = t.scales[static_cast<size_t>(axes[0])];
  for (int64_t axis : axes) {
    double s = t.scales[static_cast<size_t>(axis)];
    scale = policy == "not_larger" ? std::min(scale, s) : std::max(scale, s);
  }
  for (int64_t axis : axes) {
    size_t at = static_cast<size_t>(axis);
    t.scales[at] = scale;
    t.shape[at] = static_cast<int64_t>(std::floor(static_cast<double>(x[at].value()) * scale + 0.5));
  }
  return t;
}

Refs emit(Call& n, const Target& t, Attributes attributes) {
  if (t.shape == n.b.shape(n.in(0)) && std::all_of(t.scales.begin(), t.scales.end(), [](double s) { return s == 1; }))
    return {n.in(0)};
  attributes.set("shape", t.shape).set("scales", t.scales);
  return {n.b.add(Op::resize, {n.in(0)}, attributes, n.name())};
}

/// Opset 10 and Upsample: position = index / scale, rounded down.
Attributes old_attributes(Call& n) {
  std::string mode = n.text("mode", "nearest");
  if (mode == "bilinear") mode = "linear";  // Upsample 1
  if (mode != "nearest" && mode != "linear") fail(ErrorCode::unsupported, "mode '{}'", mode);
  return {{"mode", mode}, {"coordinate", std::string("asymmetric")}, {"nearest", std::string("floor")}};
}

Refs upsample(Call& n) {
  const Shape& x = n.b.shape(n.in(0));
  std::vector<int64_t> axes = range_of(0, n.b.rank(n.in(0)));
  std::vector<double> scales;
  if (n.opset < 7) {
    scales.assign(x.size(), 1);
    if (x.size() != 4) fail(ErrorCode::type_mismatch, "{}, expected rank 4", n.b.describe(n.in(0)));
    scales[2] = n.real("height_scale", 1);
    scales[3] = n.real("width_scale", 1);
  } else if (n.opset < 9) {
    for (float s : n.reals("scales").value_or(std::vector<float>{})) scales.push_back(s);
  } else {
    n.expect_inputs(2, 2);
    scales = n.known_reals(1);
  }
  return emit(n, from_scales(n, x, axes, scales), old_attributes(n));
}

Attributes new_attributes(Call& n) {
  std::string mode = n.text("mode", "nearest"), coordinate = n.text("coordinate_transformation_mode", "half_pixel");
  if (coordinate == "tf_crop_and_resize")
    fail(ErrorCode::unsupported, "coordinate_transformation_mode 'tf_crop_and_resize'");
  n.ignore({"extrapolation_value"});  // of tf_crop_and_resize
  return {{"mode", mode},
          {"coordinate", coordinate},
          {"nearest", n.text("nearest_mode", "round_prefer_floor")},
          {"cubic_coeff_a", n.real("cubic_coeff_a", -0.75)},
          {"exclude_outside", n.flag("exclude_outside", false)}};
}

Refs resize(Call& n) {
  Shape x = n.b.shape(n.in(0));
  std::vector<int64_t> axes = range_of(0, n.b.rank(n.in(0)));
  if (n.opset < 11) return emit(n, from_scales(n, x, axes, n.known_reals(1)), old_attributes(n));
  n.expect_inputs(1, 4);
  Attributes attributes = new_attributes(n);
  if (auto given = n.ints("axes")) {
    normalise_axes(*given, n.b.rank(n.in(0)));
    axes = *given;
    for (int64_t& axis : axes) axis = normalise_axis(axis, n.b.rank(n.in(0)));
  }
  std::string policy = n.text("keep_aspect_ratio_policy", "stretch");
  bool antialias = n.flag("antialias", false);
  // An empty tensor stands for an absent input.
  auto is_given = [&](size_t i) { return n.has(i) && !product(n.b.shape(n.in(i))).is(0); };
  bool by_scale = is_given(2), by_size = is_given(3);
  if (by_scale == by_size)
    fail(ErrorCode::parse, "{}, expected one of them", by_scale ? "both scales and sizes" : "neither scales nor sizes");
  Target t = by_scale ? from_scales(n, x, axes, n.known_reals(2)) : from_sizes(n, x, axes, n.known_dims(3), policy);
  bool shrinks = std::any_of(t.scales.begin(), t.scales.end(), [](double s) { return s < 1; });
  if (antialias && shrinks && attributes.text("mode") != "nearest")
    fail(ErrorCode::unsupported, "antialias=1 while shrinking");
  return emit(n, t, std::move(attributes));
}

constexpr OpRow kRows[] = {
    {"Resize", resize},
    {"Upsample", upsample},
};

}  // namespace

std::span<const OpRow> resize_ops() { return kRows; }

}  // namespace weft::ir::onnx_import
