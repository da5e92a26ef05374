#include "backends/onednn/panel.hpp"

namespace weft::backends::onednn {

bool has_panel_step(StepKind kind) {
  switch (kind) {
    case StepKind::relu:
    case StepKind::leaky_relu:
    case StepKind::clip:
    case StepKind::hard_swish:
    case StepKind::hard_sigmoid:
    case StepKind::abs:
    case StepKind::sqrt:
      return true;
    default:
      return has_operand(kind);
  }
}

std::optional<PixelStrides> pixel_strides(const View& view) {
  if (view.axes.size() != 4 || even_stride(view.axes[3]) != std::optional<int64_t>(1)) return std::nullopt;
  const auto image = even_stride(view.axes[0]), row = even_stride(view.axes[1]), pixel = even_stride(view.axes[2]);
  if (!image || !row || !pixel) return std::nullopt;
  return PixelStrides{view.offset, *image, *row, *pixel};
}

std::optional<PanelSteps> PanelSteps::of(std::span<const Step> steps) {
  PanelSteps result;
  for (const Step& s : steps) {
    if (!has_panel_step(s.kind)) return std::nullopt;
    PixelStrides strides;
    if (s.spread == Spread::scalar) strides.offset = s.operand.offset;
    if (s.spread == Spread::channel || s.spread == Spread::image_channel || s.spread == Spread::full) {
      const std::optional<PixelStrides> found = pixel_strides(s.operand);
      if (!found) return std::nullopt;
      strides = *found;
    }
    result.steps_.push_back(s);
    result.strides_.push_back(strides);
  }
  return result;
}

void PanelSteps::place(std::span<const void* const> inputs, int64_t image, int64_t row, int64_t column, int64_t channel,
                       int64_t row_dilation, int64_t column_dilation, std::vector<PanelStep>& placed) const {
  placed.resize(steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& s = steps_[i];
    const PixelStrides& at = strides_[i];
    PanelStep& p = placed[i];
    p = {s.kind, PanelStep::Reach::none, s.alpha, s.beta, nullptr, 0, 0};
    if (s.spread == Spread::none) continue;
    p.reach = PanelStep::Reach::number;
    if (s.spread == Spread::constant) {
      p.operand = &s.constant;
      continue;
    }
    const auto* base = static_cast<const float*>(inputs[static_cast<size_t>(s.operand.input)]) + at.offset;
    if (s.spread == Spread::scalar) {
      p.operand = base;
      continue;
    }
    p.reach = s.spread == Spread::full ? PanelStep::Reach::pixel : PanelStep::Reach::channel;
    p.operand = base + image * at.image + row * at.row + column * at.pixel + channel;
    p.row_step = at.row * row_dilation;
    p.pixel_step = at.pixel * column_dilation;
  }
}

}  // namespace weft::backends::onednn
