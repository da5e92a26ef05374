#pragma once
// A matmul of two values (or by a batched parameter) as a kernel: strided operands, nothing packed.
#include <memory>

#include "backends/backend.hpp"
#include "backends/onednn/form.hpp"

namespace weft::backends::onednn {

double matmul_flops(const MatmulForm& form);
/// Parts for at most `threads` threads, each worth at least 20 us by `nanoseconds`, and how even they are.
struct MatmulSplit {
  int parts = 1;
  size_t axis = 0;  ///< of the destination
  double balance = 1;
};
MatmulSplit split_matmul(const MatmulForm& form, int threads, double nanoseconds);
std::unique_ptr<Kernel> make_matmul_kernel(MatmulForm form, const MatmulSplit& split);

}  // namespace weft::backends::onednn
