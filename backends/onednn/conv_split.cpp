#include "backends/onednn/conv_split.hpp"

#include <algorithm>

#include "backends/onednn/cost.hpp"

namespace weft::backends::onednn {
namespace {

constexpr int64_t kChannelUnit = 16;

/// Shares of `total` units for `parts`, as even as can be: begin of share i.
int64_t share(int64_t total, int parts, int i) { return total * i / parts; }
double balance(int64_t units, int parts) {
  const int64_t largest = (units + parts - 1) / parts;
  return static_cast<double>(units) / static_cast<double>(largest * parts);
}

/// The item for output rows [first, last) of what `all` covers.
ConvItem rows_of(const ConvForm& form, const ConvItem& all, int64_t first, int64_t last) {
  ConvItem item = all;
  item.row = first;
  item.rows = last - first;
  const int64_t begin = first * form.strides[0] - form.pads_begin[0];
  const int64_t end = (last - 1) * form.strides[0] - form.pads_begin[0] + (form.window[0] - 1) * form.dilations[0] + 1;
  item.input_row = std::clamp<int64_t>(begin, 0, all.input_rows);
  const int64_t input_end = std::clamp<int64_t>(end, item.input_row, all.input_rows);
  item.input_rows = input_end - item.input_row;
  item.pad_begin = item.input_row - begin;
  item.pad_end = end - input_end;
  return item;
}

bool per_image(const ConvForm& form) {
  return axis_size(form.destination.axes[0]) > 1 &&
         std::any_of(form.steps.begin(), form.steps.end(),
                     [](const Step& s) { return s.spread == Spread::image_channel; });
}

/// Copies of `item` for single images where that is asked for.
void append(std::vector<ConvItem>& items, ConvItem item, bool single_images) {
  if (!single_images) {
    items.push_back(item);
    return;
  }
  const int64_t first = item.image, count = item.images;
  item.images = 1;
  for (int64_t n = first; n < first + count; ++n) {
    item.image = n;
    items.push_back(item);
  }
}

ConvSplit by_images(const ConvForm& form, const ConvItem& all, int parts) {
  ConvSplit split{parts, balance(all.images, parts), {}};
  for (int p = 0; p < parts; ++p) {
    ConvItem item = all;
    item.image = share(all.images, parts, p);
    item.images = share(all.images, parts, p + 1) - item.image;
    item.part = p;
    append(split.items, item, per_image(form));
  }
  return split;
}

ConvSplit by_rows(const ConvForm& form, const ConvItem& all, int parts) {
  ConvSplit split{parts, balance(all.rows, parts), {}};
  for (int p = 0; p < parts; ++p) {
    ConvItem item = rows_of(form, all, share(all.rows, parts, p), share(all.rows, parts, p + 1));
    item.part = p;
    append(split.items, item, all.images > 1);
  }
  return split;
}

ConvSplit by_channels(const ConvForm& form, const ConvItem& all, int parts) {
  const int64_t units = (all.channels + kChannelUnit - 1) / kChannelUnit;
  ConvSplit split{parts, balance(units, parts), {}};
  for (int p = 0; p < parts; ++p) {
    ConvItem item = all;
    item.channel = share(units, parts, p) * kChannelUnit;
    item.channels = std::min(all.channels, share(units, parts, p + 1) * kChannelUnit) - item.channel;
    item.part = p;
    append(split.items, item, per_image(form));
  }
  return split;
}

bool all_ones(const Dims& dims) {
  return std::all_of(dims.begin(), dims.end(), [](int64_t d) { return d == 1; });
}
bool all_zeros(const Dims& dims) {
  return std::all_of(dims.begin(), dims.end(), [](int64_t d) { return d == 0; });
}
/// A channel slice of a view is a plain offset only where channels are one even step.
bool sliceable(const View& view) { return even_stride(view.axes.back()).has_value(); }

}  // namespace

ConvItem whole(const ConvForm& form) {
  ConvItem item;
  item.images = axis_size(form.destination.axes[0]);
  item.rows = axis_size(form.destination.axes[1]);
  item.input_rows = axis_size(form.source.axes[1]);
  item.pad_begin = form.pads_begin[0];
  item.pad_end = form.pads_end[0];
  item.channels = axis_size(form.destination.axes.back());
  return item;
}

void simplify(ConvForm& form) {
  const bool pointwise =
      all_ones(form.window) && all_ones(form.strides) && all_zeros(form.pads_begin) && all_zeros(form.pads_end);
  if (!pointwise || form.groups != 1 || per_image(form)) return;
  const size_t pixels = form.source.axes.size() - 1;
  const auto run = [&](const View& view) {
    View flat = merged(view, 0, pixels);
    flat.axes.insert(flat.axes.begin(), Axis{});
    flat.axes.insert(flat.axes.begin() + 2, Axis{});
    return flat;
  };
  ConvForm flat = form;
  flat.source = run(form.source);
  flat.destination = run(form.destination);
  bool even = even_stride(flat.source.axes[1]) && even_stride(flat.destination.axes[1]);
  for (Step& s : flat.steps) {
    if (s.spread != Spread::full && s.spread != Spread::channel && s.spread != Spread::scalar) continue;
    s.operand = run(s.operand);
    even = even && even_stride(s.operand.axes[1]);
  }
  if (!even) return;
  flat.weights.axes.resize(2);
  flat.weights.axes.resize(4);
  flat.window = flat.strides = flat.dilations = {1, 1};
  flat.pads_begin = flat.pads_end = {0, 0};
  form = std::move(flat);
}

double conv_flops(const ConvForm& form) {
  double flops =
      2.0 * static_cast<double>(element_count(form.destination)) * static_cast<double>(axis_size(form.weights.axes[1]));
  for (int64_t size : form.window) flops *= static_cast<double>(size);
  return flops;
}

ConvSplit split_conv(const ConvForm& form, int threads, double nanoseconds) {
  const ConvItem all = whole(form);
  const int parts = worthwhile_parts(nanoseconds, threads);
  if (parts == 1) {
    ConvSplit split;
    append(split.items, all, per_image(form));
    return split;
  }
  if (all.images >= parts) return by_images(form, all, parts);
  const auto fitting = [&](int64_t units) { return static_cast<int>(std::min<int64_t>(parts, units)); };
  ConvSplit rows = by_rows(form, all, fitting(all.rows));
  // Rows that see nothing but padding have no input to point at.
  if (std::any_of(rows.items.begin(), rows.items.end(), [](const ConvItem& i) { return i.input_rows < 1; }))
    rows = by_rows(form, all, 1);
  bool channels_fit = form.groups == 1 && all.channels >= 2 * kChannelUnit && sliceable(form.destination);
  for (const Step& s : form.steps) channels_fit = channels_fit && (s.spread != Spread::full || sliceable(s.operand));
  if (!channels_fit) return rows;
  ConvSplit channels = by_channels(form, all, fitting(all.channels / kChannelUnit));
  const double row_speed = rows.balance * rows.parts, channel_speed = channels.balance * channels.parts;
  return row_speed >= 0.9 * channel_speed ? rows : channels;
}

}  // namespace weft::backends::onednn
