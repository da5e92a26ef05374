#include "tools/weft/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace weft::tools {

std::function<void(std::string_view, double)> progress_bar() {
  if (!isatty(STDERR_FILENO)) return {};
  return [](std::string_view pass, double share) {
    constexpr int kWidth = 30;
    share = std::clamp(share, 0.0, 1.0);
    if (share >= 1) {
      std::fputs("\r\033[K", stderr);
      return;
    }
    int full = static_cast<int>(share * kWidth);
    std::string line =
        fmt::format("\r\033[K[{}{}] {:3.0f} % {}", std::string(static_cast<size_t>(full), '='),
                    std::string(static_cast<size_t>(kWidth - full), ' '), share * 100, pass.substr(0, 40));
    std::fputs(line.c_str(), stderr);
    std::fflush(stderr);
  };
}

}  // namespace weft::tools
