// Ops that move, repeat or cut elements: Reshape, Transpose, Slice, Concat, Split, Pad, Expand, Tile...
#include <algorithm>
#include <limits>
#include <numeric>

#include "ir/import/onnx/emit.hpp"
#include "ir/import/onnx/handlers.hpp"
#include "ir/support/error.hpp"

namespace weft::ir::onnx_import {
namespace {

/// What is left of a product of dimensions: constants multiplied, symbols as a list.
struct Factors {
  int64_t constant = 1;
  std::vector<Dim> symbols;
};

Factors factors_of(const Shape& shape) {
  Factors f;
  for (const Dim& d : shape) {
    if (!d.is_constant())
      f.symbols.push_back(d);
    else if (__builtin_mul_overflow(f.constant, d.value(), &f.constant))
      fail(ErrorCode::out_of_range, "shape {} has more than 2^63 elements", to_string(shape));
  }
  return f;
}

/// all / part, with equal symbols cancelled, so that [N,C,H*W] of [N,C,H,W] finds H*W and not N*C*H*W/(N*C).
Dim quotient(const Shape& all, const Shape& part) {
  Factors top = factors_of(all), bottom = factors_of(part);
  for (const Dim& d : bottom.symbols)
    if (auto it = std::find(top.symbols.begin(), top.symbols.end(), d); it != top.symbols.end()) {
      top.symbols.erase(it);
    } else {
      return floor_div(product(all), product(part));
    }
  if (bottom.constant == 0)
    fail(ErrorCode::parse, "a dimension of -1 in {} cannot be found beside a dimension of 0", to_string(part));
  if (top.symbols.empty() && top.constant % bottom.constant != 0)
    fail(ErrorCode::type_mismatch, "{} elements cannot be divided by {} for a dimension of -1", top.constant,
         bottom.constant);
  int64_t common = std::gcd(top.constant, bottom.constant);
  if (common == 0) return 0;
  return floor_div(Dim(top.constant / common) * product(top.symbols), Dim(bottom.constant / common));
}

Shape resolve_reshape(const Shape& from, std::vector<Dim> target, bool allow_zero) {
  std::optional<size_t> unknown;
  bool has_zero = false;
  for (size_t i = 0; i < target.size(); ++i) {
    Dim& d = target[i];
    if (!d.is_constant()) continue;
    if (d.is(0) && !allow_zero) {
      if (i >= from.size())
        fail(ErrorCode::parse, "dimension 0 at index {} copies nothing: the input {} has rank {}", i, to_string(from),
             from.size());
      d = from[i];
    } else if (d.is(-1)) {
      if (unknown) fail(ErrorCode::parse, "the shape {} has two dimensions of -1", to_string(target));
      unknown = i;
    } else if (d.value() < 0) {
      fail(ErrorCode::parse, "the shape {} has the dimension {}", to_string(target), d.text());
    }
    has_zero |= d.is(0);
  }
  if (unknown && has_zero && allow_zero)
    fail(ErrorCode::parse, "the shape {} has both 0 and -1 with allowzero=1", to_string(target));
  if (unknown) {
    Shape rest = target;
    rest.erase(rest.begin() + static_cast<ptrdiff_t>(*unknown));
    target[*unknown] = quotient(from, rest);
  }
  return target;
}

Refs reshape_op(Call& n) {
  n.ignore({"consumed_inputs"});
  std::vector<Dim> target;
  if (n.opset < 5) {
    for (int64_t d : n.ints("shape").value_or(Ints{})) target.emplace_back(d);
  } else {
    n.expect_inputs(2, 2);
    target = n.known_dims(1);
  }
  return {reshape(n.b, n.in(0), resolve_reshape(n.b.shape(n.in(0)), std::move(target), n.flag("allowzero", false)))};
}

Refs flatten(Call& n) {
  const Shape& shape = n.b.shape(n.in(0));
  int64_t rank = n.b.rank(n.in(0)), axis = n.integer("axis", 1);
  if (axis < -rank || axis > rank) fail(ErrorCode::out_of_range, "axis {} outside [{},{}]", axis, -rank, rank);
  size_t at = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  return {reshape(n.b, n.in(0), {product(shape, 0, at), product(shape, at)})};
}

Refs squeeze_op(Call& n) {
  Shape shape = n.b.shape(n.in(0)), kept;
  auto axes = n.ints_of("axes", 1);
  std::vector<int64_t> gone = axes ? normalise_axes(*axes, n.b.rank(n.in(0))) : Ints{};
  for (size_t i = 0; i < shape.size(); ++i) {
    bool chosen = axes ? std::binary_search(gone.begin(), gone.end(), static_cast<int64_t>(i)) : shape[i].is(1);
    if (!chosen)
      kept.push_back(shape[i]);
    else if (shape[i].is_constant() && !shape[i].is(1))
      fail(ErrorCode::type_mismatch, "axis {} of {} has size {}, expected 1", i, n.b.describe(n.in(0)),
           shape[i].text());
  }
  return {reshape(n.b, n.in(0), std::move(kept))};
}

Refs unsqueeze_op(Call& n) {
  auto axes = n.ints_of("axes", 1);
  if (!axes) fail(ErrorCode::parse, "no axes");
  Shape shape = n.b.shape(n.in(0));
  for (int64_t axis : normalise_axes(*axes, n.b.rank(n.in(0)) + static_cast<int64_t>(axes->size())))
    shape.insert(shape.begin() + axis, Dim(1));
  return {reshape(n.b, n.in(0), std::move(shape))};
}

Refs transpose_op(Call& n) {
  n.expect_inputs(1, 1);
  int64_t rank = n.b.rank(n.in(0));
  Ints perm = n.ints("perm").value_or(Ints{});
  if (perm.empty()) {
    for (int64_t i = rank; i-- > 0;) perm.push_back(i);
  }
  if (static_cast<int64_t>(perm.size()) != rank)
    fail(ErrorCode::type_mismatch, "perm has {} axes, the input {} of them", perm.size(), rank);
  for (int64_t& axis : perm) axis = normalise_axis(axis, rank);
  normalise_axes(perm, rank);
  return {transpose(n.b, n.in(0), std::move(perm))};
}

Refs expand(Call& n) {
  n.expect_inputs(2, 2);
  std::vector<Dim> target = n.known_dims(1);
  for (const Dim& d : target)
    if (d.is_constant() && d.value() < 0)
      fail(ErrorCode::parse, "the shape {} has the dimension {}", to_string(target), d.text());
  return {broadcast_to(n.b, n.in(0), broadcast(n.b.shape(n.in(0)), target))};
}

Refs tile(Call& n) {
  Ref x = n.in(0);
  Shape shape = n.b.shape(x), spread, merged;
  std::vector<Dim> repeats(shape.size(), Dim(1));
  if (n.opset < 6) {
    std::vector<int64_t> count = n.known_ints(1), axis = n.known_ints(2);
    if (count.size() != 1 || axis.size() != 1) fail(ErrorCode::parse, "tiles and axis must be single numbers");
    repeats[static_cast<size_t>(normalise_axis(axis[0], n.b.rank(x)))] = count[0];
  } else {
    repeats = n.known_dims(1);
  }
  if (repeats.size() != shape.size())
    fail(ErrorCode::type_mismatch, "{} repeats for {}", repeats.size(), n.b.describe(x));
  Shape split;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (repeats[i].is_constant() && repeats[i].value() < 0)
      fail(ErrorCode::parse, "repeat {} of axis {}", repeats[i].text(), i);
    if (!repeats[i].is(1)) {
      split.push_back(1);
      spread.push_back(repeats[i]);
    }
    split.push_back(shape[i]);
    spread.push_back(shape[i]);
    merged.push_back(repeats[i] * shape[i]);
  }
  return {reshape(n.b, broadcast_to(n.b, reshape(n.b, x, split), spread), merged)};
}

Refs concat_op(Call& n) {
  n.expect_inputs(1, SIZE_MAX);
  int64_t axis = n.opset < 4 ? n.integer("axis", 1) : n.integer("axis");
  if (n.b.rank(n.in(0)) == 0)
    fail(ErrorCode::type_mismatch, "scalars have no axis to concatenate along: {}", n.b.describe(n.in(0)));
  return {concat(n.b, n.operands(), normalise_axis(axis, n.b.rank(n.in(0))))};
}

Refs split_op(Call& n) {
  Ref x = n.in(0);
  int64_t axis = normalise_axis(n.integer("axis", 0), n.b.rank(x));
  Dim size = n.b.shape(x)[static_cast<size_t>(axis)];
  int64_t parts = n.integer("num_outputs", static_cast<int64_t>(n.outputs()));
  if (parts < 1 || parts != static_cast<int64_t>(n.outputs()))
    fail(ErrorCode::parse, "num_outputs is {}, but the node has {} outputs", parts, n.outputs());
  Shape sizes;
  if (n.has(1)) {
    n.ints("split");
    sizes = n.known_dims(1);
  } else if (auto given = n.ints("split")) {
    sizes = to_shape(*given);
  } else {
    Dim each = ceil_div(size, Dim(parts));
    if (size.is_constant() && n.opset < 18 && size.value() % parts != 0)
      fail(ErrorCode::type_mismatch, "axis {} of size {} does not split into {} equal parts", axis, size.text(), parts);
    sizes.assign(static_cast<size_t>(parts), each);
    if (size.is_constant()) sizes.back() = size - each * Dim(parts - 1);
  }
  if (static_cast<int64_t>(sizes.size()) != parts)
    fail(ErrorCode::parse, "{} sizes for {} outputs", sizes.size(), parts);
  if (parts == 1 && sizes[0] == size) return {x};
  return n.b.add_all(Op::split, {x}, {{"axis", axis}, {"sizes", std::move(sizes)}}, n.name());
}

struct Bounds {
  Dim start, end;
};

/// Of an axis of known size: clamped as ONNX Slice says, an end of -1 is before element 0.
Bounds clamp_bounds(int64_t start, int64_t end, int64_t step, int64_t size) {
  auto from_back = [&](int64_t v) { return v < 0 ? v + size : v; };
  int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  start = std::clamp(from_back(start), int64_t{0}, std::max<int64_t>(high, 0));
  end = std::clamp(from_back(end), low, std::max(high, low));
  bool empty = size == 0 || (step > 0 ? start >= end : start <= end);
  return empty ? Bounds{0, 0} : Bounds{start, end};
}

/// Of an axis of symbolic size: constants are taken to lie inside it; ends beyond 2^31 mean "all".
Bounds symbolic_bounds(Dim start, Dim end, int64_t step, const Dim& size) {
  constexpr int64_t kAll = std::numeric_limits<int32_t>::max();
  auto resolve = [&](Dim d, bool is_end) -> Dim {
    if (!d.is_constant()) return d;
    int64_t v = d.value();
    if (v >= kAll) return step > 0 ? size : size - 1;
    if (v <= -kAll) return step > 0 ? Dim(0) : Dim(is_end ? -1 : 0);
    if (v < 0) return size + d;
    return is_end && step > 0 && !size.is_constant() ? min(d, size) : d;
  };
  return {resolve(start, false), resolve(end, true)};
}

Refs slice_op(Call& n) {
  Ref x = n.in(0);
  std::vector<Dim> starts, ends;
  std::vector<int64_t> axes = range_of(0, n.b.rank(x)), steps;
  if (n.opset < 10) {
    starts = to_shape(n.ints("starts").value_or(Ints{}));
    ends = to_shape(n.ints("ends").value_or(Ints{}));
    axes.resize(std::min(axes.size(), starts.size()));
    if (auto given = n.ints("axes")) axes = *given;
  } else {
    n.expect_inputs(3, 5);
    starts = n.known_dims(1);
    ends = n.known_dims(2);
    axes.resize(std::min(axes.size(), starts.size()));
    if (n.has(3)) axes = n.known_ints(3);
    if (n.has(4)) steps = n.known_ints(4);
  }
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    fail(ErrorCode::parse, "{} starts, {} ends, {} axes and {} steps for {}", starts.size(), ends.size(), axes.size(),
         steps.size(), n.b.describe(x));
  for (int64_t& axis : axes) axis = normalise_axis(axis, n.b.rank(x));
  normalise_axes(axes, n.b.rank(x));
  Shape all_starts(n.b.shape(x).size(), Dim(0)), all_ends = n.b.shape(x);
  Ints all_steps(all_starts.size(), 1);
  for (size_t i = 0; i < axes.size(); ++i) {
    size_t axis = static_cast<size_t>(axes[i]);
    if (steps[i] == 0) fail(ErrorCode::parse, "step 0 on axis {}", axis);
    const Dim& size = n.b.shape(x)[axis];
    bool known = size.is_constant() && starts[i].is_constant() && ends[i].is_constant();
    Bounds bounds = known ? clamp_bounds(starts[i].value(), ends[i].value(), steps[i], size.value())
                          : symbolic_bounds(starts[i], ends[i], steps[i], size);
    all_starts[axis] = bounds.start;
    all_ends[axis] = bounds.end;
    all_steps[axis] = steps[i];
  }
  return {slice(n.b, x, std::move(all_starts), std::move(all_ends), std::move(all_steps))};
}

Refs pad_op(Call& n) {
  Ref x = n.in(0), value;
  size_t rank = n.b.shape(x).size();
  std::string mode = n.text("mode", "constant");
  std::vector<int64_t> pads, axes = range_of(0, static_cast<int64_t>(rank));
  if (n.opset < 11) {
    pads = n.ints(n.opset < 2 ? "paddings" : "pads").value_or(Ints{});
    value = n.b.scalar(n.b.dtype(x), n.real("value", 0));
  } else {
    n.expect_inputs(2, 4);
    pads = n.known_ints(1);
    value = n.has(2) ? n.in(2) : n.b.scalar(n.b.dtype(x), 0);
    if (n.has(3)) axes = n.known_ints(3);
  }
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
    fail(ErrorCode::parse, "mode '{}', expected constant, reflect, edge or wrap", mode);
  if (pads.size() != 2 * axes.size())
    fail(ErrorCode::parse, "{} pads, expected {} for {}", pads.size(), 2 * axes.size(), n.b.describe(x));
  Ints low(rank, 0), high(rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    size_t axis = static_cast<size_t>(normalise_axis(axes[i], static_cast<int64_t>(rank)));
    low[axis] = pads[i];
    high[axis] = pads[i + axes.size()];
  }
  if (n.b.rank(value) > 0) value = reshape(n.b, value, {});
  return {pad(n.b, x, value, std::move(low), std::move(high), mode)};
}

/// [N, C, H, W] with C = b*b*c: the block goes into space. DCR: depth first is the block; CRD: depth first is the
/// channel.
Refs depth_to_space(Call& n) {
  Ref x = n.in(0);
  int64_t block = n.integer("blocksize");
  std::string mode = n.text("mode", "DCR");
  if (n.b.rank(x) != 4 || block < 1)
    fail(ErrorCode::type_mismatch, "{} with blocksize {}, expected rank 4", n.b.describe(x), block);
  Shape s = n.b.shape(x);
  Dim depth = floor_div(s[1], Dim(block) * Dim(block));
  bool dcr = mode != "CRD";
  Ref split = reshape(
      n.b, x, dcr ? Shape{s[0], block, block, depth, s[2], s[3]} : Shape{s[0], depth, block, block, s[2], s[3]});
  Ref moved = transpose(n.b, split, dcr ? Ints{0, 3, 4, 1, 5, 2} : Ints{0, 1, 4, 2, 5, 3});
  return {reshape(n.b, moved, {s[0], depth, s[2] * Dim(block), s[3] * Dim(block)})};
}

Refs space_to_depth(Call& n) {
  Ref x = n.in(0);
  int64_t block = n.integer("blocksize");
  if (n.b.rank(x) != 4 || block < 1)
    fail(ErrorCode::type_mismatch, "{} with blocksize {}, expected rank 4", n.b.describe(x), block);
  Shape s = n.b.shape(x);
  Dim height = floor_div(s[2], Dim(block)), width = floor_div(s[3], Dim(block));
  Ref split = reshape(n.b, x, {s[0], s[1], height, block, width, block});
  Ref moved = transpose(n.b, split, {0, 3, 5, 1, 2, 4});
  return {reshape(n.b, moved, {s[0], Dim(block) * Dim(block) * s[1], height, width})};
}

/// Crops or pads each axis about its centre.
Refs center_crop_pad(Call& n) {
  Ref x = n.in(0);
  std::vector<int64_t> axes = n.ints("axes").value_or(range_of(0, n.b.rank(x))), target = n.known_ints(1);
  if (axes.size() != target.size()) fail(ErrorCode::parse, "{} sizes for {} axes", target.size(), axes.size());
  Ints low(n.b.shape(x).size(), 0), high = low;
  for (size_t i = 0; i < axes.size(); ++i) {
    size_t axis = static_cast<size_t>(normalise_axis(axes[i], n.b.rank(x)));
    int64_t extra = target[i] - n.b.shape(x)[axis].value();
    low[axis] = extra >= 0 ? extra / 2 : -((-extra) / 2);
    high[axis] = extra - low[axis];
  }
  return {pad(n.b, x, low, high)};
}

constexpr OpRow kRows[] = {
    {"CenterCropPad", center_crop_pad},
    {"Concat", concat_op},
    {"DepthToSpace", depth_to_space},
    {"Expand", expand},
    {"Flatten", flatten},
    {"Pad", pad_op},
    {"Reshape", reshape_op},
    {"Slice", slice_op},
    {"SpaceToDepth", space_to_depth},
    {"Split", split_op},
    {"Squeeze", squeeze_op},
    {"Tile", tile},
    {"Transpose", transpose_op},
    {"Unsqueeze", unsqueeze_op},
};

}  // namespace

std::span<const OpRow> movement_ops() { return kRows; }

}  // namespace weft::ir::onnx_import
