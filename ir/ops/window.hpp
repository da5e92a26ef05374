#pragma once
// Sliding windows: what convolutions and pools have in common. Spatial axes only; kernels, strides and so on have one
// entry an axis, pads the lows and then the highs (ONNX).
#include "ir/ops/indexing.hpp"
#include "ir/ops/record.hpp"

namespace weft::ir::ops {

struct Window {
  std::vector<int64_t> strides, dilations, low, high;
};

/// The window attributes with defaults filled in for `spatial` axes; throws on wrong lengths and values.
Window window_of(const Attributes& attributes, size_t spatial);
/// Puts the filled-in lists back into the attributes. For `normalize`; spatial axes = rank of operand 0 less 2.
void normalize_window(Attributes& attributes, std::span<const TensorType> operands);

/// Checks the rank of x and gives the number of spatial axes.
size_t spatial_axes(const TensorType& x);
/// Where channels stand: axis 1 ("ncx") or the last ("nxc"); spatial axes follow from it.
bool channels_last(const Attributes& attributes);
inline size_t channel_axis(const TensorType& x, bool last) { return last ? x.rank() - 1 : 1; }
inline size_t first_spatial_axis(bool last) { return last ? 1 : 2; }

/// [N, C, spatial] or [N, spatial, C].
Shape arranged(const Dim& n, const Dim& c, const Shape& spatial, bool last);
/// The spatial dimensions of x.
Shape spatial_shape(const TensorType& x, bool last);
/// Windows along an axis: floor((in + low + high - (dilation * (kernel - 1) + 1)) / stride) + 1; with ceil_mode rounded
/// up, save windows that start in the high padding (ONNX, PyTorch).
Dim window_count(const Dim& in, const Dim& kernel, const Window& window, size_t axis, bool ceil_mode);

/// Strides in elements of a tensor of either layout.
struct SpatialStrides {
  int64_t n = 0, c = 0;
  std::vector<int64_t> spatial;
};
SpatialStrides spatial_strides(const TensorType& x, bool last);

/// Attribute specs shared by the window ops.
std::vector<AttributeSpec> window_specs(std::vector<AttributeSpec> before, std::vector<AttributeSpec> after);

}  // namespace weft::ir::ops
