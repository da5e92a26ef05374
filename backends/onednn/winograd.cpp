#include "backends/onednn/winograd.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "backends/onednn/conv_pack.hpp"
#include "backends/onednn/cost.hpp"
#include "ir/support/error.hpp"

namespace weft::backends::onednn {
namespace {

constexpr int64_t kBlockBytes = 128e3;  // of transformed inputs: they and a panel of weights stay in the L2 cache
constexpr int64_t kLeastTiles = 12, kMostTiles = 48;  // of a block

int64_t above(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Bias apart: the steps that run on the sums.
std::span<const Step> steps_of(const ConvForm& form) {
  return std::span<const Step>(form.steps).subspan(form.bias_first ? 1 : 0);
}

/// Every output pixel once: tiles of pixels that lie a dilation apart.
std::vector<WinogradTile> tiles_of(const ConvForm& form, int64_t output) {
  const int64_t images = axis_size(form.destination.axes[0]), rows = axis_size(form.destination.axes[1]),
                columns = axis_size(form.destination.axes[2]);
  std::vector<WinogradTile> tiles;
  const auto starts = [&](int64_t size, int64_t dilation) {
    std::vector<int32_t> list;
    for (int64_t phase = 0; phase < std::min(dilation, size); ++phase)
      for (int64_t at = phase; at < size; at += output * dilation) list.push_back(static_cast<int32_t>(at));
    return list;
  };
  const std::vector<int32_t> down = starts(rows, form.dilations[0]), across = starts(columns, form.dilations[1]);
  for (int64_t n = 0; n < images; ++n)
    for (int32_t y : down)
      for (int32_t x : across) tiles.push_back({static_cast<int32_t>(n), y, x});
  return tiles;
}

int64_t tile_count(const ConvForm& form, int64_t output) {
  const auto along = [&](size_t axis) {
    const int64_t size = axis_size(form.destination.axes[axis]), dilation = form.dilations[axis - 1];
    int64_t count = 0;
    for (int64_t phase = 0; phase < std::min(dilation, size); ++phase) count += above(size - phase, output * dilation);
    return count;
  };
  return axis_size(form.destination.axes[0]) * along(1) * along(2);
}

bool fits(const ConvForm& f) {
  bool even = f.window == Dims{3, 3} && f.strides == Dims{1, 1} && f.groups == 1 && !f.phases && f.fixed_weights &&
              f.source.axes.size() == 4 && axis_size(f.source.axes[3]) % kUnit == 0 &&
              axis_size(f.destination.axes[3]) % kUnit == 0 && effective_isa() == Isa::avx2;
  even = even && pixel_strides(f.source) && pixel_strides(f.destination) && PanelSteps::of(steps_of(f));
  if (f.bias_first) even = even && even_stride(f.steps[0].operand.axes.back());
  for (size_t i = 0; even && i < f.weights.axes.size(); ++i) even = even_stride(f.weights.axes[i]).has_value();
  return even && tile_count(f, 2) < (int64_t{1} << 24);
}

/// Time on one thread, measured on AVX2: products at 88 % of peak or as fast as their weights come, transforms by
/// element, activations from memory where they are large.
double price(const ConvForm& f, int64_t output) {
  const auto channels = static_cast<double>(axis_size(f.source.axes[3]));
  const auto outputs = static_cast<double>(above(axis_size(f.destination.axes[3]), kPanel) * kPanel);
  const auto tiles = static_cast<double>(tile_count(f, output));
  const auto points = static_cast<double>((output + 2) * (output + 2));
  const double products = 2 * points * tiles * channels * outputs / (machine_facts().gflops_f32 * 0.88);
  const double weights = 4 * points * channels * outputs / 9.0;
  const double transforms =
      output == 4 ? 11 * tiles * channels + 9.5 * tiles * outputs : 2.6 * tiles * channels + 1.5 * tiles * outputs;
  const double activations = 4.0 * static_cast<double>(element_count(f.source) + element_count(f.destination));
  double total = std::max(products, weights) + transforms + std::max(0.0, activations - 4e6) / 8;
  for (const Step& s : steps_of(f)) {
    total += 0.03 * static_cast<double>(element_count(f.destination));
    if (s.spread == Spread::full) total += 4.0 * static_cast<double>(element_count(f.destination)) / 20;
  }
  return total;
}

WinogradChoice split(const ConvForm& f, WinogradChoice choice, int threads) {
  const int wanted = worthwhile_parts(choice.nanoseconds, threads);
  const int64_t tiles = tile_count(f, choice.output), panels = above(axis_size(f.destination.axes[3]), kPanel);
  const auto balance = [](int64_t units, int64_t parts) {
    return static_cast<double>(units) / static_cast<double>(parts * above(units, parts));
  };
  if (wanted == 1) return choice;
  if (tiles < wanted * 2 * kLeastTiles && panels >= wanted) {
    choice.parts = wanted;
    choice.by_panels = true;
    choice.balance = balance(panels, wanted) * 0.95;  // each part transforms all inputs
  } else {
    choice.parts = static_cast<int>(std::clamp<int64_t>(tiles / kGroup, 1, wanted));
    choice.balance = balance(above(tiles, kGroup), choice.parts);
  }
  return choice;
}

struct WinogradParameters : PackedParameters {
  std::shared_ptr<const void> owner;
  const float* data = nullptr;  // u, then the bias of all panels
  int64_t floats = 0;
  int64_t bytes() const override { return floats * static_cast<int64_t>(sizeof(float)); }
  std::span<const char> image() const override {
    return {reinterpret_cast<const char*>(data), static_cast<size_t>(bytes())};
  }
};

/// Tiles or panels [first, last) of a part.
struct Range {
  int64_t first, last;
};

class WinogradKernel : public Kernel {
 public:
  WinogradKernel(ConvForm form, const WinogradChoice& choice)
      : form_(std::move(form)), choice_(choice), steps_(*PanelSteps::of(steps_of(form_))) {
    tiles_ = tiles_of(form_, choice_.output);
    const auto dims = sizes(form_.source), result = sizes(form_.destination);
    shape_ = {choice_.output,
              dims[3],
              result[3],
              dims[1],
              dims[2],
              result[1],
              result[2],
              form_.dilations[0],
              form_.dilations[1],
              form_.pads_begin[0],
              form_.pads_begin[1],
              *pixel_strides(form_.source)};
    destination_ = *pixel_strides(form_.destination);
    zeros_.resize(static_cast<size_t>(shape_.channels), 0.0f);
    panels_ = above(shape_.outputs, kPanel);
    block_ = block_tiles();
    resources_.parts = choice_.parts;
    resources_.implementation = choice_.output == 4 ? "winograd 4x4" : "winograd 2x2";
    resources_.scratch_bytes = static_cast<int64_t>(sizeof(float)) * (v_floats() + m_floats());
    if (const int operand = in_place_operand(); operand >= 0) resources_.in_place = {operand};
  }

  const ir::KernelResources& resources() const override { return resources_; }
  std::unique_ptr<PackedParameters> pack(std::span<const ir::Tensor> operands) const override;
  std::unique_ptr<PackedParameters> unpack(std::span<const char> image,
                                           std::shared_ptr<const void> owner) const override {
    auto packed = std::make_unique<WinogradParameters>();
    packed->floats = packed_floats();
    if (static_cast<int64_t>(image.size()) != packed->bytes()) return nullptr;
    packed->data = reinterpret_cast<const float*>(image.data());
    packed->owner = std::move(owner);
    return packed;
  }

  void run(const RunContext& context, int part) const override {
    const auto* packed = static_cast<const WinogradParameters*>(context.packed);
    if (!packed)
      fail(ErrorCode::invalid_argument, "onednn: a convolution is run without the parameters that pack() made");
    const auto count = static_cast<int64_t>(tiles_.size());
    const Range tiles = choice_.by_panels ? Range{0, count} : share(count, part);
    const Range panels = choice_.by_panels ? share(panels_, part) : Range{0, panels_};
    auto* v = static_cast<float*>(context.scratch);
    // Blocks and groups of equal size: a product of one row costs as much as one of three.
    const int64_t blocks = above(tiles.last - tiles.first, block_);
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t first = tiles.first + (tiles.last - tiles.first) * b / blocks,
                    last = tiles.first + (tiles.last - tiles.first) * (b + 1) / blocks;
      run_block(context, packed->data, {tiles_.data() + first, static_cast<size_t>(last - first)}, panels, v);
    }
  }

 private:
  /// Tiles of a block at most: few, so that their transformed inputs stay in the cache, but weights that do not stay
  /// there are read once a block.
  int64_t block_tiles() const {
    const int64_t tile_bytes = shape_.points() * shape_.channels * static_cast<int64_t>(sizeof(float));
    const int64_t least = panels_ * panel_floats() > (1 << 18) ? 2 * kLeastTiles : kLeastTiles;
    const int64_t block = std::clamp(kBlockBytes / tile_bytes / kGroup * kGroup, least, kMostTiles);
    const auto count = static_cast<int64_t>(tiles_.size());
    const int64_t own = choice_.by_panels ? count : above(count, choice_.parts);
    return own <= 2 * kLeastTiles ? own : std::min(own, block);
  }
  int64_t v_floats() const { return above(block_, kGroup) * shape_.points() * kGroup * shape_.row(); }
  int64_t m_floats() const { return block_ * shape_.points() * kPanel; }
  Range share(int64_t total, int part) const {
    return {total * part / choice_.parts, total * (part + 1) / choice_.parts};
  }

  /// A tensor that is added, laid out as the result and read by nothing else: its buffer may become the result's.
  int in_place_operand() const {
    const std::span<const Step> steps = steps_of(form_);
    for (size_t i = 0; i < steps.size(); ++i) {
      const Step& s = steps[i];
      if (s.spread != Spread::full || !is_dense(s.operand) || !is_dense(form_.destination)) continue;
      int uses = form_.source.input == s.operand.input || form_.weights.input == s.operand.input ? 2 : 0;
      for (const Step& other : form_.steps)
        if (other.spread != Spread::none && other.spread != Spread::constant)
          uses += other.operand.input == s.operand.input ? 1 : 0;
      if (uses == 1) return s.operand.input;
    }
    return -1;
  }

  void run_block(const RunContext& context, const float* packed, std::span<const WinogradTile> tiles, Range panels,
                 float* v) const {
    const auto count = static_cast<int64_t>(tiles.size());
    const int64_t group = above(count, above(count, kGroup));
    float* m = v + v_floats();
    const auto* source = static_cast<const float*>(context.inputs[static_cast<size_t>(form_.source.input)]);
    const float* bias = packed + panels_ * panel_floats();
    winograd_transform_source(shape_, tiles, group, source, zeros_.data(), v);
    alignas(64) float sums[16 * kPanel];
    std::vector<PanelStep> steps;
    for (int64_t p = panels.first; p < panels.last; ++p) {
      winograd_multiply(shape_, count, group, v, packed + p * panel_floats(), m);
      const int64_t channels = std::min(kPanel, shape_.outputs - p * kPanel);
      for (int64_t t = 0; t < count; ++t) {
        const WinogradTile& tile = tiles[static_cast<size_t>(t)];
        if (!winograd_transform_sums(shape_, m + t * shape_.points() * kPanel, bias + p * kPanel, channels, sums))
          sum_plainly(context, tile, p * kPanel, channels, bias + p * kPanel, sums);
        finish_tile(context, tile, p * kPanel, channels, steps, sums);
      }
    }
  }

  int64_t packed_floats() const { return panels_ * (panel_floats() + kPanel); }
  int64_t panel_floats() const { return shape_.points() * shape_.channels * kPanel; }

  void finish_tile(const RunContext& context, const WinogradTile& tile, int64_t channel, int64_t channels,
                   std::vector<PanelStep>& steps, float* sums) const {
    steps_.place(context.inputs, tile.image, tile.row, tile.column, channel, shape_.row_dilation,
                 shape_.column_dilation, steps);
    const PanelBox box = box_of(tile, channels);
    float* to = static_cast<float*>(context.outputs[0]) + destination_.offset + tile.image * destination_.image +
                tile.row * destination_.row + tile.column * destination_.pixel + channel;
    finish_panel(steps, box, sums, to, destination_.row * shape_.row_dilation,
                 destination_.pixel * shape_.column_dilation);
  }

  /// The pixels of a tile that lie in the result.
  PanelBox box_of(const WinogradTile& tile, int64_t channels) const {
    return {std::min(shape_.output, above(shape_.output_rows - tile.row, shape_.row_dilation)),
            std::min(shape_.output, above(shape_.output_columns - tile.column, shape_.column_dilation)), shape_.output,
            channels};
  }

  /// Where infinities, NaN or an overflow have spoilt a tile: its sums one by one in double, from the weights as they
  /// were given.
  void sum_plainly(const RunContext& context, const WinogradTile& tile, int64_t channel, int64_t channels,
                   const float* bias, float* sums) const {
    const PanelBox box = box_of(tile, channels);
    std::vector<float> taps(static_cast<size_t>(9 * shape_.channels));  // of one output channel
    for (int64_t c = 0; c < channels; ++c) {
      taps_of(context, channel + c, taps);
      for (int64_t i = 0; i < box.rows; ++i)
        for (int64_t j = 0; j < box.columns; ++j)
          sums[(i * box.pitch + j) * kPanel + c] =
              static_cast<float>(plain_sum(context, tile.image, tile.row + i * shape_.row_dilation,
                                           tile.column + j * shape_.column_dilation, taps.data())) +
              bias[c];
    }
  }

  /// The weights of one output channel, [9][channels].
  void taps_of(const RunContext& context, int64_t output, std::vector<float>& taps) const {
    const auto stride = [&](size_t axis) { return even_stride(form_.weights.axes[axis]).value_or(0); };
    const float* w = static_cast<const float*>(context.inputs[static_cast<size_t>(form_.weights.input)]) +
                     form_.weights.offset + output * stride(0);
    const int64_t channel = stride(1), row = stride(2), column = stride(3);
    for (int64_t tap = 0; tap < 9; ++tap)
      for (int64_t c = 0; c < shape_.channels; ++c)
        taps[static_cast<size_t>(tap * shape_.channels + c)] = w[tap / 3 * row + tap % 3 * column + c * channel];
  }

  double plain_sum(const RunContext& context, int64_t image, int64_t row, int64_t column, const float* taps) const {
    const float* x = static_cast<const float*>(context.inputs[static_cast<size_t>(form_.source.input)]) +
                     shape_.source.offset + image * shape_.source.image;
    double sum = 0;
    for (int64_t i = 0; i < 3; ++i) {
      const int64_t y = row + i * shape_.row_dilation - shape_.row_pad;
      for (int64_t j = 0; j < 3; ++j) {
        const int64_t z = column + j * shape_.column_dilation - shape_.column_pad;
        const bool inside = y >= 0 && y < shape_.rows && z >= 0 && z < shape_.columns;
        const float* pixel = inside ? x + y * shape_.source.row + z * shape_.source.pixel : zeros_.data();
        sum += winograd_dot(pixel, taps + (i * 3 + j) * shape_.channels, shape_.channels);
      }
    }
    return sum;
  }

  ConvForm form_;
  WinogradChoice choice_;
  PanelSteps steps_;
  WinogradShape shape_;
  PixelStrides destination_;
  std::vector<WinogradTile> tiles_;
  std::vector<float> zeros_;
  int64_t panels_ = 0, block_ = 0;  // panels of output channels; tiles of a block
  ir::KernelResources resources_;
};

std::unique_ptr<PackedParameters> WinogradKernel::pack(std::span<const ir::Tensor> operands) const {
  const auto data = [&](const View& view) {
    const ir::Tensor& tensor = operands[static_cast<size_t>(view.input)];
    if (!tensor.defined()) fail(ErrorCode::invalid_argument, "onednn: parameter operand {} is not given", view.input);
    return tensor.as<float>().data() + view.offset;
  };
  auto packed = std::make_unique<WinogradParameters>();
  packed->floats = packed_floats();
  const auto bytes = static_cast<size_t>(above(packed->bytes(), 64) * 64);
  const std::shared_ptr<float> block(static_cast<float*>(std::aligned_alloc(64, bytes)), std::free);
  if (!block) fail(ErrorCode::limit, "onednn: no memory for {} bytes of packed weights", packed->bytes());
  packed->owner = block;
  packed->data = block.get();
  const float* weights = data(form_.weights);
  const auto stride = [&](size_t axis) { return even_stride(form_.weights.axes[axis]).value_or(0); };
  std::vector<float> panel(static_cast<size_t>(9 * shape_.channels * kPanel));
  for (int64_t p = 0; p < panels_; ++p) {
    std::fill(panel.begin(), panel.end(), 0.0f);
    for (int64_t o = 0; o < std::min(kPanel, shape_.outputs - p * kPanel); ++o)
      for (int64_t c = 0; c < shape_.channels; ++c)
        for (int64_t tap = 0; tap < 9; ++tap)
          panel[static_cast<size_t>((tap * shape_.channels + c) * kPanel + o)] =
              weights[(p * kPanel + o) * stride(0) + c * stride(1) + tap / 3 * stride(2) + tap % 3 * stride(3)];
    winograd_transform_weights(shape_.output, shape_.channels, panel.data(), block.get() + p * panel_floats());
  }
  float* bias = block.get() + panels_ * panel_floats();
  std::fill(bias, bias + panels_ * kPanel, 0.0f);
  if (form_.bias_first) {
    const View& view = form_.steps[0].operand;
    const float* from = data(view);
    for (int64_t o = 0; o < shape_.outputs; ++o) bias[o] = from[o * even_stride(view.axes.back()).value_or(0)];
  }
  return packed;
}

}  // namespace

std::optional<WinogradChoice> choose_winograd(const ConvForm& form, int threads) {
  if (!fits(form)) return std::nullopt;
  WinogradChoice four, two;
  four.output = 4, four.nanoseconds = price(form, 4);
  two.output = 2, two.nanoseconds = price(form, 2);
  return split(form, four.nanoseconds <= two.nanoseconds ? four : two, threads);
}

std::unique_ptr<Kernel> make_winograd_kernel(ConvForm form, const WinogradChoice& choice) {
  return std::make_unique<WinogradKernel>(std::move(form), choice);
}

}  // namespace weft::backends::onednn
