#pragma once
// What a kernel costs, from its form: measured efficiencies of oneDNN's implementations against the machine's peak.
#include "backends/onednn/conv_choice.hpp"
#include "backends/onednn/matmul_kernel.hpp"

namespace weft::backends::onednn {

const ir::MachineFacts& machine_facts();

/// Time on one thread in ns, without launch, of a choice with its implementation filled in.
double conv_nanoseconds(const ConvForm& form, const ConvChoice& choice);
double matmul_nanoseconds(const MatmulForm& form);
/// Into how many parts work of so many ns is cut for so many threads, at most.
int worthwhile_parts(double nanoseconds, int threads);
/// With launch, halves of unequal size and a fork where there is more than one part.
uint64_t kernel_nanoseconds(double one_thread, int parts, double balance);

}  // namespace weft::backends::onednn
