#include "ir/support/log.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

#include "ir/support/readable.hpp"

namespace weft {
namespace {

constexpr std::string_view kNames[] = {"error", "warning", "info", "debug"};

int level_from_environment() {
  const char* text = std::getenv("WEFT_LOG");
  for (int i = 0; text && i < 4; ++i)
    if (kNames[i] == text) return i;
  return static_cast<int>(LogLevel::warning);
}

std::atomic<int>& level() {
  static std::atomic<int> value = level_from_environment();
  return value;
}

struct Sink {
  std::mutex mutex;
  LogSink function;
};
Sink& sink() {
  static Sink value;
  return value;
}

}  // namespace

void set_log_sink(LogSink function) {
  std::lock_guard lock(sink().mutex);
  sink().function = std::move(function);
}
void set_log_level(LogLevel value) { level() = static_cast<int>(value); }
bool log_enabled(LogLevel value) { return static_cast<int>(value) <= level(); }

void log_line(LogLevel value, std::string_view line) {
  std::lock_guard lock(sink().mutex);
  if (sink().function) return sink().function(value, line);
  std::string text = fmt::format("weft: {}: {}\n", kNames[static_cast<int>(value)], readable_message(line));
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace weft
