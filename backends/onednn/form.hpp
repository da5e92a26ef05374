#pragma once
// What a program is to this backend: one convolution or one matmul, its operands seen through strides, and a chain of
// steps.
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "backends/onednn/step.hpp"
#include "ir/target.hpp"

namespace weft::backends::onednn {

/// A transposed convolution as a plain one that computes all `stride` phases of an output pixel as channels: output
/// channel (r..., o) of pixel q is channel o of output q * stride + r. Its weights are zero where a phase has no tap.
struct Phases {
  View weights;             ///< [C, O, window...]
  Dims stride, pads_begin;  ///< of the transposed convolution
};

/// A convolution over channels-last tiles. Matmuls by a parameter are one too: kernel 1, one pixel a row.
struct ConvForm {
  std::string kernel;  ///< "conv", "matmul", "conv_transpose"
  View source;         ///< [N, spatial..., C]
  View weights;        ///< [O, C / groups, spatial...] (with phases: only its sizes count)
  View destination;    ///< [N, spatial..., O] into the output
  int64_t groups = 1;
  Dims window, strides, dilations, pads_begin,
      pads_end;                        ///< window = the kernel's spatial size; dilations count from 1
  std::vector<ir::TensorType> inputs;  ///< of the program
  std::vector<Step> steps;
  std::optional<Phases> phases;
  bool fixed_weights = true;  ///< they are a parameter and packed once; else in every run
  bool bias_first = false;    ///< the first step adds a parameter to each channel: the bias of the primitive
};

/// destination[..., m, n] = scale * sum over k of a[..., m, k] * b[..., k, n], then the steps.
struct MatmulForm {
  View a, b, destination;
  float scale = 1;
  std::vector<Step> steps;
};

struct Unfit {
  std::string reason;
};
using Form = std::variant<Unfit, ConvForm, MatmulForm>;

/// Recognises the forms that the README lists. Pure; a few microseconds.
Form recognize(const ir::Program& program, std::span<const ir::OperandKind> operands);

/// A chain of steps: at most this many are taken.
inline constexpr size_t kMaxSteps = 12;

}  // namespace weft::backends::onednn
