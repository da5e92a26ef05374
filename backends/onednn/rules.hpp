#pragma once
// The rule text of this backend, embedded from layout.rules when it is built.
#include <string_view>

namespace weft::backends::onednn {

extern const std::string_view kLayoutRules;

}  // namespace weft::backends::onednn
