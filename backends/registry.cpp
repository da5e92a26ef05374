#include "backends/registry.hpp"

#include "ir/support/error.hpp"

namespace weft::backends {

// Each backend's library defines instance() in a namespace of its own name; registry.inc lists them (see
// CMakeLists.txt).
#define WEFT_BACKEND(name)   \
  namespace name {           \
  const Backend& instance(); \
  }
#include "registry.inc"
#undef WEFT_BACKEND

const std::vector<const Backend*>& registry() {
  static const std::vector<const Backend*> all = {
#define WEFT_BACKEND(name) &name::instance(),
#include "registry.inc"
#undef WEFT_BACKEND
  };
  return all;
}

const Backend& backend(std::string_view name) {
  std::string known;
  for (const Backend* candidate : registry()) {
    if (candidate->name() == name) return *candidate;
    known += known.empty() ? "" : ", ";
    known += candidate->name();
  }
  fail(ErrorCode::invalid_argument, "no backend is named '{}'; this build has: {}", name, known);
}

}  // namespace weft::backends
