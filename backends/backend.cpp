#include "backends/backend.hpp"

namespace weft::backends {

std::unique_ptr<PackedParameters> Kernel::pack(std::span<const ir::Tensor>) const { return nullptr; }
std::unique_ptr<PackedParameters> Kernel::unpack(std::span<const char>, std::shared_ptr<const void>) const {
  return nullptr;
}

}  // namespace weft::backends
