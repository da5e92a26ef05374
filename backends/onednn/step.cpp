#include "backends/onednn/step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/support/error.hpp"

namespace weft::backends::onednn {
namespace {

using dnnl::algorithm;

float nan_max(float a, float b) { return std::isnan(a) ? a : std::isnan(b) ? b : std::max(a, b); }
float nan_min(float a, float b) { return std::isnan(a) ? a : std::isnan(b) ? b : std::min(a, b); }
double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

algorithm eltwise_algorithm(StepKind kind) {
  switch (kind) {
    case StepKind::relu:
    case StepKind::leaky_relu:
      return algorithm::eltwise_relu;
    case StepKind::clip:
      return algorithm::eltwise_clip;
    case StepKind::hard_swish:
      return algorithm::eltwise_hardswish;
    case StepKind::sigmoid:
      return algorithm::eltwise_logistic;
    case StepKind::tanh:
      return algorithm::eltwise_tanh;
    case StepKind::elu:
      return algorithm::eltwise_elu;
    case StepKind::gelu:
      return algorithm::eltwise_gelu_erf;
    case StepKind::gelu_tanh:
      return algorithm::eltwise_gelu_tanh;
    case StepKind::silu:
      return algorithm::eltwise_swish;
    case StepKind::exp:
      return algorithm::eltwise_exp;
    case StepKind::softplus:
      return algorithm::eltwise_soft_relu;
    case StepKind::abs:
      return algorithm::eltwise_abs;
    case StepKind::sqrt:
      return algorithm::eltwise_sqrt;
    default:
      break;
  }
  WEFT_CHECK(false, "step {} is not a post-op", static_cast<int>(kind));
  return algorithm::undef;
}

}  // namespace

bool loses_nan(StepKind kind) {
  switch (kind) {
    case StepKind::relu:
    case StepKind::clip:
    case StepKind::hard_sigmoid:
    case StepKind::exp:
    case StepKind::maximum:
    case StepKind::minimum:
      return true;
    default:
      return false;
  }
}

float apply(const Step& s, float x, float y) {
  const double wide = x;
  switch (s.kind) {
    case StepKind::relu:
      return nan_max(x, 0.0f);
    case StepKind::leaky_relu:
      return x < 0 ? s.alpha * x : x;
    case StepKind::clip:
      return nan_min(nan_max(x, s.alpha), s.beta);
    case StepKind::hard_swish:
      return static_cast<float>(wide * std::max(0.0, std::min(1.0, wide / 6 + 0.5)));
    case StepKind::hard_sigmoid:
      return nan_max(0.0f, nan_min(1.0f, s.alpha * x + s.beta));
    case StepKind::sigmoid:
      return static_cast<float>(sigmoid(wide));
    case StepKind::tanh:
      return std::tanh(x);
    case StepKind::elu:
      return x < 0 ? static_cast<float>(s.alpha * std::expm1(wide)) : x;
    case StepKind::gelu:
      return static_cast<float>(0.5 * wide * std::erfc(-wide * 0.70710678118654752440));
    case StepKind::gelu_tanh:
      return static_cast<float>(0.5 * wide *
                                (1 + std::tanh(0.7978845608028654 * (wide + 0.044715 * wide * wide * wide))));
    case StepKind::silu:
      return static_cast<float>(wide * sigmoid(wide));
    case StepKind::exp:
      return std::exp(x);
    case StepKind::softplus:
      return static_cast<float>(std::max(wide, 0.0) + std::log1p(std::exp(-std::fabs(wide))));
    case StepKind::abs:
      return std::fabs(x);
    case StepKind::sqrt:
      return std::sqrt(x);
    case StepKind::add:
      return x + y;
    case StepKind::subtract:
      return x - y;
    case StepKind::multiply:
      return x * y;
    case StepKind::divide:
      return x / y;
    case StepKind::maximum:
      return nan_max(x, y);
    case StepKind::minimum:
      return nan_min(x, y);
  }
  return x;
}

double bound(const Step& s, double x, double y) {
  switch (s.kind) {
    case StepKind::leaky_relu:
      return x * std::max(1.0, std::fabs(static_cast<double>(s.alpha)));
    case StepKind::clip:
      return std::max(std::fabs(static_cast<double>(s.alpha)), std::fabs(static_cast<double>(s.beta)));
    case StepKind::hard_sigmoid:  // its inner product must stay finite too
      return x * std::fabs(static_cast<double>(s.alpha)) + std::fabs(static_cast<double>(s.beta)) + 1;
    case StepKind::sigmoid:
    case StepKind::tanh:
      return 1;
    case StepKind::elu:
      return std::max(x, std::fabs(static_cast<double>(s.alpha)));
    case StepKind::exp:
      return x < 80 ? std::exp(x) : std::numeric_limits<double>::infinity();
    case StepKind::softplus:
      return x + 1;
    case StepKind::sqrt:
      return std::numeric_limits<double>::infinity();  // of a negative number: NaN
    case StepKind::add:
    case StepKind::subtract:
      return x + y;
    case StepKind::multiply:
      return x * y;
    case StepKind::divide:
      return s.spread == Spread::constant && y > 0 ? x / y : std::numeric_limits<double>::infinity();
    case StepKind::maximum:
    case StepKind::minimum:
      return std::max(x, y);
    default:
      return x;
  }
}

double step_nanoseconds(StepKind kind) {
  switch (kind) {
    case StepKind::sigmoid:
      return 0.6;
    case StepKind::tanh:
      return 3.7;
    case StepKind::elu:
      return 0.6;
    case StepKind::gelu:
      return 0.68;
    case StepKind::gelu_tanh:
      return 4.6;
    case StepKind::silu:
      return 0.6;
    case StepKind::exp:
      return 0.5;
    case StepKind::softplus:
      return 1.4;
    case StepKind::sqrt:
      return 0.1;
    case StepKind::hard_swish:
      return 0.08;
    case StepKind::hard_sigmoid:
      return 0.08;
    case StepKind::divide:
      return 0.08;
    default:
      return 0.015;
  }
}

void append_eltwise(const Step& s, std::vector<PostOp>& post_ops) {
  using Kind = PostOp::Kind;
  if (s.kind == StepKind::hard_sigmoid) {
    post_ops.push_back({Kind::eltwise, algorithm::eltwise_linear, s.alpha, s.beta, {}});
    post_ops.push_back({Kind::eltwise, algorithm::eltwise_clip, 0.0f, 1.0f, {}});
    return;
  }
  const float alpha = s.kind == StepKind::silu ? 1.0f : s.alpha;
  post_ops.push_back({Kind::eltwise, eltwise_algorithm(s.kind), alpha, s.beta, {}});
}

algorithm binary_algorithm(StepKind kind) {
  switch (kind) {
    case StepKind::add:
      return algorithm::binary_add;
    case StepKind::subtract:
      return algorithm::binary_sub;
    case StepKind::multiply:
      return algorithm::binary_mul;
    case StepKind::divide:
      return algorithm::binary_div;
    case StepKind::maximum:
      return algorithm::binary_max;
    default:
      return algorithm::binary_min;
  }
}

}  // namespace weft::backends::onednn
