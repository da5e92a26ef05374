#pragma once
// The backends that this build knows, in order of preference; generated from the list WEFT_BACKENDS in the root
// CMakeLists.txt.
#include <memory>
#include <string_view>
#include <vector>

#include "backends/backend.hpp"

namespace weft::backends {

/// All backends, made once, in the order of WEFT_BACKENDS ("reference" last but `null`, which only runs when named).
const std::vector<const Backend*>& registry();
/// Throws Error(not_found) naming the known ones.
const Backend& backend(std::string_view name);

}  // namespace weft::backends
