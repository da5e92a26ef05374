// Sliding windows: depthwise convolution (channels last), max and average pools (either layout), with elementwise
// epilogue. A channels-first pool is the channels-last one over planes of one channel.
#include <algorithm>
#include <cstring>

#include "backends/tbb/kernel.hpp"
#include "backends/tbb/vector_windows.hpp"

namespace weft::backends::tbb {
namespace {

using ir::Op;

class PackedWeights : public PackedParameters {
 public:
  explicit PackedWeights(size_t n) : values(n) {}
  int64_t bytes() const override { return static_cast<int64_t>(values.size() * sizeof(float)); }
  std::vector<float> values;
};

class WindowKernel : public FamilyKernel {
 public:
  WindowKernel(const FamilyRequest& request, std::shared_ptr<const Analysis> analysis, Op op, WindowRow shape,
               int64_t images, int64_t rows, int64_t columns, int x, int weights, Epilogue epilogue)
      : FamilyKernel(std::move(analysis)),
        op_(op),
        shape_(shape),
        images_(images),
        rows_(rows),
        columns_(columns),
        x_(x),
        weights_(weights),
        epilogue_(std::move(epilogue)) {
    piece_ = std::clamp<int64_t>(4096 / shape_.channels / 4 * 4, 4, std::max<int64_t>(4, (columns_ + 3) / 4 * 4));
    packed_ = weights >= 0 && request.operands[static_cast<size_t>(weights)] == ir::OperandKind::parameter;
    weight_floats_ = weights >= 0 ? shape_.kernel_h * shape_.kernel_w * shape_.channels : 0;
    const double outputs = static_cast<double>(epilogue_.elements());
    const double taps = outputs * static_cast<double>(shape_.kernel_h * shape_.kernel_w);
    Load load;
    load.bytes = 4 * (static_cast<double>(images_ * shape_.height * shape_.width * shape_.channels) + outputs +
                      static_cast<double>(weight_floats_)) +
                 leaf_bytes(*analysis_, epilogue_.code());
    // Channels fill whole vectors but for the last; a tap is one load and one operation.
    const double lanes = machine().gflops_f32 / 7, vectors = std::ceil(static_cast<double>(shape_.channels) / lanes);
    const double filling = static_cast<double>(shape_.channels) / (vectors * lanes);
    const bool wide = machine().cpu == "avx3";  // 32 registers
    const double flops_a_tap = weights >= 0          ? (wide                  ? 2.6
                                                        : shape_.kernel_w > 3 ? 3.8
                                                                              : 5.2)
                               : op_ == Op::max_pool ? 6.0
                                                     : 4.0;
    const double tap_ns = shape_.channels == 1 ? 0.15 : flops_a_tap / machine().gflops_f32 / filling;
    load.compute_ns = taps * tap_ns + outputs * epilogue_.code().nanoseconds_per_element() +
                      (epilogue_.trivial ? 0 : 0.05 * outputs) +
                      (shape_.channels == 1 ? 30.0 * static_cast<double>(images_ * rows_)
                                            : 10.0 * static_cast<double>(images_ * rows_ * columns_)) +
                      100;
    load.units = images_ * rows_;
    name = op_ == Op::conv ? "depthwise" : std::string(ir::to_string(op_));
    price(load, request.threads, name);
    epilogue_scratch_ = align64(epilogue_.scratch_bytes());
    plane_ = shape_.channels == 1 && op_ != Op::conv;
    if (plane_) count_columns();
    const int64_t extra = plane_ ? shape_.line_floats(piece_) : packed_ ? 0 : weight_floats_;
    resources_.scratch_bytes = epilogue_scratch_ + align64(4 * piece_ * shape_.channels) + align64(4 * extra);
  }

  std::unique_ptr<PackedParameters> pack(std::span<const ir::Tensor> operands) const override {
    if (!packed_) return nullptr;
    auto packed = std::make_unique<PackedWeights>(static_cast<size_t>(weight_floats_));
    pack_weights(static_cast<const float*>(operands[static_cast<size_t>(weights_)].data()), packed->values.data());
    return packed;
  }

  void run(const RunContext& context, int part) const override {
    if (epilogue_.elements() == 0) return;
    char* scratch = static_cast<char*>(context.scratch);
    const Sources bases = sources(context);
    Epilogue::Runner epilogue(epilogue_, bases, scratch, context);
    float* buffer = reinterpret_cast<float*>(scratch + epilogue_scratch_);
    WindowRow row = shape_;
    if (weights_ >= 0) {
      float* own = reinterpret_cast<float*>(scratch + epilogue_scratch_ + align64(4 * piece_ * shape_.channels));
      if (packed_ && context.packed) {
        row.weights = static_cast<const PackedWeights*>(context.packed)->values.data();
      } else {
        pack_weights(static_cast<const float*>(bases[static_cast<size_t>(weights_)]), own);
        row.weights = own;
      }
    }
    const float* x = static_cast<const float*>(bases[static_cast<size_t>(x_)]);
    const WindowFunctions& f = window_functions();
    auto compute = op_ == Op::conv ? f.depthwise : op_ == Op::max_pool ? f.max : f.average;
    if (plane_) {
      compute = op_ == Op::max_pool ? f.max_plane : f.average_plane;
      row.line = buffer + align64(4 * piece_ * shape_.channels) / 4;
      row.column_counts = column_counts_.data();
    }
    const Share share = share_of(images_ * rows_, 1, part, parts());
    for (int64_t at = share.begin; at < share.end; ++at) {
      row.x = x + at / rows_ * shape_.height * shape_.width * shape_.channels;
      row.row = at % rows_;
      for (row.begin = 0; row.begin < columns_; row.begin += piece_) {
        row.end = std::min(columns_, row.begin + piece_);
        const int64_t flat = (at * columns_ + row.begin) * shape_.channels;
        row.out = epilogue.place(flat, buffer);
        compute(row);
        epilogue.finish(flat, (row.end - row.begin) * shape_.channels, row.out);
      }
    }
  }

 private:
  /// [channels][taps] to [taps][channels].
  void pack_weights(const float* from, float* to) const {
    const int64_t taps = shape_.kernel_h * shape_.kernel_w;
    const int64_t dims[2] = {taps, shape_.channels}, dst[2] = {shape_.channels, 1}, src[2] = {1, taps};
    copy_strided(to, dst, from, src, dims, 2, 4);
  }

  void count_columns() {
    const int64_t limit = shape_.width + (shape_.count_padding ? shape_.high_w : 0);
    for (int64_t at = 0; at < columns_; ++at) {
      int64_t n = 0;
      for (int64_t k = 0; k < shape_.kernel_w; ++k) {
        const int64_t x = at * shape_.stride_w - shape_.low_w + k * shape_.dilation_w;
        n += x < limit && (shape_.count_padding || x >= 0);
      }
      column_counts_.push_back(static_cast<float>(n));
    }
  }

  Op op_;
  WindowRow shape_;
  std::vector<float> column_counts_;
  int64_t images_, rows_, columns_;
  int x_, weights_;
  Epilogue epilogue_;
  int64_t piece_ = 4, weight_floats_ = 0, epilogue_scratch_ = 0;
  bool packed_ = false, plane_ = false;
};

ir::Refusal no(std::string why) { return {"window: " + std::move(why)}; }

/// Images, output rows and columns of a window op over x, and its window; a reason where it does not fit.
struct Geometry {
  WindowRow row;
  int64_t images = 1, rows = 1, columns = 1;
  std::string refusal;
};

Geometry geometry_of(const ir::Node& node, const Ints& x, const Ints& y, const Ints& kernel) {
  Geometry g;
  const size_t spatial = x.size() - 2;
  if (spatial > 2) {
    g.refusal = fmt::format("{} spatial axes", spatial);
    return g;
  }
  const bool last = node.attributes->text("layout") == "nxc";
  const size_t first = last ? 1 : 2;
  WindowRow& r = g.row;
  const auto entry = [&](const char* list, size_t i, int64_t fallback) {
    const auto& values = node.attributes->ints(list);
    return i < values.size() ? values[i] : fallback;
  };
  const auto set = [&](size_t axis, int64_t& size, int64_t& k, int64_t& stride, int64_t& dilation, int64_t& low,
                       int64_t& high) {
    size = x[first + axis];
    k = kernel[axis];
    stride = entry("strides", axis, 1);
    dilation = entry("dilations", axis, 1);
    low = entry("pads", axis, 0);
    high = entry("pads", spatial + axis, 0);
  };
  if (spatial == 2) set(0, r.height, r.kernel_h, r.stride_h, r.dilation_h, r.low_h, r.high_h);
  set(spatial - 1, r.width, r.kernel_w, r.stride_w, r.dilation_w, r.low_w, r.high_w);
  g.rows = spatial == 2 ? y[first] : 1;
  g.columns = y[first + spatial - 1];
  r.channels = last ? x.back() : 1;
  g.images = last ? x[0] : x[0] * x[1];
  return g;
}

Match match_window(const FamilyRequest& request, bool convolution) {
  if (request.analysis->anchors.size() != 1) return no("not exactly one structured op");
  const Anchor& anchor = request.analysis->anchors[0];
  const ir::Node& node = *anchor.node;
  const bool wanted = convolution ? node.op == Op::conv : node.op == Op::max_pool || node.op == Op::avg_pool;
  if (!wanted) return no(fmt::format("'{}' is not of this family", ir::to_string(node.op)));
  const Analysis& analysis = *request.analysis;
  if (node.types[0].dtype != ir::DType::f32) return no(fmt::format("dtype {}", ir::to_string(node.types[0].dtype)));
  const Source* x = plain_source(analysis, anchor.operands[0]);
  if (!x || x->kind != Source::Kind::input) return no("x is not an operand as it lies");
  const Ints dims = analysis.exprs[anchor.operands[0]].dims, result = ints_of(node.types[0].shape);
  Ints kernel;
  int weights = -1;
  if (convolution) {
    const Source* w = plain_source(analysis, anchor.operands[1]);
    if (!w || w->kind != Source::Kind::input) return no("the weights are not an operand as they lie");
    const Ints wdims = analysis.exprs[anchor.operands[1]].dims;
    if (node.attributes->text("layout") != "nxc" || wdims[1] != 1 || wdims[0] != dims.back() ||
        node.attributes->integer("groups") != dims.back()) {
      return no("only depthwise convolutions in nxc (groups = channels = output channels)");
    }
    kernel.assign(wdims.begin() + 2, wdims.end());
    weights = w->index;
  } else {
    kernel.assign(node.attributes->ints("kernel").begin(), node.attributes->ints("kernel").end());
  }
  Geometry g = geometry_of(node, dims, result, kernel);
  if (!g.refusal.empty()) return no(g.refusal);
  if (g.row.channels == 0 || product(dims) == 0) return no("an empty image");
  g.row.count_padding = node.op == Op::avg_pool && node.attributes->boolean("count_include_pad");
  Epilogue epilogue(analysis, anchor.sources[0]);
  if (!epilogue.refusal.empty()) return no(epilogue.refusal);
  return std::make_unique<WindowKernel>(request, request.analysis, node.op, g.row, g.images, g.rows, g.columns,
                                        x->index, weights, std::move(epilogue));
}

}  // namespace

Match match_depthwise(const FamilyRequest& request) { return match_window(request, true); }
Match match_pool(const FamilyRequest& request) { return match_window(request, false); }

}  // namespace weft::backends::tbb
