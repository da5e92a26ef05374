#pragma once
// One log line at a time to standard error. The level comes from WEFT_LOG (error, warning, info, debug); default
// warning.
#include <fmt/format.h>

#include <functional>
#include <string_view>
#include <utility>

namespace weft {

enum class LogLevel { error, warning, info, debug };

/// Receives every line at or above the level; replace it to send the log elsewhere. Thread-safe.
using LogSink = std::function<void(LogLevel, std::string_view)>;
void set_log_sink(LogSink sink);  ///< an empty sink restores standard error
void set_log_level(LogLevel level);
bool log_enabled(LogLevel level);
void log_line(LogLevel level, std::string_view line);

template <typename... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) log_line(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace weft
