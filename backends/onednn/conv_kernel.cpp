// A convolution as a kernel: longer than most files because the run of one item (gather, guard, primitive, scatter) is
// told in one place.
#include "backends/onednn/conv_kernel.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/onednn/conv_pack.hpp"
#include "backends/onednn/launcher.hpp"
#include "backends/onednn/magnitude.hpp"
#include "backends/onednn/phases.hpp"
#include "ir/support/error.hpp"

namespace weft::backends::onednn {
namespace {

constexpr double kSafe = 1e37;  // bounds below this leave no room for overflow, hence for NaN
constexpr int64_t kAlign = 64;

int64_t aligned(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

/// A sub-box of a view: its first element and its sizes.
struct Box {
  int64_t image, images, row, rows, channel, channels;
};
int64_t offset_of(const View& view, const Box& box) {
  return view.offset + box.image * even_stride(view.axes[0]).value_or(0) +
         box.row * even_stride(view.axes[1]).value_or(0) + box.channel * even_stride(view.axes.back()).value_or(0);
}
/// Dimensions of a sub-box with the strides of a dense tile, or with its own. A channel axis of several sub-dimensions
/// is whole.
struct BoxDescs {
  Desc view, dense;
};
BoxDescs box_descs(const View& view, const Box& box) {
  Dims dims, strides, dense;
  const auto append = [&](const Axis& axis, int64_t size) {
    if (axis.size() > 1) {
      for (const SubDim& d : axis) dims.push_back(d.size), strides.push_back(d.stride);
    } else {
      dims.push_back(size);
      strides.push_back(std::max<int64_t>(axis.empty() ? 1 : axis[0].stride, 1));
    }
  };
  append(view.axes[0], box.images);
  append(view.axes[1], box.rows);
  for (size_t i = 2; i + 1 < view.axes.size(); ++i) append(view.axes[i], axis_size(view.axes[i]));
  append(view.axes.back(), box.channels);
  return {f32_desc(dims, strides), f32_desc(dims)};
}
/// The same box in oneDNN's order [N, C, H, W], for views of two spatial axes whose axes are all even.
Desc picture_desc(const View& view, const Box& box) {
  const auto stride = [&](size_t axis) { return std::max<int64_t>(even_stride(view.axes[axis]).value_or(1), 1); };
  return f32_desc({box.images, box.channels, box.rows, axis_size(view.axes[2])},
                  {stride(0), stride(3), stride(1), stride(2)});
}

/// How the operand of a step comes to the primitive.
enum class Feed : uint8_t { none, constant, direct, tile, destination };

/// Everything that depends on the size of an item and not on its place.
struct Variant {
  ConvItem shape;  // place and part are of no account
  std::unique_ptr<Launcher> apart,
      in_place;  // residual as a binary post-op, and as the sum with what stands in the destination
  std::unique_ptr<TileCopy> gather_source, scatter_destination;
  std::vector<std::unique_ptr<TileCopy>> gather_operand;  // one a step, null where not needed
  Desc weights;
  int64_t source_elements = 0, destination_elements = 0;
  int64_t source_tile = -1, destination_tile = -1, scratchpad = 0, bytes = 0;  // places in the scratch of a part
  std::vector<int64_t> operand_tile;
};

struct PlacedItem {
  ConvItem item;
  size_t variant = 0, slice = 0;
};

class ConvKernel : public Kernel {
 public:
  ConvKernel(ConvForm form, const ConvSplit& split, ConvChoice choice)
      : form_(std::move(form)), choice_(std::move(choice)) {
    take_bias();
    gaps_ = form_.phases && lacks_taps(form_);
    resources_.parts = split.parts;
    channels_ = axis_size(form_.destination.axes.back());
    for (size_t i = 2; i + 1 < form_.destination.axes.size(); ++i) middle_ *= axis_size(form_.destination.axes[i]);
    const bool slices =
        std::any_of(split.items.begin(), split.items.end(), [&](const ConvItem& i) { return i.channels != channels_; });
    source_direct_ = is_dense(form_.source) && !choice_.blocked && !choice_.pad_in_tile;
    int64_t pixels = element_count(form_.destination) / channels_;
    destination_direct_ = is_dense(form_.destination) && !choice_.blocked && (!slices || pixels == 1);
    plan_feeds();
    const SingleThreaded guard;
    for (const ConvItem& item : split.items) place(item);
    for (const Variant& v : variants_) resources_.scratch_bytes = std::max(resources_.scratch_bytes, v.bytes);
  }

  const ir::KernelResources& resources() const override { return resources_; }

  std::unique_ptr<PackedParameters> pack(std::span<const ir::Tensor> operands) const override {
    return form_.fixed_weights ? pack_conv(form_, has_bias_ ? &bias_ : nullptr, slices_, operands) : nullptr;
  }
  std::unique_ptr<PackedParameters> unpack(std::span<const char> image,
                                           std::shared_ptr<const void> owner) const override {
    return form_.fixed_weights ? unpack_conv(form_, has_bias_, slices_, image, std::move(owner)) : nullptr;
  }

  void run(const RunContext& context, int part) const override {
    const auto* packed = static_cast<const ConvParameters*>(context.packed);
    std::unique_ptr<const ConvParameters> own;
    if (!form_.fixed_weights) {
      own = packed_now(context);
      packed = own.get();
    }
    if (!packed)
      fail(ErrorCode::invalid_argument, "onednn: a convolution is run without the parameters that pack() made");
    const SingleThreaded guard;
    for (const PlacedItem& item : items_)
      if (item.item.part == part) run_item(context, *packed, item);
  }

 private:
  /// Weights that are a value: packed by every part of every run.
  std::unique_ptr<const ConvParameters> packed_now(const RunContext& context) const {
    std::vector<ir::Tensor> operands(form_.inputs.size());
    const auto define = [&](int input) {
      const auto i = static_cast<size_t>(input);
      operands[i] = ir::Tensor::view(form_.inputs[i], context.inputs[i], nullptr);
    };
    define(form_.weights.input);
    if (has_bias_) define(bias_.operand.input);
    return pack_conv(form_, has_bias_ ? &bias_ : nullptr, slices_, operands);
  }

  /// The parameter added to each channel first is the bias of the primitive.
  void take_bias() {
    if (form_.steps.empty() || !form_.bias_first) return;
    has_bias_ = true;
    bias_ = form_.steps[0];
    form_.steps.erase(form_.steps.begin());
  }

  bool is_residual(size_t step) const {
    return step == 0 && form_.steps[0].kind == StepKind::add && form_.steps[0].spread == Spread::full;
  }

  void plan_feeds() {
    for (size_t i = 0; i < form_.steps.size(); ++i) {
      const Step& s = form_.steps[i];
      if (loses_nan(s.kind)) guarded_ = i + 1;
      Feed feed = Feed::none;
      if (s.spread == Spread::constant) feed = Feed::constant;
      if (s.spread == Spread::scalar || s.spread == Spread::channel || s.spread == Spread::image_channel)
        feed = Feed::direct;
      if (s.spread == Spread::full) {
        const bool direct = destination_direct_ && is_dense(s.operand);
        feed = direct ? Feed::direct : Feed::tile;
        if (is_residual(i)) {
          if (direct && used_once(s.operand.input)) resources_.in_place = {s.operand.input};
          if (!direct || choice_.residual_as_sum) feed = Feed::destination;
        }
      }
      feeds_.push_back(feed);
    }
  }

  bool used_once(int input) const {
    int uses = form_.source.input == input ? 1 : 0;
    uses += form_.weights.input == input ? 1 : 0;
    for (const Step& s : form_.steps)
      if (s.spread != Spread::none && s.spread != Spread::constant) uses += s.operand.input == input ? 1 : 0;
    return uses == 1;
  }

  void place(const ConvItem& item) {
    ConvItem shape = item;
    shape.image = shape.row = shape.input_row = shape.channel = shape.part = 0;
    size_t v = 0;
    while (v < variants_.size() && !same_shape(variants_[v].shape, shape)) ++v;
    if (v == variants_.size()) variants_.push_back(build(shape));
    const WeightSlice slice{item.channel, item.channels, variants_[v].weights};
    size_t s = static_cast<size_t>(std::find(slices_.begin(), slices_.end(), slice) - slices_.begin());
    if (s == slices_.size()) slices_.push_back(slice);
    items_.push_back({item, v, s});
  }

  static bool same_shape(const ConvItem& a, const ConvItem& b) {
    return a.images == b.images && a.rows == b.rows && a.input_rows == b.input_rows && a.pad_begin == b.pad_begin &&
           a.pad_end == b.pad_end && a.channels == b.channels;
  }

  ConvDesc describe(const ConvItem& shape) const { return describe_conv(form_, shape, choice_, has_bias_); }

  TileCopy gather(const View& view, const Box& box, const Desc& tile) const {
    if (choice_.blocked || choice_.pad_in_tile) return {picture_desc(view, box), tile};
    const BoxDescs d = box_descs(view, box);
    return {d.view, d.dense};
  }
  TileCopy scatter(const View& view, const Box& box, const Desc& tile) const {
    if (choice_.blocked) return {tile, picture_desc(view, box)};
    const BoxDescs d = box_descs(view, box);
    return {d.dense, d.view};
  }
  /// Where the input lies in a source tile that holds its padding too.
  Desc interior(const Desc& tile, const ConvItem& shape) const {
    if (!choice_.pad_in_tile) return tile;
    const Dims dims = {shape.images, axis_size(form_.source.axes.back()), shape.input_rows,
                       axis_size(form_.source.axes[2])};
    return tile.submemory_desc(dims, {0, 0, shape.pad_begin, form_.pads_begin[1]});
  }

  Desc operand_desc(const Step& s, const ConvItem& shape, const Desc& destination) const {
    if (s.spread == Spread::full) return destination;
    Dims ones(std::max<size_t>(form_.destination.axes.size(), 4), 1);
    if (s.spread == Spread::channel || s.spread == Spread::image_channel) ones[1] = shape.channels;
    return f32_desc(ones);
  }

  /// The primitive with the residual as a sum (in place) or as a binary post-op; the arguments follow `arguments()`.
  Compiled compile(const ConvDesc& conv, const ConvItem& shape, size_t steps, bool sum,
                   std::vector<std::pair<int, Desc>>& list) const {
    std::vector<PostOp> post_ops;
    std::vector<std::pair<int, Desc>> operands;
    for (size_t i = 0; i < steps; ++i) {
      const Step& s = form_.steps[i];
      if (s.spread == Spread::none) {
        append_eltwise(s, post_ops);
      } else if (sum && is_residual(i)) {
        post_ops.push_back({PostOp::Kind::sum, {}, 0, 0, {}});
      } else {
        const Desc operand = operand_desc(s, shape, conv.destination);
        operands.push_back(
            {DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(post_ops.size())) | DNNL_ARG_SRC_1, operand});
        post_ops.push_back({PostOp::Kind::binary, binary_algorithm(s.kind), 0, 0, operand});
      }
    }
    Compiled c = make_conv(conv, post_ops);
    if (c.implementation.find("ref") != std::string::npos || c.implementation.find("simple") != std::string::npos) {
      fail(ErrorCode::unsupported, "oneDNN would run this convolution by its slow implementation {}", c.implementation);
    }
    list = {{DNNL_ARG_SRC, c.source},
            {DNNL_ARG_WEIGHTS, c.weights},
            {DNNL_ARG_DST, c.destination},
            {DNNL_ARG_SCRATCHPAD, c.scratchpad}};
    if (has_bias_) list.push_back({DNNL_ARG_BIAS, conv.bias});
    list.insert(list.end(), operands.begin(), operands.end());
    return c;
  }

  Variant build(const ConvItem& shape) {
    Variant v;
    v.shape = shape;
    ConvDesc conv = describe(shape);
    const Box from{0, shape.images, 0, shape.input_rows, 0, axis_size(form_.source.axes.back())};
    const Box to{0, shape.images, 0, shape.rows, 0, shape.channels};
    v.source_elements = static_cast<int64_t>(conv.source.get_size() / sizeof(float));
    v.destination_elements = static_cast<int64_t>(conv.destination.get_size() / sizeof(float));
    int64_t bytes = 0;
    const auto reserve = [&](int64_t elements) {
      const int64_t at = bytes;
      bytes += aligned(elements * static_cast<int64_t>(sizeof(float)));
      return at;
    };
    if (!source_direct_) {
      v.gather_source = std::make_unique<TileCopy>(gather(form_.source, from, interior(conv.source, shape)));
      v.source_tile = reserve(v.source_elements);
    }
    if (!destination_direct_) {
      v.scatter_destination = std::make_unique<TileCopy>(scatter(form_.destination, to, conv.destination));
      v.destination_tile = reserve(v.destination_elements);
    }
    for (size_t i = 0; i < feeds_.size(); ++i) {
      const bool copied = feeds_[i] == Feed::tile || feeds_[i] == Feed::destination;
      v.gather_operand.push_back(
          copied ? std::make_unique<TileCopy>(gather(form_.steps[i].operand, to, conv.destination)) : nullptr);
      v.operand_tile.push_back(feeds_[i] == Feed::tile ? reserve(v.destination_elements) : -1);
    }
    v.scratchpad = bytes;
    const bool residual = !feeds_.empty() && is_residual(0);
    int64_t scratchpad = 0;
    const auto launcher = [&](bool sum) {
      std::vector<std::pair<int, Desc>> list;
      Compiled c = compile(conv, shape, form_.steps.size(), sum, list);
      scratchpad = std::max(scratchpad, static_cast<int64_t>(c.scratchpad.get_size()));
      conv.weights = v.weights = c.weights;  // oneDNN's choice depends on the post-ops: one for all
      resources_.implementation =
          c.implementation + (choice_.blocked ? " in blocks" : "") + (choice_.pad_in_tile ? ", padded tile" : "");
      return std::make_unique<Launcher>(std::move(c.primitive), std::move(list));
    };
    if (residual && (feeds_[0] == Feed::destination || !resources_.in_place.empty())) v.in_place = launcher(true);
    if (!residual || feeds_[0] == Feed::direct) v.apart = launcher(false);
    v.bytes = bytes + aligned(scratchpad);
    return v;
  }

  /// Pointers of one item in one run.
  struct Bound {
    const float* source;
    float* destination;
    std::vector<const float*> operands;  // one a step; null where the step has none
    void* scratchpad;
    bool in_place;
  };

  void run_item(const RunContext& context, const ConvParameters& packed, const PlacedItem& placed) const {
    const Variant& v = variants_[placed.variant];
    const Bound bound = bind(context, v, placed.item);
    const bool unbounded = gaps_ && std::isinf(largest_magnitude(bound.source, v.source_elements));
    if (unbounded || (guarded_ > 0 && !safe(packed, v, bound)))
      return run_plainly(context, packed, placed, bound, unbounded);
    launch(bound.in_place ? *v.in_place : *v.apart, packed.weights[placed.slice], packed, placed.slice, bound,
           form_.steps.size(), bound.destination);
    if (v.scatter_destination) {
      const ConvItem& i = placed.item;
      const Box box{i.image, i.images, i.row, i.rows, i.channel, i.channels};
      v.scatter_destination->execute(bound.destination,
                                     static_cast<float*>(context.outputs[0]) + offset_of(form_.destination, box));
    }
  }

  Bound bind(const RunContext& context, const Variant& v, const ConvItem& i) const {
    const auto input = [&](const View& view) {
      return static_cast<const float*>(context.inputs[static_cast<size_t>(view.input)]);
    };
    char* scratch = static_cast<char*>(context.scratch);
    const auto tile = [&](int64_t at) { return reinterpret_cast<float*>(scratch + at); };
    const Box from{i.image, i.images, i.input_row, i.input_rows, 0, 0},
        to{i.image, i.images, i.row, i.rows, i.channel, i.channels};
    Bound b;
    b.source = input(form_.source) + offset_of(form_.source, from);
    if (v.gather_source) {
      if (choice_.pad_in_tile)
        std::memset(tile(v.source_tile), 0, static_cast<size_t>(v.source_elements) * sizeof(float));
      v.gather_source->execute(b.source, tile(v.source_tile));
      b.source = tile(v.source_tile);
    }
    b.destination = v.scatter_destination ? tile(v.destination_tile)
                                          : static_cast<float*>(context.outputs[0]) + offset_of(form_.destination, to);
    for (size_t s = 0; s < form_.steps.size(); ++s) {
      const Step& step = form_.steps[s];
      const float* at = nullptr;
      if (feeds_[s] == Feed::constant) at = &step.constant;
      if (feeds_[s] == Feed::direct || v.gather_operand[s]) at = input(step.operand) + operand_offset(step, to);
      if (v.gather_operand[s]) {
        float* copy = feeds_[s] == Feed::destination ? b.destination : tile(v.operand_tile[s]);
        if (at != copy) v.gather_operand[s]->execute(at, copy);
        at = copy;
      }
      b.operands.push_back(at);
    }
    b.in_place = !b.operands.empty() && v.in_place && b.operands[0] == b.destination;
    b.scratchpad = scratch + v.scratchpad;
    return b;
  }

  static int64_t operand_offset(const Step& s, const Box& box) {
    if (s.spread == Spread::scalar) return s.operand.offset;
    return offset_of(s.operand, box);  // repeated axes have stride 0
  }

  void launch(const Launcher& launcher, const OwnMemory& weights, const ConvParameters& packed, size_t slice,
              const Bound& b, size_t steps, float* destination) const {
    std::vector<Argument> list{{b.source}, {nullptr, weights.get()}, {destination}, {b.scratchpad}};
    if (has_bias_) list.push_back({nullptr, packed.bias[slice].get()});
    for (size_t i = 0; i < steps; ++i) {
      if (form_.steps[i].spread == Spread::none || (b.in_place && is_residual(i))) continue;
      list.push_back({b.operands[i]});
    }
    launcher.execute(list);
  }

  /// True where no number can overflow, and so no NaN arise, before the last step that would lose it.
  bool safe(const ConvParameters& packed, const Variant& v, const Bound& b) const {
    double x = packed.weight_norm * largest_magnitude(b.source, v.source_elements) + packed.bias_bound;
    for (size_t i = 0; i < guarded_; ++i) {
      if (!(x < kSafe)) return false;
      const Step& s = form_.steps[i];
      double y = 0;
      if (s.spread == Spread::constant) {
        y = std::fabs(s.constant);
      } else if (s.spread != Spread::none) {
        const int64_t count = s.spread == Spread::full     ? v.destination_elements
                              : s.spread == Spread::scalar ? 1
                                                           : v.shape.channels;
        y = packed.operand_bounds[i] >= 0 ? packed.operand_bounds[i] : largest_magnitude(b.operands[i], count);
      }
      if (!(y < kSafe)) return false;
      x = onednn::bound(s, x, y);
    }
    return x < kSafe;
  }

  /// The rare case: the sums by oneDNN without post-ops, the steps by plain arithmetic that keeps NaN and infinities.
  /// `unbounded`: there are such numbers among the inputs of a form whose weights have zeros for missing taps.
  void run_plainly(const RunContext& context, const ConvParameters& packed, const PlacedItem& placed, const Bound& b,
                   bool unbounded) const {
    const Variant& v = variants_[placed.variant];
    std::vector<std::pair<int, Desc>> list;
    const Compiled c = compile(describe(v.shape), v.shape, 0, false, list);
    const OwnMemory& given = packed.weights[placed.slice];
    std::optional<OwnMemory> repacked;
    if (!(c.weights == v.weights)) {
      repacked.emplace(c.weights);
      execute_reorder(make_reorder(v.weights, c.weights), v.weights, given.data(), c.weights, repacked->data());
    }
    const OwnMemory sums(c.destination), scratchpad(c.scratchpad);
    Bound plain = b;
    plain.scratchpad = scratchpad.data();
    std::vector<float> finite;
    if (unbounded) {
      finite.assign(b.source, b.source + v.source_elements);
      for (float& x : finite) x = std::isfinite(x) ? x : 0;
      plain.source = finite.data();
    }
    launch(Launcher(c.primitive, list), repacked ? *repacked : given, packed, placed.slice, plain, 0,
           static_cast<float*>(sums.data()));
    const ConvItem& i = placed.item;
    const Box box{i.image, i.images, i.row, i.rows, i.channel, i.channels};
    const Desc channels_last_tile = tile_desc(form_.destination, i.images, i.rows, i.channels, {});
    const OwnMemory dense(channels_last_tile);
    TileCopy(c.destination, channels_last_tile)
        .execute(static_cast<const float*>(sums.data()), static_cast<float*>(dense.data()));
    if (unbounded) add_unbounded(context, placed, given, static_cast<float*>(dense.data()));
    std::vector<OwnMemory> tensors;  // operands in the order of the dense tile
    std::vector<const float*> operands = b.operands;
    for (size_t s = 0; s < form_.steps.size(); ++s) {
      const Step& step = form_.steps[s];
      if (step.spread != Spread::full) continue;
      const BoxDescs descs = box_descs(step.operand, box);
      tensors.emplace_back(channels_last_tile);
      const auto* input = static_cast<const float*>(context.inputs[static_cast<size_t>(step.operand.input)]);
      TileCopy(descs.view, descs.dense)
          .execute(input + offset_of(step.operand, box), static_cast<float*>(tensors.back().data()));
      operands[s] = static_cast<const float*>(tensors.back().data());
    }
    apply_steps(static_cast<float*>(dense.data()), i.images * i.rows * middle_ * i.channels, i.channels, operands);
    const BoxDescs descs = box_descs(form_.destination, box);
    TileCopy(descs.dense, descs.view)
        .execute(static_cast<const float*>(dense.data()),
                 static_cast<float*>(context.outputs[0]) + offset_of(form_.destination, box));
  }

  void add_unbounded(const RunContext& context, const PlacedItem& placed, const OwnMemory& weights, float* sums) const {
    const ConvItem& i = placed.item;
    const Box from{i.image, i.images, i.input_row, i.input_rows, 0, axis_size(form_.source.axes.back())};
    const BoxDescs descs = box_descs(form_.source, from);
    const OwnMemory source(descs.dense);
    const auto* input = static_cast<const float*>(context.inputs[static_cast<size_t>(form_.source.input)]);
    TileCopy(descs.view, descs.dense)
        .execute(input + offset_of(form_.source, from), static_cast<float*>(source.data()));
    add_unbounded_terms(form_, i, dense_slice(form_, slices_[placed.slice], weights),
                        static_cast<const float*>(source.data()), sums);
  }

  /// Every step on every element of a channels-last tile.
  void apply_steps(float* tile, int64_t elements, int64_t channels, const std::vector<const float*>& operands) const {
    for (int64_t e = 0; e < elements; ++e) {
      float x = tile[e];
      for (size_t i = 0; i < form_.steps.size(); ++i) {
        const Step& s = form_.steps[i];
        const bool by_channel = s.spread == Spread::channel || s.spread == Spread::image_channel;
        const int64_t at = s.spread == Spread::full ? e : by_channel ? e % channels : 0;
        x = apply(s, x, operands[i] ? operands[i][at] : 0.0f);
      }
      tile[e] = x;
    }
  }

  ConvForm form_;
  Step bias_;
  ConvChoice choice_;
  bool has_bias_ = false, source_direct_ = false, destination_direct_ = false;
  bool gaps_ = false;                  // a transposed convolution whose phases lack taps
  int64_t channels_ = 0, middle_ = 1;  // output channels; spatial size without rows
  size_t guarded_ = 0;                 // steps up to the last that loses NaN; 0 = none
  std::vector<Feed> feeds_;
  std::vector<Variant> variants_;
  std::vector<WeightSlice> slices_;
  std::vector<PlacedItem> items_;
  ir::KernelResources resources_;
};

}  // namespace

std::unique_ptr<Kernel> make_conv_kernel(ConvForm form, const ConvSplit& split, ConvChoice choice) {
  return std::make_unique<ConvKernel>(std::move(form), split, std::move(choice));
}

}  // namespace weft::backends::onednn
