// RNN, GRU and LSTM, unrolled: the number of steps must be known.
#include <algorithm>
#include <cctype>

#include "ir/import/onnx/emit.hpp"
#include "ir/import/onnx/handlers.hpp"
#include "ir/support/error.hpp"

namespace weft::ir::onnx_import {
namespace {

constexpr int64_t kMaxSteps = 4096;

/// An activation by name with its alpha and beta, as the attribute `activations` spells them.
struct Activation {
  std::string name;
  std::optional<double> alpha, beta;
};

Ref activate(Builder& b, const Activation& f, Ref x) {
  auto with_alpha = [&](Op op, double alpha) { return b.add(op, {x}, {{"alpha", f.alpha.value_or(alpha)}}); };
  if (f.name == "sigmoid") return unary(b, Op::sigmoid, x);
  if (f.name == "tanh") return unary(b, Op::tanh, x);
  if (f.name == "relu") return unary(b, Op::relu, x);
  if (f.name == "softplus") return unary(b, Op::softplus, x);
  if (f.name == "softsign") return div(b, x, add(b, unary(b, Op::abs, x), 1.0));
  if (f.name == "leakyrelu") return with_alpha(Op::leaky_relu, 0.01);
  if (f.name == "elu") return with_alpha(Op::elu, 1);
  if (f.name == "affine") return add(b, mul(b, x, f.alpha.value_or(1)), f.beta.value_or(0));
  if (f.name == "scaledtanh") return mul(b, unary(b, Op::tanh, mul(b, x, f.beta.value_or(1))), f.alpha.value_or(1));
  if (f.name == "hardsigmoid")
    return b.add(Op::hard_sigmoid, {x}, {{"alpha", f.alpha.value_or(0.2)}, {"beta", f.beta.value_or(0.5)}});
  fail(ErrorCode::unsupported, "activation '{}'", f.name);
}

/// How many values of activation_alpha and activation_beta a function takes from the lists.
bool takes_alpha(const std::string& name) {
  return name == "leakyrelu" || name == "elu" || name == "affine" || name == "scaledtanh" || name == "hardsigmoid" ||
         name == "thresholdedrelu";
}
bool takes_beta(const std::string& name) { return name == "affine" || name == "scaledtanh" || name == "hardsigmoid"; }

struct State {
  Ref h, c;
};

/// What all three kinds share: operands in layout 0, cut by direction.
struct Recurrence {
  Call& n;
  int64_t gates;
  std::vector<Activation> activations;
  double clip = 0;
  bool input_forget = false, linear_before_reset = false;
  Dim batch = 0;
  int64_t steps = 0, hidden = 0, directions = 1;
  Ref x = {}, lengths = {};

  // Parameters of the direction at hand.
  Ref r = {}, bias_r = {}, peephole = {};
  std::vector<Activation> f = {};

  Ref act(size_t i, Ref v) const {
    if (clip > 0) v = n.b.add(Op::clip, {v, n.b.scalar(n.b.dtype(v), -clip), n.b.scalar(n.b.dtype(v), clip)});
    return activate(n.b, f[i], v);
  }
  /// Columns of gate g.
  Ref gate(Ref v, int64_t g) const { return slice(n.b, v, n.b.rank(v) - 1, g * hidden, (g + 1) * hidden); }
};

std::vector<Activation> read_activations(Call& n, std::vector<std::string> defaults, int64_t directions) {
  std::vector<std::string> names;
  for (int64_t d = 0; d < directions; ++d) names.insert(names.end(), defaults.begin(), defaults.end());
  if (auto given = n.texts("activations")) {
    if (given->size() != names.size())
      fail(ErrorCode::parse, "{} activations, expected {}", given->size(), names.size());
    names = *given;
  }
  auto alphas = n.reals("activation_alpha").value_or(std::vector<float>{}),
       betas = n.reals("activation_beta").value_or(std::vector<float>{});
  std::vector<Activation> out;
  size_t alpha = 0, beta = 0;
  for (std::string name : names) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    Activation f{name, {}, {}};
    if (takes_alpha(name) && alpha < alphas.size()) f.alpha = alphas[alpha++];
    if (takes_beta(name) && beta < betas.size()) f.beta = betas[beta++];
    out.push_back(f);
  }
  return out;
}

State lstm_step(const Recurrence& k, Ref input, State s) {
  Builder& b = k.n.b;
  Ref all = add(b, input, matmul(b, s.h, k.r, false, true));
  auto peep = [&](Ref v, int64_t g, Ref c) {
    return k.peephole.valid() ? add(b, v, mul(b, c, k.gate(k.peephole, g))) : v;
  };
  Ref i = k.act(0, peep(k.gate(all, 0), 0, s.c));
  Ref forget = k.input_forget ? sub(b, 1.0, i) : k.act(0, peep(k.gate(all, 2), 2, s.c));
  Ref candidate = k.act(1, k.gate(all, 3));
  Ref c = add(b, mul(b, forget, s.c), mul(b, i, candidate));
  Ref o = k.act(0, peep(k.gate(all, 1), 1, c));
  return {mul(b, o, activate(b, k.f[2], c)), c};
}

State gru_step(const Recurrence& k, Ref input, State s) {
  Builder& b = k.n.b;
  auto recurrent = [&](Ref h, int64_t g) {
    return matmul(b, h, slice(b, k.r, 0, g * k.hidden, (g + 1) * k.hidden), false, true);
  };
  auto bias = [&](Ref v, int64_t g) { return k.bias_r.valid() ? add(b, v, k.gate(k.bias_r, g)) : v; };
  Ref z = k.act(0, add(b, k.gate(input, 0), bias(recurrent(s.h, 0), 0)));
  Ref r = k.act(0, add(b, k.gate(input, 1), bias(recurrent(s.h, 1), 1)));
  Ref inner = k.linear_before_reset ? mul(b, r, bias(recurrent(s.h, 2), 2)) : bias(recurrent(mul(b, r, s.h), 2), 2);
  Ref candidate = k.act(1, add(b, k.gate(input, 2), inner));
  return {add(b, mul(b, sub(b, 1.0, z), candidate), mul(b, z, s.h)), {}};
}

State rnn_step(const Recurrence& k, Ref input, State s) {
  return {k.act(0, add(k.n.b, input, matmul(k.n.b, s.h, k.r, false, true))), {}};
}

using Step = State (*)(const Recurrence&, Ref, State);

/// Slice d of the first axis, without the axis.
Ref at(Builder& b, Ref x, int64_t d) { return squeeze(b, slice(b, x, 0, d, d + 1), 0); }

/// Runs one direction; outputs of all steps in the order of time.
std::pair<Refs, State> run_direction(Recurrence& k, Step step, int64_t d, bool backwards, State s) {
  Call& n = k.n;
  Builder& b = n.b;
  int64_t width = k.gates * k.hidden;
  size_t per_direction = k.activations.size() / static_cast<size_t>(k.directions);
  k.f.assign(k.activations.begin() + static_cast<ptrdiff_t>(per_direction * static_cast<size_t>(d)),
             k.activations.begin() + static_cast<ptrdiff_t>(per_direction * static_cast<size_t>(d + 1)));
  k.r = at(b, n.in(2), d);
  bool is_gru = k.gates == 3;
  Ref input = matmul(b, k.x, at(b, n.in(1), d), false, true);  // [S, B, gates * H]
  k.bias_r = Ref{};
  if (n.has(3)) {
    Ref both = at(b, n.in(3), d), recurrent = slice(b, both, 0, width, 2 * width);
    input = add(b, input, slice(b, both, 0, 0, width));
    if (is_gru)
      k.bias_r = recurrent;  // inside the reset gate it cannot be added before
    else
      input = add(b, input, recurrent);
  }
  k.peephole = n.has(7) && k.gates == 4 ? at(b, n.in(7), d) : Ref{};
  Refs outputs(static_cast<size_t>(k.steps));
  for (int64_t i = 0; i < k.steps; ++i) {
    int64_t t = backwards ? k.steps - 1 - i : i;
    State next = step(k, at(b, input, t), s);
    Ref y = next.h;
    if (k.lengths.valid()) {
      Ref inside = unsqueeze(b, binary(b, Op::greater, k.lengths, static_cast<double>(t)), 1);  // [B, 1]
      y = where(b, inside, next.h, b.scalar(b.dtype(next.h), 0));
      next.h = where(b, inside, next.h, s.h);
      if (next.c.valid()) next.c = where(b, inside, next.c, s.c);
    }
    outputs[static_cast<size_t>(t)] = y;
    s = next;
  }
  return {outputs, s};
}

Ref stack(Builder& b, const Refs& parts, int64_t axis) {
  Refs wide;
  for (Ref p : parts) wide.push_back(unsqueeze(b, p, axis));
  return concat(b, wide, axis);
}

Refs recurrence(Call& n, int64_t gates, std::vector<std::string> defaults, Step step) {
  n.expect_inputs(3, gates == 4 ? 8 : 6);
  n.ignore({"output_sequence"});
  Builder& b = n.b;
  std::string direction = n.text("direction", "forward");
  bool two = direction == "bidirectional", batch_first = n.flag("layout", false);
  if (!two && direction != "forward" && direction != "reverse") fail(ErrorCode::parse, "direction '{}'", direction);
  Recurrence k{n, gates, {}};
  k.directions = two ? 2 : 1;
  k.activations = read_activations(n, std::move(defaults), k.directions);
  k.clip = n.real("clip", 0);
  k.input_forget = gates == 4 && n.flag("input_forget", false);
  k.linear_before_reset = gates == 3 && n.flag("linear_before_reset", false);
  if (b.rank(n.in(0)) != 3 || b.rank(n.in(1)) != 3 || b.rank(n.in(2)) != 3)
    fail(ErrorCode::type_mismatch, "{}, {} and {}, expected rank 3", b.describe(n.in(0)), b.describe(n.in(1)),
         b.describe(n.in(2)));
  k.hidden = n.integer("hidden_size", b.shape(n.in(2))[2].value());
  k.x = batch_first ? transpose(b, n.in(0), {1, 0, 2}) : n.in(0);
  k.batch = b.shape(k.x)[1];
  if (!b.shape(k.x)[0].is_constant())
    fail(ErrorCode::unsupported, "{} steps of a sequence; bind that dimension to a number", b.shape(k.x)[0].text());
  k.steps = b.shape(k.x)[0].value();
  if (k.steps < 1 || k.steps > kMaxSteps)
    fail(ErrorCode::unsupported, "a sequence of {} steps, supported are 1 to {}", k.steps, kMaxSteps);
  if (n.has(4)) k.lengths = cast(b, n.in(4), DType::i64);
  auto initial = [&](size_t input, int64_t d) {
    if (!n.has(input)) return full(b, b.dtype(k.x), 0, {k.batch, k.hidden});
    return at(b, batch_first ? transpose(b, n.in(input), {1, 0, 2}) : n.in(input), d);
  };
  Refs sequences, last_h, last_c;
  for (int64_t d = 0; d < k.directions; ++d) {
    State s{initial(5, d), gates == 4 ? initial(6, d) : Ref{}};
    auto [outputs, last] = run_direction(k, step, d, direction == "reverse" || d == 1, s);
    sequences.push_back(stack(b, outputs, 0));
    last_h.push_back(last.h);
    if (gates == 4) last_c.push_back(last.c);
  }
  auto finish = [&](const Refs& states) { return stack(b, states, batch_first ? 1 : 0); };
  Ref y = stack(b, sequences, 1);  // [S, dirs, B, H]
  Refs out{batch_first ? transpose(b, y, {2, 0, 1, 3}) : y, finish(last_h)};
  if (gates == 4) out.push_back(finish(last_c));
  return out;
}

Refs rnn(Call& n) { return recurrence(n, 1, {"Tanh"}, rnn_step); }
Refs gru(Call& n) { return recurrence(n, 3, {"Sigmoid", "Tanh"}, gru_step); }
Refs lstm(Call& n) { return recurrence(n, 4, {"Sigmoid", "Tanh", "Tanh"}, lstm_step); }

constexpr OpRow kRows[] = {
    {"GRU", gru},
    {"LSTM", lstm},
    {"RNN", rnn},
};

}  // namespace

std::span<const OpRow> recurrent_ops() { return kRows; }

}  // namespace weft::ir::onnx_import
