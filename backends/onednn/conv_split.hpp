#pragma once
// How a convolution is cut into parts: images, output rows (with their halo of input rows) or output channels.
#include <vector>

#include "backends/onednn/form.hpp"

namespace weft::backends::onednn {

/// One primitive's share. Rows are along the first spatial axis; input rows and pads are what its output rows need.
struct ConvItem {
  int64_t image = 0, images = 1;
  int64_t row = 0, rows = 0;
  int64_t input_row = 0, input_rows = 0, pad_begin = 0, pad_end = 0;
  int64_t channel = 0, channels = 0;
  int part = 0;
};

struct ConvSplit {
  int parts = 1;
  double balance = 1;  ///< work of an average part over that of the largest
  std::vector<ConvItem> items;
};

/// Pixels of 1x1 convolutions become one run where memory allows; the first channel-wise parameter of an add stays a
/// step.
void simplify(ConvForm& form);
/// All of it as one part.
ConvItem whole(const ConvForm& form);
double conv_flops(const ConvForm& form);
/// At most `threads` parts, each worth at least 20 us by `nanoseconds`, the time on one thread.
ConvSplit split_conv(const ConvForm& form, int threads, double nanoseconds);

}  // namespace weft::backends::onednn
