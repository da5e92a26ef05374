#pragma once
// The elementwise chain behind a convolution or matmul: one step an op, as post-ops of oneDNN and as plain arithmetic.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backends/onednn/adapter.hpp"
#include "backends/onednn/view.hpp"

namespace weft::backends::onednn {

enum class StepKind : uint8_t {
  relu,
  leaky_relu,
  clip,
  hard_swish,
  hard_sigmoid,
  sigmoid,
  tanh,
  elu,
  gelu,
  gelu_tanh,
  silu,
  exp,
  softplus,
  abs,
  sqrt,
  add,
  subtract,
  multiply,
  divide,
  maximum,
  minimum  // with an operand, from here on
};

/// How the operand of a step lies against the tile [N, spatial..., C].
enum class Spread : uint8_t {
  none,
  constant,       ///< one number, known
  scalar,         ///< one number in a buffer
  channel,        ///< [1, 1..., C]
  image_channel,  ///< [N, 1..., C]
  full            ///< every element its own
};

struct Step {
  StepKind kind = StepKind::relu;
  float alpha = 0, beta = 0;  ///< leaky_relu, elu: alpha; clip: low, high; hard_sigmoid: slope, offset
  Spread spread = Spread::none;
  float constant = 0;
  View operand{};
};

inline bool has_operand(StepKind kind) { return kind >= StepKind::add; }
/// True where oneDNN's code turns a NaN into a number (its maxps and minps return the second operand).
bool loses_nan(StepKind kind);
/// What one step makes of `x`; `operand` counts only where the kind has one. With the NaN rules of the op table.
float apply(const Step& step, float x, float operand);
/// An upper bound of |result| from upper bounds of |x| and |operand|.
double bound(const Step& step, double x, double operand);
/// Time of one step for one element on one thread, in ns (measured on AVX2 behind a 1x1 convolution).
double step_nanoseconds(StepKind kind);

/// Post-ops of one step without an operand (hard_sigmoid is two of them).
void append_eltwise(const Step& step, std::vector<PostOp>& post_ops);
dnnl::algorithm binary_algorithm(StepKind kind);

}  // namespace weft::backends::onednn
