#include "backends/backend.hpp"

namespace weft::backends {

std::unique_ptr<PackedParameters> Kernel::pack(std::span<const ir::Tensor>) const { return nullptr; }

}  // namespace weft::backends
