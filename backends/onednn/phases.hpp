#pragma once
// The weights of a transposed convolution by phases (see Phases in form.hpp), and what they must not do: a phase that
// lacks a tap has a zero there, and zero times an infinity would be NaN where the operator has no term at all.
#include <vector>

#include "backends/onednn/conv_split.hpp"
#include "backends/onednn/form.hpp"

namespace weft::backends::onednn {

/// The weights of all phases as a dense array [(r..., o), c, window...]; `from` is the first element of
/// phases->weights.
std::vector<float> phase_weights(const ConvForm& form, const float* from);

/// Whether some phase has a zero that stands for no tap.
bool lacks_taps(const ConvForm& form);

/// Adds to `sums`, a dense channels-last tile of the item's outputs, the terms of all inputs that are infinite or NaN,
/// for the taps that exist. `source` is the item's dense channels-last tile of inputs, `weights` the item's rows of
/// what phase_weights() gave.
void add_unbounded_terms(const ConvForm& form, const ConvItem& item, std::span<const float> weights,
                         const float* source, float* sums);

}  // namespace weft::backends::onednn
