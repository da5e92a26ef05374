#pragma once
// The loops of a Winograd convolution, dispatched at run time. Buffers of a block of tiles (P = points of a tile):
//   v [groups, P, kGroup, channels + kPanel]  the transformed inputs; kPanel apart so that rows do not share cache sets
//   u [panels, P, channels, kPanel]           the transformed weights
//   m [tiles, P, kPanel]                      products of one panel
#include <cstdint>
#include <span>

#include "backends/onednn/panel.hpp"

namespace weft::backends::onednn {

/// Outputs of a tile: `output` x `output` pixels, from (output + 2)^2 points.
struct WinogradTile {
  int32_t image, row, column;  ///< of the first output pixel
};

struct WinogradShape {
  int64_t output = 4;  ///< 2 or 4
  int64_t channels = 0, outputs = 0;
  int64_t rows = 0, columns = 0;                ///< of the source
  int64_t output_rows = 0, output_columns = 0;  ///< of the result
  int64_t row_dilation = 1, column_dilation = 1, row_pad = 0, column_pad = 0;
  PixelStrides source;

  int64_t points() const { return (output + 2) * (output + 2); }
  int64_t row() const { return channels + kPanel; }  ///< of v
};

/// `zeros` holds `channels` zeros: what lies outside of the image. Tiles are grouped by `group` <= kGroup.
void winograd_transform_source(const WinogradShape& shape, std::span<const WinogradTile> tiles, int64_t group,
                               const float* source, const float* zeros, float* v);
void winograd_multiply(const WinogradShape& shape, int64_t tiles, int64_t group, const float* v, const float* u_panel,
                       float* m);
/// The sums of one tile and `channels` of a panel with their bias, [output, output, kPanel]. False where one of them is
/// not finite: then they say nothing.
bool winograd_transform_sums(const WinogradShape& shape, const float* m_tile, const float* bias, int64_t channels,
                             float* sums);
/// The sum of `count` products, in double.
double winograd_dot(const float* a, const float* b, int64_t count);
/// The steps on the sums, and the sums to the result.
void finish_panel(std::span<const PanelStep> steps, const PanelBox& box, float* sums, float* destination,
                  int64_t row_step, int64_t pixel_step);
/// u of one panel from 3x3 weights [9][channels][kPanel].
void winograd_transform_weights(int64_t output, int64_t channels, const float* weights, float* u_panel);

}  // namespace weft::backends::onednn
