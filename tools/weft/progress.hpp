#pragma once
// What happens, on a terminal only.
#include <functional>
#include <string_view>

namespace weft::tools {

/// Draws one line on standard error that rewrites itself and is gone at the end; empty where standard error is no
/// terminal.
std::function<void(std::string_view, double)> progress_bar();

}  // namespace weft::tools
