#include "backends/onednn/conv_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "backends/onednn/cost.hpp"

namespace weft::backends::onednn {
namespace {

constexpr size_t kProbes = 4096;  // descriptors remembered

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }
bool any_above(const Dims& dims, int64_t limit) {
  return std::any_of(dims.begin(), dims.end(), [=](int64_t d) { return d > limit; });
}

/// Rows of a 1x1 convolution as one run: always the same code, no need to ask.
bool is_run(const ConvForm& f) {
  return f.window == Dims{1, 1} && f.strides == Dims{1, 1} && f.groups == 1 && axis_size(f.source.axes[0]) == 1 &&
         axis_size(f.source.axes[2]) == 1 && f.pads_begin == Dims{0, 0} && f.pads_end == Dims{0, 0};
}

std::string probe(const ConvForm& form, const ConvChoice& choice) {
  const auto list = [](const std::vector<int64_t>& v) { return fmt::format("{}", fmt::join(v, ",")); };
  std::string key =
      fmt::format("{} {} {} {} {} {} {} {} {} {} {}", list(sizes(form.source)), list(sizes(form.destination)),
                  list(form.window), form.groups, list(form.strides), list(form.dilations), list(form.pads_begin),
                  list(form.pads_end), choice.blocked, choice.pad_in_tile, axis_size(form.weights.axes[1]));
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  if (known.size() >= kProbes) known.clear();
  return known[std::move(key)] = conv_implementation(describe_conv(form, whole(form), choice, false));
}

/// Blocked tiles are for two spatial axes, channels that are one even step, and code that exists.
bool may_block(const ConvForm& f) {
  const auto even = [](const View& v) { return even_stride(v.axes.back()).has_value(); };
  bool possible = effective_isa() == Isa::avx2 && f.window.size() == 2 && any_above(f.window, 1) && f.groups == 1 &&
                  axis_size(f.source.axes.back()) >= 16 && axis_size(f.destination.axes.back()) >= 16 &&
                  even(f.source) && even(f.destination);
  for (const Step& s : f.steps) possible = possible && (s.spread != Spread::full || even(s.operand));
  return possible;
}

ConvChoice priced(const ConvForm& form, ConvChoice choice) {
  choice.implementation = is_run(form) && effective_isa() != Isa::portable ? "jit_1x1" : probe(form, choice);
  // im2col code mistakes tensors in binary post-ops; AVX-512's fastest takes none and packs weights in its own way.
  choice.im2col = has(choice.implementation, "gemm");
  choice.residual_as_sum = choice.im2col || effective_isa() == Isa::avx512;
  if (!choice.implementation.empty()) choice.nanoseconds = conv_nanoseconds(form, choice);
  return choice;
}

}  // namespace

Desc tile_desc(const View& view, int64_t images, int64_t rows, int64_t channels, const ConvChoice& choice) {
  Dims dims{images, channels, rows};
  if (view.axes.size() == 3) dims.insert(dims.begin() + 2, 1);
  for (size_t i = 2; i + 1 < view.axes.size(); ++i) dims.push_back(axis_size(view.axes[i]));
  return choice.blocked ? blocked_by_8(dims) : channels_last(dims);
}

ConvDesc describe_conv(const ConvForm& form, const ConvItem& shape, const ConvChoice& choice, bool bias) {
  ConvDesc conv;
  const bool line = form.window.size() == 1;
  const auto placed = [&](Dims dims, int64_t first) {  // of the spatial axes; a line has a first one of its own
    if (line) dims.insert(dims.begin(), first);
    return dims;
  };
  Dims begin = form.pads_begin, end = form.pads_end;
  begin[0] = shape.pad_begin;
  end[0] = shape.pad_end;
  conv.source = tile_desc(form.source, shape.images, shape.input_rows, axis_size(form.source.axes.back()), choice);
  if (choice.pad_in_tile) {
    Dims dims = {shape.images, axis_size(form.source.axes.back())};
    for (size_t i = 0; i < begin.size(); ++i) {
      dims.push_back((i == 0 ? shape.input_rows : axis_size(form.source.axes[1 + i])) + begin[i] + end[i]);
      begin[i] = end[i] = 0;
    }
    conv.source = choice.blocked ? blocked_by_8(dims) : channels_last(dims);
  }
  conv.destination = tile_desc(form.destination, shape.images, shape.rows, shape.channels, choice);
  Dims weights = {shape.channels / form.groups, axis_size(form.weights.axes[1])};
  if (form.groups != 1) weights.insert(weights.begin(), form.groups);
  const Dims window = placed(form.window, 1);
  weights.insert(weights.end(), window.begin(), window.end());
  conv.weights = any_desc(weights);
  if (bias) conv.bias = f32_desc({shape.channels});
  conv.strides = placed(form.strides, 1);
  for (int64_t d : placed(form.dilations, 1)) conv.dilations.push_back(d - 1);
  conv.pads_begin = placed(begin, 0);
  conv.pads_end = placed(end, 0);
  return conv;
}

/// Whether whole windows lie in the padding: AVX-512 code of 2.6.3 (brgconv) reads past its buffers then.
bool pads_whole_windows(const ConvForm& f) {
  for (size_t i = 0; i < f.window.size(); ++i)
    if (std::max(f.pads_begin[i], f.pads_end[i]) > (f.window[i] - 1) * f.dilations[i]) return true;
  return false;
}

ConvChoice choose_conv(const ConvForm& form) {
  if (effective_isa() == Isa::avx512 && pads_whole_windows(form)) {
    ConvChoice padded;
    padded.pad_in_tile = true;
    const bool possible =
        form.window.size() == 2 && even_stride(form.source.axes.back()) && even_stride(form.destination.axes.back());
    return possible ? priced(form, padded) : ConvChoice();
  }
  ConvChoice best = priced(form, {});
  if (!may_block(form)) return best;
  ConvChoice blocked;
  blocked.blocked = true;
  // Dilated windows with padding have only im2col code; without padding there is better.
  blocked.pad_in_tile = has(best.implementation, "gemm") && any_above(form.dilations, 1);
  blocked = priced(form, blocked);
  const bool fast = has(blocked.implementation, "jit") && !has(blocked.implementation, "gemm");
  return fast && (best.implementation.empty() || blocked.nanoseconds < best.nanoseconds) ? blocked : best;
}

}  // namespace weft::backends::onednn
