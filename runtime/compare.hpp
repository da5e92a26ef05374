#pragma once
// How far two tensors are apart.
#include <string>

#include "ir/tensor.hpp"

namespace weft::runtime {

struct Tolerance {
  double relative = 1e-3, absolute = 1e-5;  ///< |got - want| <= absolute + relative * |want|, as numpy.allclose
};

struct Difference {
  int64_t elements = 0, beyond = 0;  ///< beyond the tolerance
  double max_absolute = 0, max_relative = 0;
  uint64_t max_ulp = 0;      ///< in units in the last place of the tensor's dtype; 0 for integers
  int64_t worst = -1;        ///< element with the largest share of its tolerance; -1 where all bits are equal
  double got = 0, want = 0;  ///< there
  std::string mismatch;      ///< dtype or shape differ: nothing else is compared
  bool agrees() const { return mismatch.empty() && beyond == 0; }
  std::string text() const;  ///< one line
};
/// NaN equals NaN; infinities equal themselves; +0 equals -0; integers and bools compare exactly.
Difference compare(const ir::Tensor& got, const ir::Tensor& want, const Tolerance& tolerance);

/// Reproducible values on every machine: floats uniform in [-1, 1), integers in [0, `bound`) (as far as the dtype
/// reaches), bools even odds.
ir::Tensor random_tensor(const ir::TensorType& type, uint64_t seed, int64_t bound = 100);

}  // namespace weft::runtime
