#define XXH_INLINE_ALL
#include "ir/support/hash.hpp"

#include <fmt/format.h>
#include <xxhash.h>

namespace weft {

std::string Hash128::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

Hash128 hash_bytes(const void* data, size_t size) {
  XXH128_hash_t h = XXH3_128bits(data, size);
  return {h.low64, h.high64};
}

struct Hasher::State {
  XXH3_state_t xx;
};

Hasher::Hasher() : state_(new State) { XXH3_128bits_reset(&state_->xx); }
Hasher::~Hasher() = default;
Hasher& Hasher::raw(const void* data, size_t size) {
  XXH3_128bits_update(&state_->xx, data, size);
  return *this;
}
Hash128 Hasher::finish() const {
  XXH128_hash_t h = XXH3_128bits_digest(&state_->xx);
  return {h.low64, h.high64};
}

}  // namespace weft
