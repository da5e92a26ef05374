#pragma once
// Which of oneDNN's implementations runs a convolution, on which tiles, and what it costs on one thread.
#include <string>

#include "backends/onednn/conv_split.hpp"

namespace weft::backends::onednn {

struct ConvChoice {
  std::string implementation;    ///< "jit_1x1:avx2"; empty where oneDNN has none
  bool blocked = false;          ///< through tiles in blocks of 8 channels
  bool pad_in_tile = false;      ///< the source tile holds the zeros of the padding
  bool im2col = false;           ///< its code mistakes tensors in binary post-ops (2.6.3)
  bool residual_as_sum = false;  ///< the residual is copied to the result and summed, never a binary post-op
  double nanoseconds = 0;        ///< on one thread, without launch
};

/// The cheapest way; remembers what oneDNN has for a shape.
ConvChoice choose_conv(const ConvForm& form);

/// Descriptors of the primitive of one item. `source` is the tile with its padding where the choice says so.
ConvDesc describe_conv(const ConvForm& form, const ConvItem& shape, const ConvChoice& choice, bool bias);
/// A tile [images, channels, rows, further spatial axes of `view`] channels last or blocked; one spatial axis becomes a
/// line of a picture.
Desc tile_desc(const View& view, int64_t images, int64_t rows, int64_t channels, const ConvChoice& choice);

}  // namespace weft::backends::onednn
