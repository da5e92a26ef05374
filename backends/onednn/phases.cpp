#include "backends/onednn/phases.hpp"

#include <algorithm>
#include <cmath>

namespace weft::backends::onednn {
namespace {

/// Next index of a list of dimensions in row-major order; false after the last.
bool next_index(std::vector<int64_t>& index, std::span<const int64_t> dims) {
  for (size_t i = dims.size(); i-- > 0;) {
    if (++index[i] < dims[i]) return true;
    index[i] = 0;
  }
  return false;
}

int64_t product(std::span<const int64_t> dims) {
  int64_t count = 1;
  for (int64_t d : dims) count *= d;
  return count;
}

/// For each phase and place of the window, row-major: which element of the given window [spatial...] it is, -1 for
/// none.
std::vector<int64_t> taps_of(const ConvForm& form) {
  const Phases& p = *form.phases;
  const std::vector<int64_t> given = sizes(p.weights);
  // A flattened line of pixels has a window of two axes of size 1, whatever the number of strides.
  const auto entry = [](const std::vector<int64_t>& list, size_t i) { return i < list.size() ? list[i] : 0; };
  std::vector<int64_t> taps, phase(p.stride.size(), 0), at(form.window.size(), 0);
  do {
    do {
      int64_t element = 0;
      for (size_t i = 0; i < p.stride.size(); ++i) {
        const int64_t shifted = phase[i] + p.pads_begin[i];
        const int64_t t = shifted / p.stride[i] + entry(form.pads_begin, i) - entry(at, i);
        const int64_t k = shifted % p.stride[i] + p.stride[i] * t;
        const bool tap = element >= 0 && t >= 0 && k < given[2 + i];
        element = tap ? element * given[2 + i] + k : -1;
      }
      taps.push_back(element);
    } while (next_index(at, form.window));
  } while (next_index(phase, p.stride));
  return taps;
}

}  // namespace

std::vector<float> phase_weights(const ConvForm& form, const float* from) {
  const View& given = form.phases->weights;
  std::vector<float> plain, dense;
  for_each_element(given.axes, 0, [&](int64_t offset) { plain.push_back(from[offset]); });
  const std::vector<int64_t> taps = taps_of(form);
  const int64_t inputs = axis_size(given.axes[0]), outputs = axis_size(given.axes[1]);
  const int64_t window = product(form.window), elements = static_cast<int64_t>(plain.size()) / (inputs * outputs);
  dense.reserve(static_cast<size_t>(element_count(form.weights)));
  for (size_t phase = 0; phase < taps.size(); phase += static_cast<size_t>(window)) {
    for (int64_t o = 0; o < outputs; ++o) {
      for (int64_t c = 0; c < inputs; ++c) {
        const float* const kernel = plain.data() + (c * outputs + o) * elements;
        for (size_t place = 0; place < static_cast<size_t>(window); ++place) {
          const int64_t tap = taps[phase + place];
          dense.push_back(tap < 0 ? 0.0f : kernel[tap]);
        }
      }
    }
  }
  return dense;
}

bool lacks_taps(const ConvForm& form) {
  const std::vector<int64_t> taps = taps_of(form);
  return std::find(taps.begin(), taps.end(), -1) != taps.end();
}

void add_unbounded_terms(const ConvForm& form, const ConvItem& item, std::span<const float> weights,
                         const float* source, float* sums) {
  const std::vector<int64_t> taps = taps_of(form);
  const int64_t outputs = axis_size(form.phases->weights.axes[1]), inputs = axis_size(form.source.axes.back());
  const size_t spatial = form.window.size();
  Dims from = sizes(form.source), to = sizes(form.destination), pads = form.pads_begin;
  from = Dims(from.begin() + 1, from.end() - 1), to = Dims(to.begin() + 1, to.end() - 1);
  from[0] = item.input_rows, to[0] = item.rows, pads[0] = item.pad_begin;
  const int64_t pixels = product(from), results = product(to), window = product(form.window);

  const auto add = [&](float x, int64_t image, std::span<const int64_t> pixel, int64_t c) {
    Dims at(spatial, 0);
    int64_t place = 0;
    do {
      int64_t result = 0;
      for (size_t i = 0; i < spatial; ++i) {
        const int64_t q = pixel[i] + pads[i] - at[i];
        result = result >= 0 && q >= 0 && q < to[i] ? result * to[i] + q : -1;
      }
      for (int64_t channel = 0; result >= 0 && channel < item.channels; ++channel) {
        const int64_t phase = (item.channel + channel) / outputs;
        if (taps[static_cast<size_t>(phase * window + place)] < 0) continue;
        sums[(image * results + result) * item.channels + channel] +=
            x * weights[static_cast<size_t>((channel * inputs + c) * window + place)];
      }
      ++place;
    } while (next_index(at, form.window));
  };
  for (int64_t image = 0; image < item.images; ++image) {
    Dims pixel(spatial, 0);
    for (int64_t i = 0; i < pixels; ++i, next_index(pixel, from)) {
      const float* const values = source + (image * pixels + i) * inputs;
      for (int64_t c = 0; c < inputs; ++c)
        if (!std::isfinite(values[c])) add(values[c], image, pixel, c);
    }
  }
}

}  // namespace weft::backends::onednn
