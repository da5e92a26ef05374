#pragma once
// Rows of sliding-window ops on channels-last images, vectorised over channels (Highway, chosen at run time).
#include <cstdint>

namespace weft::backends::tbb {

/// Outputs [begin, end) of output row `row` of one image x [height, width, channels], f32.
struct WindowRow {
  const float* x = nullptr;
  const float* weights = nullptr;  ///< depthwise: [kernel_h * kernel_w][channels]
  float* out = nullptr;            ///< [end - begin][channels]
  int64_t height = 1, width = 1, channels = 1;
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t low_h = 0, low_w = 0, high_h = 0, high_w = 0;
  bool count_padding = false;  ///< avg: padding counts as elements (zeros)
  int64_t row = 0, begin = 0, end = 0;
  float* line = nullptr;                 ///< planes: scratch of line_floats() elements
  const float* column_counts = nullptr;  ///< planes, avg: elements of each output's window along the width

  /// Scratch for `count` outputs of a plane.
  int64_t line_floats(int64_t count) const { return (count + 1) * stride_w + (kernel_w - 1) * dilation_w + 64; }

  /// Taps of an axis that fall inside [0, size): [first, last).
  static void inside(int64_t position, int64_t dilation, int64_t kernel, int64_t size, int64_t& first, int64_t& last) {
    first = 0;
    while (first < kernel && position + first * dilation < 0) ++first;
    last = kernel;
    while (last > first && position + (last - 1) * dilation >= size) --last;
  }
};

struct WindowFunctions {
  void (*depthwise)(const WindowRow& row);  ///< sum of x * weights, taps in row-major order, fused multiply-add
  void (*max)(const WindowRow& row);        ///< NaN propagates; an empty window gives -inf
  void (*average)(const WindowRow& row);    ///< sum / count
  void (*max_plane)(const WindowRow& row);  ///< the same of one channel
  void (*average_plane)(const WindowRow& row);
};
const WindowFunctions& window_functions();

}  // namespace weft::backends::tbb
