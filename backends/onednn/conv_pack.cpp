#include "backends/onednn/conv_pack.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "backends/onednn/launcher.hpp"
#include "backends/onednn/magnitude.hpp"
#include "backends/onednn/phases.hpp"
#include "ir/support/error.hpp"

namespace weft::backends::onednn {
namespace {

void* allocate(size_t bytes) {
  void* p = std::aligned_alloc(64, std::max<size_t>(64, (bytes + 63) / 64 * 64));
  if (!p) fail(ErrorCode::limit, "onednn: no memory for {} bytes of packed weights", bytes);
  return p;
}

const float* data_of(const View& view, std::span<const ir::Tensor> operands) {
  const ir::Tensor& tensor = operands[static_cast<size_t>(view.input)];
  if (!tensor.defined()) fail(ErrorCode::invalid_argument, "onednn: parameter operand {} is not given", view.input);
  return tensor.as<float>().data() + view.offset;
}

/// The weights as a dense [O, I, window...] array.
std::vector<float> dense_weights(const ConvForm& form, const float* from) {
  if (form.phases) return phase_weights(form, from);
  std::vector<float> dense(static_cast<size_t>(element_count(form.weights)));
  size_t next = 0;
  for_each_element(form.weights.axes, 0, [&](int64_t offset) { dense[next++] = from[offset]; });
  return dense;
}

double largest_row_sum(const View& weights, const float* from) {
  // Sum of |w| an output channel, accumulated in the order of memory if the channel is not outermost.
  const int64_t outputs = axis_size(weights.axes[0]);
  std::vector<double> sums(static_cast<size_t>(outputs), 0.0);
  const std::span<const Axis> inner(weights.axes.begin() + 1, weights.axes.end());
  const std::optional<int64_t> step = even_stride(weights.axes[0]);
  if (step && *step == 1) {
    for_each_element(inner, 0, [&](int64_t offset) {
      for (int64_t o = 0; o < outputs; ++o) sums[static_cast<size_t>(o)] += std::fabs(from[offset + o]);
    });
  } else {
    size_t channel = 0;
    for_each_element(std::span<const Axis>(weights.axes.begin(), 1), 0, [&](int64_t base) {
      double sum = 0;
      for_each_element(inner, base, [&](int64_t offset) { sum += std::fabs(from[offset]); });
      sums[channel++] = sum;
    });
  }
  double largest = 0;
  for (double s : sums) largest = std::isnan(s) ? HUGE_VAL : std::max(largest, s);
  return largest;
}

Dims grouped(const ConvForm& form, int64_t outputs, int64_t channels) {
  Dims dims;
  if (form.groups != 1) dims.push_back(form.groups);
  dims.push_back(outputs / form.groups);
  dims.push_back(channels);
  if (form.window.size() == 1) dims.push_back(1);
  dims.insert(dims.end(), form.window.begin(), form.window.end());
  return dims;
}

/// Descriptor of one slice of the parameter as it lies in memory, where all its axes are even.
std::optional<Desc> plain_desc(const ConvForm& form, const WeightSlice& slice) {
  if (form.phases) return std::nullopt;
  std::vector<int64_t> strides;
  for (const Axis& axis : form.weights.axes) {
    const std::optional<int64_t> stride = even_stride(axis);
    if (!stride) return std::nullopt;
    strides.push_back(std::max<int64_t>(*stride, 1));
  }
  if (form.window.size() == 1) strides.insert(strides.begin() + 2, strides[2]);
  if (form.groups != 1) strides.insert(strides.begin(), strides[0] * (slice.channels / form.groups));
  return f32_desc(grouped(form, slice.channels, axis_size(form.weights.axes[1])), strides);
}

void pack_slice(const ConvForm& form, const WeightSlice& slice, const float* from, const std::vector<float>& dense,
                const OwnMemory& to) {
  const std::optional<Desc> plain = dense.empty() ? plain_desc(form, slice) : std::nullopt;
  const int64_t row = element_count(form.weights) / axis_size(form.weights.axes[0]);
  const Desc source = plain ? *plain : f32_desc(grouped(form, slice.channels, axis_size(form.weights.axes[1])));
  const float* base =
      plain ? from + slice.channel * even_stride(form.weights.axes[0]).value_or(0) : dense.data() + slice.channel * row;
  execute_reorder(make_reorder(source, slice.desc), source, base, slice.desc, to.data());
}

size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }
/// Numbers at the start of an image: weight_norm, bias_bound, operand_bounds.
size_t bounds_of(const ConvForm& form) { return 2 + form.steps.size(); }

/// The parts of an image; null where `bytes` is not its size.
std::unique_ptr<ConvParameters> laid_out(const ConvForm& form, bool bias, std::span<const WeightSlice> slices,
                                         std::span<const char> block, std::shared_ptr<const void> owner) {
  auto packed = std::make_unique<ConvParameters>();
  packed->block = block;
  packed->owner = std::move(owner);
  char* at = const_cast<char*>(block.data()) + aligned(bounds_of(form) * sizeof(double));
  for (const WeightSlice& slice : slices) {
    packed->weights.emplace_back(slice.desc, at);
    at += aligned(slice.desc.get_size());
  }
  for (size_t i = 0; bias && i < slices.size(); ++i) {
    packed->bias.emplace_back(f32_desc({slices[i].channels}), at);
    at += aligned(static_cast<size_t>(slices[i].channels) * sizeof(float));
  }
  return packed;
}

size_t image_bytes(const ConvForm& form, bool bias, std::span<const WeightSlice> slices) {
  size_t bytes = aligned(bounds_of(form) * sizeof(double));
  for (const WeightSlice& slice : slices) {
    bytes += aligned(slice.desc.get_size());
    if (bias) bytes += aligned(static_cast<size_t>(slice.channels) * sizeof(float));
  }
  return bytes;
}

}  // namespace

OwnMemory::OwnMemory(const Desc& desc)
    : desc_(desc), storage_(allocate(desc.get_size())), memory_(desc, engine(), storage_.get()) {}

OwnMemory::OwnMemory(const Desc& desc, void* elsewhere) : desc_(desc), memory_(desc, engine(), elsewhere) {}

std::unique_ptr<ConvParameters> unpack_conv(const ConvForm& form, bool bias, std::span<const WeightSlice> slices,
                                            std::span<const char> image, std::shared_ptr<const void> owner) {
  if (image.size() != image_bytes(form, bias, slices)) return nullptr;
  auto packed = laid_out(form, bias, slices, image, std::move(owner));
  std::vector<double> bounds(bounds_of(form));
  std::memcpy(bounds.data(), image.data(), bounds.size() * sizeof(double));
  packed->weight_norm = bounds[0];
  packed->bias_bound = bounds[1];
  packed->operand_bounds.assign(bounds.begin() + 2, bounds.end());
  return packed;
}

std::unique_ptr<ConvParameters> pack_conv(const ConvForm& form, const Step* bias, std::span<const WeightSlice> slices,
                                          std::span<const ir::Tensor> operands) {
  const SingleThreaded guard;
  const size_t bytes = image_bytes(form, bias != nullptr, slices);
  const std::shared_ptr<void> block(allocate(bytes), [](void* p) { std::free(p); });
  std::memset(block.get(), 0, bytes);
  auto packed = laid_out(form, bias != nullptr, slices, {static_cast<const char*>(block.get()), bytes}, block);
  const float* weights = data_of(form.phases ? form.phases->weights : form.weights, operands);
  std::vector<float> dense;
  if (!plain_desc(form, slices[0])) dense = dense_weights(form, weights);
  for (size_t i = 0; i < slices.size(); ++i) pack_slice(form, slices[i], weights, dense, packed->weights[i]);
  packed->weight_norm =
      form.phases ? largest_row_sum(form.weights, dense.data()) : largest_row_sum(form.weights, weights);
  if (bias) {
    const float* from = data_of(bias->operand, operands);
    std::vector<float> all;
    for_each_element(std::span<const Axis>(&bias->operand.axes.back(), 1), 0,
                     [&](int64_t offset) { all.push_back(from[offset]); });
    for (size_t i = 0; i < slices.size(); ++i)
      std::memcpy(packed->bias[i].data(), all.data() + slices[i].channel,
                  static_cast<size_t>(slices[i].channels) * sizeof(float));
    packed->bias_bound = largest_magnitude(all.data(), static_cast<int64_t>(all.size()));
  }
  for (const Step& s : form.steps) {
    const bool parameter = form.fixed_weights && s.operand.input >= 0 && s.spread != Spread::none &&
                           s.spread != Spread::constant && operands[static_cast<size_t>(s.operand.input)].defined();
    packed->operand_bounds.push_back(-1);
    if (!parameter) continue;
    const ir::Tensor& tensor = operands[static_cast<size_t>(s.operand.input)];
    packed->operand_bounds.back() = largest_magnitude(tensor.as<float>().data(), tensor.elements());
  }
  std::vector<double> bounds = {packed->weight_norm, packed->bias_bound};
  bounds.insert(bounds.end(), packed->operand_bounds.begin(), packed->operand_bounds.end());
  std::memcpy(block.get(), bounds.data(), bounds.size() * sizeof(double));
  return packed;
}

std::vector<float> dense_slice(const ConvForm& form, const WeightSlice& slice, const OwnMemory& weights) {
  const Desc desc = f32_desc(grouped(form, slice.channels, axis_size(form.weights.axes[1])));
  std::vector<float> dense(desc.get_size() / sizeof(float));
  execute_reorder(make_reorder(slice.desc, desc), slice.desc, weights.data(), desc, dense.data());
  return dense;
}

}  // namespace weft::backends::onednn
