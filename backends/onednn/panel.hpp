#pragma once
// Our own loops work on panels of 16 output channels: the steps behind the sums, and how they see their operands there.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backends/onednn/form.hpp"

namespace weft::backends::onednn {

inline constexpr int64_t kPanel = 16;  ///< output channels side by side
inline constexpr int64_t kGroup = 6;   ///< rows of a product in registers at once
inline constexpr int64_t kUnit = 8;    ///< channels come in whole vectors of so many

/// One step on a box of pixels of a panel.
struct PanelStep {
  enum class Reach : uint8_t { none, number, channel, pixel };
  StepKind kind = StepKind::relu;
  Reach reach = Reach::none;
  float alpha = 0, beta = 0;
  const float* operand = nullptr;        ///< of the first pixel and channel of the box
  int64_t row_step = 0, pixel_step = 0;  ///< in elements; 0 for operands that all pixels share
};

/// Pixels of one panel in a buffer [.., pitch, kPanel].
struct PanelBox {
  int64_t rows, columns, pitch, channels;
};

/// True where our own loops have the step. Unlike oneDNN's post-ops they keep NaN.
bool has_panel_step(StepKind kind);

/// Strides of a view [N, H, W, C] whose channels lie side by side; nothing for others.
struct PixelStrides {
  int64_t offset = 0, image = 0, row = 0, pixel = 0;
};
std::optional<PixelStrides> pixel_strides(const View& view);

/// The steps of a form as seen from image `image`, pixel (row, column), channel `channel` on; pixels of a box are
/// `dilations` apart. `inputs` as in RunContext.
class PanelSteps {
 public:
  /// Nothing where a step or the layout of an operand is not for our loops.
  static std::optional<PanelSteps> of(std::span<const Step> steps);
  void place(std::span<const void* const> inputs, int64_t image, int64_t row, int64_t column, int64_t channel,
             int64_t row_dilation, int64_t column_dilation, std::vector<PanelStep>& placed) const;
  size_t size() const { return steps_.size(); }
  /// Strides of the operand of a step that has one a pixel.
  const PixelStrides& strides(size_t step) const { return strides_[step]; }

 private:
  std::vector<Step> steps_;
  std::vector<PixelStrides> strides_;
};

}  // namespace weft::backends::onednn
