#include "ir/ops/window.hpp"

namespace weft::ir::ops {
namespace {

constexpr int64_t kLargest = int64_t{1} << 31;  // of a stride, dilation or pad: keeps all index arithmetic in range

std::vector<int64_t> entries(const Attributes& attributes, std::string_view name, size_t count, int64_t lowest) {
  const std::vector<int64_t>& given = attributes.ints(name);
  if (given.empty()) return std::vector<int64_t>(count, lowest);
  check_length(given.size(), count, name);
  for (int64_t value : given)
    if (value < lowest || value > kLargest)
      fail(ErrorCode::invalid_argument, "attribute '{}' has the entry {}, expected {} to {}", name, value, lowest,
           kLargest);
  return given;
}

}  // namespace

Window window_of(const Attributes& attributes, size_t spatial) {
  std::vector<int64_t> pads = entries(attributes, "pads", 2 * spatial, 0);
  auto middle = pads.begin() + static_cast<std::ptrdiff_t>(spatial);
  return {entries(attributes, "strides", spatial, 1),
          entries(attributes, "dilations", spatial, 1),
          {pads.begin(), middle},
          {middle, pads.end()}};
}

void normalize_window(Attributes& attributes, std::span<const TensorType> operands) {
  Window window = window_of(attributes, spatial_axes(operands[0]));
  std::vector<int64_t> pads = window.low;
  pads.insert(pads.end(), window.high.begin(), window.high.end());
  attributes.set("strides", window.strides).set("dilations", window.dilations).set("pads", pads);
}

size_t spatial_axes(const TensorType& x) {
  if (x.rank() < 3)
    fail(ErrorCode::type_mismatch, "x is {}, expected a batch, channels and at least one spatial axis", to_string(x));
  return x.rank() - 2;
}

bool channels_last(const Attributes& attributes) { return attributes.text("layout") == "nxc"; }

Shape arranged(const Dim& n, const Dim& c, const Shape& spatial, bool last) {
  Shape out{n};
  if (!last) out.push_back(c);
  out.insert(out.end(), spatial.begin(), spatial.end());
  if (last) out.push_back(c);
  return out;
}

Shape spatial_shape(const TensorType& x, bool last) {
  auto first = x.shape.begin() + static_cast<std::ptrdiff_t>(first_spatial_axis(last));
  return {first, first + static_cast<std::ptrdiff_t>(x.rank() - 2)};
}

Dim window_count(const Dim& in, const Dim& kernel, const Window& window, size_t axis, bool ceil_mode) {
  Dim low = window.low[axis], high = window.high[axis], stride = window.strides[axis];
  Dim reach = Dim(window.dilations[axis]) * (kernel - 1) + 1, room = in + low + high - reach;
  if (kernel.is_constant() && kernel.value() < 1)
    fail(ErrorCode::type_mismatch, "kernel of size {} along spatial axis {}", kernel.text(), axis);
  if (room.is_constant() && room.value() < 0)
    fail(ErrorCode::type_mismatch, "window of {} elements is larger than spatial axis {}: {} with pads {} and {}",
         reach.text(), axis, in.text(), low.text(), high.text());
  if (!ceil_mode) return floor_div(room, stride) + 1;
  return min(ceil_div(room, stride), floor_div(in + low - 1, stride)) + 1;
}

SpatialStrides spatial_strides(const TensorType& x, bool last) {
  std::vector<int64_t> all = row_major_strides(to_ints(x.shape));
  auto first = all.begin() + static_cast<std::ptrdiff_t>(first_spatial_axis(last));
  return {all[0], all[channel_axis(x, last)], {first, first + static_cast<std::ptrdiff_t>(all.size() - 2)}};
}

std::vector<AttributeSpec> window_specs(std::vector<AttributeSpec> before, std::vector<AttributeSpec> after) {
  for (std::string_view name : {"strides", "pads", "dilations"}) before.push_back(ints_or_default(name));
  before.insert(before.end(), after.begin(), after.end());
  before.push_back(text("layout", "ncx", {"ncx", "nxc"}));
  return before;
}

}  // namespace weft::ir::ops
