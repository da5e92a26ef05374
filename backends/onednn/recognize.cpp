// The second half of recognition: the convolution or matmul itself, and its steps in the coordinates of its tiles.
#include <algorithm>
#include <cmath>

#include "backends/onednn/epilogue.hpp"
#include "backends/onednn/form.hpp"
#include "ir/support/error.hpp"

namespace weft::backends::onednn {
namespace {

using ir::Node;
using ir::Op;
using ir::Value;

/// Makes the form of a program, in which `steps_` and `destination_` take the coordinates of its tiles.
class Recognizer {
 public:
  Recognizer(const ir::Graph& graph, std::span<const ir::OperandKind> kinds)
      : graph_(graph), kinds_(kinds), operands_(graph_) {}

  Form run() {
    Epilogue epilogue = walk_back(graph_, operands_);
    steps_ = std::move(epilogue.steps);
    destination_ = std::move(epilogue.destination);
    if (epilogue.root.op == Op::matmul) return matmul(epilogue.root);
    if (epilogue.root.op == Op::conv) return conv(epilogue.root);
    return conv_transpose(epilogue.root);
  }

 private:
  /// A view without repeated elements.
  View solid_view(Value v) const {
    View found = view_of(operands_, v);
    for (const Axis& axis : found.axes)
      for (const SubDim& d : axis)
        if (d.stride == 0) refuse("an operand that is broadcast");
    return found;
  }

  bool is_parameter(const View& view) const {
    return kinds_[static_cast<size_t>(view.input)] == ir::OperandKind::parameter;
  }

  /// Sorts the operands of steps by how they lie against tiles whose last axis is the channel.
  void spread_operands() {
    for (Step& s : steps_) {
      if (s.spread != Spread::full) continue;
      const std::vector<Axis>& axes = s.operand.axes;
      const auto repeated = [](const Axis& axis) {
        return std::all_of(axis.begin(), axis.end(), [](SubDim d) { return d.stride == 0; });
      };
      const auto whole = [](const Axis& axis) {
        return std::none_of(axis.begin(), axis.end(), [](SubDim d) { return d.stride == 0; });
      };
      const bool middle = std::all_of(axes.begin() + 1, axes.end() - 1, repeated);
      const bool dense_channel = axes.back().empty() || axes.back().back().stride == 1;
      if (middle && repeated(axes.front()) && repeated(axes.back())) {
        s.spread = Spread::scalar;
      } else if (middle && repeated(axes.front()) && dense_channel) {
        s.spread = Spread::channel;
      } else if (middle && whole(axes.front()) && dense_channel && even_stride(axes.front())) {
        s.spread = Spread::image_channel;
      } else if (!std::all_of(axes.begin(), axes.end(), whole)) {
        refuse("an operand of the epilogue that repeats along some axes only");
      }
    }
    check_guard();
  }

  /// Steps that lose NaN are guarded by a bound; a chain whose bound is never finite would always run slowly.
  void check_guard() const {
    double b = 1;
    for (const Step& s : steps_) {
      b = bound(s, b, s.spread == Spread::constant ? std::fabs(s.constant) : 1);
      if (loses_nan(s.kind) && !std::isfinite(b)) refuse("a clamp behind a step that can make NaN of finite numbers");
    }
  }

  Form conv(const Node& n) {
    const ir::Attributes& a = *n.attributes;
    ConvForm form;
    form.kernel = "conv";
    form.source = solid_view(n.operands[0]);
    form.weights = solid_view(n.operands[1]);
    form.fixed_weights = is_parameter(form.weights);
    if (n.operands.size() > 2) refuse("a convolution with {} operands", n.operands.size());
    const size_t spatial = form.source.axes.size() - 2;
    form.groups = a.integer("groups");
    form.strides = a.ints("strides");
    form.dilations = a.ints("dilations");
    const std::vector<int64_t>& pads = a.ints("pads");
    form.strides.resize(spatial, 1);
    form.dilations.resize(spatial, 1);
    form.pads_begin.assign(spatial, 0);
    form.pads_end.assign(spatial, 0);
    for (size_t i = 0; i < spatial && pads.size() == 2 * spatial; ++i) {
      form.pads_begin[i] = pads[i];
      form.pads_end[i] = pads[spatial + i];
    }
    const std::vector<int64_t> weights = sizes(form.weights);
    form.window.assign(weights.begin() + 2, weights.end());
    if (a.text("layout") == "ncx") channels_to_end(form);
    form.destination = destination_;
    finish(form);
    return form;
  }

  /// The steps of a convolution whose views are in the coordinates of the tile.
  void finish(ConvForm& form) {
    spread_operands();
    const auto even = [](const View& v) { return even_stride(v.axes[0]) && even_stride(v.axes[1]); };
    bool all_even = even(form.source) && even(form.destination);
    for (const Step& s : steps_)
      if (s.spread == Spread::full) all_even = all_even && even(s.operand);
    if (!all_even) refuse("batch or rows that are no even step in memory");
    for (ir::NodeId id : graph_.inputs()) form.inputs.push_back(graph_.node(id).types[0]);
    form.steps = std::move(steps_);
    if (form.steps.empty()) return;
    const Step& first = form.steps[0];
    form.bias_first = first.kind == StepKind::add && first.spread == Spread::channel && is_parameter(first.operand);
    for (size_t i = form.bias_first ? 1 : 0; i < form.steps.size(); ++i) {
      const Step& s = form.steps[i];
      const bool by_channel = s.spread == Spread::channel || s.spread == Spread::image_channel;
      if (by_channel && !even_stride(s.operand.axes.back()))
        refuse("an operand a channel whose elements do not lie side by side");
    }
  }

  /// Every output phase becomes a group of channels; see Phases.
  Form conv_transpose(const Node& n) {
    const ir::Attributes& a = *n.attributes;
    ConvForm form;
    form.kernel = "conv_transpose";
    form.source = solid_view(n.operands[0]);
    Phases phases{solid_view(n.operands[1]), a.ints("strides"), {}};
    form.fixed_weights = is_parameter(phases.weights);
    const size_t spatial = form.source.axes.size() - 2;
    phases.stride.resize(spatial, 1);
    phases.pads_begin = a.ints("pads");
    phases.pads_begin.resize(spatial, 0);
    const auto ones = [](const std::vector<int64_t>& list) {
      return std::all_of(list.begin(), list.end(), [](int64_t d) { return d == 1; });
    };
    if (a.integer("groups") != 1 || !ones(a.ints("dilations")))
      refuse("a transposed convolution with groups or dilations");
    if (a.text("layout") == "ncx") channels_to_end(form);
    const std::vector<int64_t> weights = sizes(phases.weights), in = sizes(form.source), out = sizes(destination_);
    int64_t count = 1;
    for (size_t i = 0; i < spatial; ++i) {
      const int64_t stride = phases.stride[i], pad = phases.pads_begin[i], window = weights[2 + i];
      if (out[1 + i] % stride != 0)
        refuse("a transposed convolution whose result of {} is no multiple of the stride {}", out[1 + i], stride);
      int64_t low = 0, high = 0;  // input rows that some phase of output pixel q reads: [q + low, q + high]
      for (int64_t r = 0; r < stride; ++r) {
        const int64_t shift = (r + pad) / stride, taps = (window - (r + pad) % stride + stride - 1) / stride;
        low = std::min(low, shift - taps + 1);
        high = std::max(high, shift);
      }
      form.window.push_back(high - low + 1);
      form.pads_begin.push_back(-low);
      form.pads_end.push_back(out[1 + i] / stride + high - in[1 + i]);
      if (form.pads_end.back() < 0) refuse("a transposed convolution that drops input at the end");
      count *= stride;
    }
    form.strides.assign(spatial, 1);
    form.dilations.assign(spatial, 1);
    std::vector<int64_t> shape = {weights[1] * count, weights[0]};
    shape.insert(shape.end(), form.window.begin(), form.window.end());
    form.weights = dense_view(phases.weights.input, shape);
    const auto phased = [&](const View& view) {
      const std::optional<View> split = split_phases(view, phases.stride);
      if (!split) refuse("a transposed convolution behind which memory is no even step");
      return *split;
    };
    form.destination = phased(destination_);
    for (Step& s : steps_)
      if (s.spread == Spread::full) s.operand = phased(s.operand);
    form.phases = std::move(phases);
    finish(form);
    return form;
  }

  /// [N, spatial..., C] with every spatial axis cut into pixel and phase, and the phases put in front of the channels.
  static std::optional<View> split_phases(const View& view, const Dims& stride) {
    std::vector<int64_t> dims = {axis_size(view.axes[0])};
    for (size_t i = 0; i < stride.size(); ++i) {
      dims.push_back(axis_size(view.axes[1 + i]) / stride[i]);
      dims.push_back(stride[i]);
    }
    dims.push_back(axis_size(view.axes.back()));
    const std::optional<View> cut = reshaped(view, dims);
    if (!cut) return std::nullopt;
    View result{view.input, view.offset, {cut->axes[0]}};
    Axis channels;
    for (size_t i = 0; i < stride.size(); ++i) {
      result.axes.push_back(cut->axes[1 + 2 * i]);
      channels.insert(channels.end(), cut->axes[2 + 2 * i].begin(), cut->axes[2 + 2 * i].end());
    }
    channels.insert(channels.end(), cut->axes.back().begin(), cut->axes.back().end());
    result.axes.push_back(channels);
    return merged(result, result.axes.size() - 1, 1);  // merges what steps evenly
  }

  void channels_to_end(ConvForm& form) {
    std::vector<int64_t> permutation{0};
    for (size_t i = 2; i < form.source.axes.size(); ++i) permutation.push_back(static_cast<int64_t>(i));
    permutation.push_back(1);
    form.source = transposed(form.source, permutation);
    destination_ = transposed(destination_, permutation);
    for (Step& s : steps_)
      if (s.spread == Spread::full) s.operand = transposed(s.operand, permutation);
  }

  Form matmul(const Node& n) {
    View a = solid_view(n.operands[0]), b = solid_view(n.operands[1]);
    if (a.axes.size() < 2 || b.axes.size() < 2) refuse("a matmul with a vector operand");
    if (n.attributes->boolean("transpose_a")) std::swap(a.axes.end()[-1], a.axes.end()[-2]);
    if (n.attributes->boolean("transpose_b")) std::swap(b.axes.end()[-1], b.axes.end()[-2]);
    const bool shared = std::all_of(b.axes.begin(), b.axes.end() - 2, [](const Axis& x) { return axis_size(x) == 1; });
    if (shared && is_parameter(b) && a.axes.size() == destination_.axes.size()) {
      if (std::optional<ConvForm> form = as_conv(a, b)) return std::move(*form);
    }
    return batched(std::move(a), std::move(b));
  }

  /// Rows of a matmul by a parameter as pixels of a 1x1 convolution: all rows as one run, or the two levels [batch,
  /// row].
  std::optional<ConvForm> as_conv(const View& a, const View& b) {
    const size_t rank = a.axes.size();
    for (const bool one_run : {true, false}) {
      const auto tile = [&](const View& v) {
        View t = one_run ? merged(v, 0, rank - 1) : merged(v, 0, rank - 2);
        if (one_run) t.axes.insert(t.axes.begin(), Axis{});
        if (t.axes.size() == 2) t.axes.insert(t.axes.begin(), Axis{});
        t.axes.insert(t.axes.begin() + 2, Axis{});
        return t;
      };
      if (!one_run && rank == 2) break;
      const auto fits = [](const View& t) {
        return t.axes.size() == 4 && even_stride(t.axes[0]) && even_stride(t.axes[1]);
      };
      ConvForm form;
      form.kernel = "matmul";
      form.source = tile(a);
      form.destination = tile(destination_);
      bool ok = fits(form.source) && fits(form.destination);
      std::vector<Step> steps = steps_;
      for (Step& s : steps) {
        if (s.spread != Spread::full) continue;
        s.operand = tile(s.operand);
        ok = ok && fits(s.operand);
      }
      if (!ok) continue;
      steps_ = std::move(steps);
      form.weights = View{b.input, b.offset, {b.axes.end()[-1], b.axes.end()[-2], {}, {}}};
      form.window = form.strides = form.dilations = {1, 1};
      form.pads_begin = form.pads_end = {0, 0};
      finish(form);
      return form;
    }
    return std::nullopt;
  }

  Form batched(View a, View b) {
    const size_t rank = destination_.axes.size();
    if (rank > 10) refuse("a matmul of rank {}", rank);
    const auto to_rank = [&](View& v) { v.axes.insert(v.axes.begin(), rank - v.axes.size(), Axis{}); };
    to_rank(a);
    to_rank(b);
    const auto even = [](const View& v) {
      return std::all_of(v.axes.begin(), v.axes.end(), [](const Axis& x) { return even_stride(x).has_value(); });
    };
    const auto unit = [](const View& v) { return v.axes.back().empty() || even_stride(v.axes.back()) == 1; };
    const auto unit_row = [](const View& v) { return v.axes.end()[-2].empty() || even_stride(v.axes.end()[-2]) == 1; };
    if (!even(a) || !even(b) || !even(destination_)) refuse("a matmul whose operand is no even step in memory");
    if (!unit(destination_)) refuse("a matmul with a transposed result");
    if (!(unit(a) || unit_row(a)) || !(unit(b) || unit_row(b))) refuse("a matmul operand with gaps between elements");
    MatmulForm form;
    if (!steps_.empty() && steps_[0].kind == StepKind::multiply && steps_[0].spread == Spread::constant) {
      form.scale = steps_[0].constant;
      steps_.erase(steps_.begin());
    }
    for (const Step& s : steps_) {
      if (loses_nan(s.kind)) refuse("a clamp behind a matmul of two values: oneDNN loses NaN there");
      check_matmul_operand(s);
    }
    form.a = std::move(a);
    form.b = std::move(b);
    form.destination = destination_;
    form.steps = std::move(steps_);
    return form;
  }

  void check_matmul_operand(const Step& s) const {
    if (s.spread != Spread::full) return;
    const bool same = s.operand.axes == destination_.axes;
    bool row = s.operand.axes.back().empty() || even_stride(s.operand.axes.back()) == 1;
    for (size_t i = 0; i + 1 < s.operand.axes.size(); ++i) row = row && even_stride(s.operand.axes[i]).value_or(1) == 0;
    if (!same && !row)
      refuse("a matmul of two values with an epilogue operand that is neither a row nor laid out as the result");
  }

  const ir::Graph& graph_;
  std::span<const ir::OperandKind> kinds_;
  Operands operands_;
  std::vector<Step> steps_;
  View destination_;
};

}  // namespace

Form recognize(const ir::Program& program, std::span<const ir::OperandKind> operands) {
  if (operands.size() != program.graph().inputs().size()) {
    fail(ErrorCode::invalid_argument, "onednn: {} operand kinds for a program of {} inputs", operands.size(),
         program.graph().inputs().size());
  }
  // What most programs are refused for is told without an exception.
  if (!has_root(program.graph())) return Unfit{"neither a convolution nor a matmul in it"};
  try {
    return Recognizer(program.graph(), operands).run();
  } catch (const NotOurs& why) {
    return Unfit{why.reason};
  }
}

}  // namespace weft::backends::onednn
