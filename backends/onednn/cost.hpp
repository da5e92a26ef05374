#pragma once
// What a kernel costs, from its form: measured efficiencies of oneDNN's implementations against the machine's peak.
#include <optional>
#include <string>

#include "backends/onednn/conv_split.hpp"
#include "backends/onednn/matmul_kernel.hpp"

namespace weft::backends::onednn {

const ir::MachineFacts& machine_facts();

/// Time on one thread in ns, without launch, when `implementation` runs it.
double conv_nanoseconds(const ConvForm& form, const std::string& implementation);
double matmul_nanoseconds(const MatmulForm& form);
/// With launch, halves of unequal size and a fork where there is more than one part.
uint64_t kernel_nanoseconds(double one_thread, int parts, double balance);

/// The implementation of the whole convolution without steps, from a cache of descriptors; empty where there is none.
std::string implementation_of(const ConvForm& form);

}  // namespace weft::backends::onednn
