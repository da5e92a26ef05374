// From program to form. More than 500 lines: one walk whose cases share the chain, the views and the way to refuse.
#include <algorithm>
#include <cmath>

#include "backends/onednn/form.hpp"
#include "backends/onednn/operand.hpp"
#include "ir/support/error.hpp"

namespace weft::backends::onednn {
namespace {

using ir::Node;
using ir::Op;
using ir::Value;

/// Thrown inside this file alone: why the program is not ours.
struct NotOurs {
  std::string reason;
};
template <typename... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw NotOurs{fmt::format(format, std::forward<Args>(args)...)};
}

bool is_root(Op op) { return op == Op::conv || op == Op::conv_transpose || op == Op::matmul; }
std::string op_text(Op op) { return std::string(ir::to_string(op)); }

/// Walks from the output of a program up to its convolution or matmul.
class Recognizer {
 public:
  Recognizer(const ir::Program& program, std::span<const ir::OperandKind> kinds)
      : graph_(program.graph()), kinds_(kinds), operands_(graph_) {}

  Form run() {
    if (graph_.outputs().size() != 1) refuse("{} outputs: kernels here have one", graph_.outputs().size());
    find_root();
    Value v = graph_.outputs()[0].value;
    destination_ = dense_view(-1, ir::to_ints(graph_.type(v).shape));
    while (!is_root(node(v).op)) v = step_over(v);
    std::reverse(steps_.begin(), steps_.end());
    if (node(v).op == Op::matmul) return matmul(node(v));
    if (node(v).op == Op::conv) return conv(node(v));
    return conv_transpose(node(v));
  }

 private:
  const Node& node(Value v) const { return graph_.node(v.node); }

  /// Marks what depends on the one convolution or matmul; everything must be f32, static and not empty.
  void find_root() {
    heavy_.assign(graph_.size(), false);
    int roots = 0;
    for (size_t i = 0; i < graph_.size(); ++i) {
      const Node& n = graph_.node(ir::NodeId(i));
      if (is_root(n.op)) {
        heavy_[i] = true;
        ++roots;
      }
      for (Value v : n.operands) heavy_[i] = heavy_[i] || heavy_[v.node.value];
    }
    if (roots == 0) refuse("neither a convolution nor a matmul in it");
    if (roots > 1) refuse("{} convolutions or matmuls: one kernel holds one", roots);
    for (const Node& n : graph_.nodes()) {
      for (const ir::TensorType& type : n.types) {
        if (!ir::is_static(type.shape)) refuse("the shape {} is symbolic", ir::to_string(type));
        if (type.dtype != ir::DType::f32 && n.op != Op::constant)
          refuse("dtype {}: only f32 here", ir::to_string(type.dtype));
        if (type.elements() == 0) refuse("an empty tensor {}", ir::to_string(type));
      }
    }
  }

  /// Takes one op between output and root into the chain; gives the value that it reads.
  Value step_over(Value v) {
    const Node& n = node(v);
    if (n.op == Op::reshape || n.op == Op::transpose) {
      move_back(n);
      return n.operands[0];
    }
    if (steps_.size() >= kMaxSteps) refuse("a chain of more than {} steps", kMaxSteps);
    if (!ir::info(n.op).has(ir::kElementwise)) refuse("{} behind the convolution or matmul", op_text(n.op));
    if (n.operands.size() == 1) return unary(n);
    if (n.op == Op::clip) return clip(n);
    if (n.operands.size() == 2) return binary(n);
    refuse("{} as an epilogue", op_text(n.op));
  }

  /// Views recorded so far are in the coordinates of this node's result; carries them over to its operand's.
  void move_back(const Node& n) {
    const std::vector<int64_t> dims = ir::to_ints(graph_.type(n.operands[0]).shape);
    const auto back = [&](View& view) {
      if (n.op == Op::transpose) {
        view = transposed(view, inverse(n.attributes->ints("perm")));
      } else if (std::optional<View> other = reshaped(view, dims)) {
        view = std::move(*other);
      } else {
        refuse("a reshape that mixes axes behind the convolution or matmul");
      }
    };
    back(destination_);
    for (Step& s : steps_)
      if (s.spread == Spread::full) back(s.operand);
  }

  Value unary(const Node& n) {
    const ir::Attributes& a = *n.attributes;
    const auto real = [&](const char* name) { return static_cast<float>(a.real(name)); };
    switch (n.op) {
      case Op::relu:
        push({StepKind::relu});
        break;
      case Op::leaky_relu:
        push({StepKind::leaky_relu, real("alpha")});
        break;
      case Op::hard_swish:
        push({StepKind::hard_swish});
        break;
      case Op::hard_sigmoid:
        push({StepKind::hard_sigmoid, real("alpha"), real("beta")});
        break;
      case Op::sigmoid:
        push({StepKind::sigmoid});
        break;
      case Op::tanh:
        push({StepKind::tanh});
        break;
      case Op::elu:
        push({StepKind::elu, real("alpha")});
        break;
      case Op::gelu:
        push({a.text("approximate") == "none" ? StepKind::gelu : StepKind::gelu_tanh});
        break;
      case Op::silu:
        push({StepKind::silu});
        break;
      case Op::exp:
        push({StepKind::exp});
        break;
      case Op::softplus:
        push({StepKind::softplus});
        break;
      case Op::abs:
        push({StepKind::abs});
        break;
      case Op::neg:
        push_constant(StepKind::multiply, -1.0f);
        break;
      default:
        refuse("{} as an epilogue", op_text(n.op));
    }
    return n.operands[0];
  }

  Value clip(const Node& n) {
    const std::optional<float> low = operands_.constant(n.operands[1]), high = operands_.constant(n.operands[2]);
    if (!low || !high) refuse("clip with bounds that are not constants");
    push({StepKind::clip, *low, *high});
    return n.operands[0];
  }

  Value binary(const Node& n) {
    const Value a = n.operands[0], b = n.operands[1];
    if (heavy_[a.node.value] && heavy_[b.node.value]) return gate(n);
    if (const auto x = divided_gate(n)) return push({StepKind::hard_swish}), *x;
    const bool swapped = heavy_[b.node.value];
    const Value main = swapped ? b : a, other = swapped ? a : b;
    if (graph_.type(main).shape != n.types[0].shape)
      refuse("{} broadcasts the result of the convolution or matmul", op_text(n.op));
    switch (n.op) {
      case Op::add:
        push_operand(StepKind::add, other, n);
        break;
      case Op::mul:
        push_operand(StepKind::multiply, other, n);
        break;
      case Op::max:
        push_operand(StepKind::maximum, other, n);
        break;
      case Op::min:
        push_operand(StepKind::minimum, other, n);
        break;
      case Op::sub:
        push_operand(swapped ? StepKind::add : StepKind::subtract, other, n);
        if (swapped) push_constant(StepKind::multiply, -1.0f);
        break;
      case Op::div:
        if (swapped) refuse("a division by the result of the convolution or matmul");
        push_operand(StepKind::divide, other, n);
        break;
      default:
        refuse("{} as an epilogue", op_text(n.op));
    }
    return main;
  }

  static bool is(std::optional<float> found, double wanted) {
    return found && std::fabs(*found - wanted) < 1e-6 * std::max(1.0, wanted);
  }

  /// x * clip(x + 3, 0, 6): gives x.
  std::optional<Value> undivided_gate(const Node& product) const {
    if (product.op != Op::mul) return std::nullopt;
    for (size_t side = 0; side < 2; ++side) {
      const Value x = product.operands[side], c = product.operands[1 - side];
      if (node(c).op == Op::clip && is_clip06(node(c)) && plus_three(node(c).operands[0]) == x) return x;
    }
    return std::nullopt;
  }

  /// x * clip(x + 3, 0, 6) / 6, or times 1/6.
  std::optional<Value> divided_gate(const Node& n) const {
    if (n.op != Op::div && n.op != Op::mul) return std::nullopt;
    const std::optional<float> by = operands_.constant(n.operands[1]);
    if (!is(by, n.op == Op::div ? 6.0 : 1.0 / 6)) return std::nullopt;
    return undivided_gate(node(n.operands[0]));
  }

  /// x * f(x): silu and hard_swish, also spelled out.
  Value gate(const Node& n) {
    if (n.op != Op::mul) refuse("{} of two results of one convolution or matmul", op_text(n.op));
    if (const auto x = undivided_gate(n)) {  // not yet divided by 6: needs another step
      push_constant(StepKind::multiply, 6.0f);
      push({StepKind::hard_swish});
      return *x;
    }
    for (int side = 0; side < 2; ++side) {
      const Value x = n.operands[static_cast<size_t>(side)], f = n.operands[static_cast<size_t>(1 - side)];
      const Node& g = node(f);
      if (g.op == Op::sigmoid && g.operands[0] == x) return push({StepKind::silu}), x;
      if (g.op == Op::hard_sigmoid && g.operands[0] == x &&
          is(static_cast<float>(g.attributes->real("alpha")), 1.0 / 6) &&
          is(static_cast<float>(g.attributes->real("beta")), 0.5)) {
        return push({StepKind::hard_swish}), x;
      }
      const bool sixth = (g.op == Op::div && is(operands_.constant(g.operands[1]), 6)) ||
                         (g.op == Op::mul && is(operands_.constant(g.operands[1]), 1.0 / 6));
      if (sixth) {
        const Node& c = node(g.operands[0]);
        if (c.op == Op::clip && is_clip06(c) && plus_three(c.operands[0]) == x) return push({StepKind::hard_swish}), x;
      }
    }
    refuse("a product of two results of one convolution or matmul");
  }

  bool is_clip06(const Node& n) const {
    return operands_.constant(n.operands[1]) == 0.0f && operands_.constant(n.operands[2]) == 6.0f;
  }
  std::optional<Value> plus_three(Value v) const {
    const Node& n = node(v);
    if (n.op != Op::add) return std::nullopt;
    if (operands_.constant(n.operands[1]) == 3.0f) return n.operands[0];
    if (operands_.constant(n.operands[0]) == 3.0f) return n.operands[1];
    return std::nullopt;
  }

  void push(Step step) { steps_.push_back(std::move(step)); }
  void push_constant(StepKind kind, float value) {
    Step step{kind};
    step.spread = Spread::constant;
    step.constant = value;
    push(std::move(step));
  }
  void push_operand(StepKind kind, Value other, const Node& n) {
    if (const std::optional<float> value = operands_.constant(other)) return push_constant(kind, *value);
    Step step{kind};
    step.spread = Spread::full;  // told apart when the coordinates are those of the tile
    step.operand = broadcast_to(view(other), ir::to_ints(n.types[0].shape));
    push(std::move(step));
  }

  View view(Value v) const {
    std::variant<View, std::string> found = operands_.view(v);
    if (const std::string* why = std::get_if<std::string>(&found)) refuse("{}", *why);
    return std::get<View>(std::move(found));
  }

  /// A view without repeated elements.
  View solid_view(Value v) const {
    View found = view(v);
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
  std::vector<bool> heavy_;
  std::vector<Step> steps_;  // last first, until the root is found
  View destination_;
};

}  // namespace

Form recognize(const ir::Program& program, std::span<const ir::OperandKind> operands) {
  if (operands.size() != program.graph().inputs().size()) {
    fail(ErrorCode::invalid_argument, "onednn: {} operand kinds for a program of {} inputs", operands.size(),
         program.graph().inputs().size());
  }
  try {
    return Recognizer(program, operands).run();
  } catch (const NotOurs& why) {
    return Unfit{why.reason};
  }
}

}  // namespace weft::backends::onednn
