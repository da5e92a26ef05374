#pragma once
// Whether two sets of tensors agree, as numpy.allclose has it.
#include <string>

#include "ir/eval.hpp"

namespace weft::models {

/// The worst element over all tensors: |actual - expected| against atol + rtol * |expected|.
struct Comparison {
  bool agrees = true;
  double worst_excess = 0;  ///< largest |difference| / (atol + rtol * |expected|); 1 is the limit
  double max_difference = 0;
  std::string detail;        ///< the first disagreement: tensor, index, both values; or the missing name or type
  std::string text() const;  ///< "yes, 3.1e-07" (largest difference), or "NO: detail"
};

/// `actual` must hold every tensor of `expected` with its dtype and shape. NaN agrees with NaN, an infinity with itself
/// only.
Comparison compare(const ir::NamedTensors& actual, const ir::NamedTensors& expected, double rtol, double atol);

}  // namespace weft::models
