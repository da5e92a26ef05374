#include "tools/weft/numbers.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "ir/support/readable.hpp"

namespace weft::tools {
namespace {

template <typename T>
bool parse(const std::string& text, T& value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// A validator that says `what` where `fits` refuses the number, and writes it anew as CLI11 reads it.
template <typename T, typename F>
CLI::Validator number(const std::string& kind, const std::string& range, F fits) {
  auto check = [=](std::string& text) {
    T value{};
    if (!parse(text, value) || !fits(value)) return fmt::format("'{}' is no {} {}", readable(text, 40), kind, range);
    text = fmt::format("{}", value);
    return std::string();
  };
  return CLI::Validator(check, "(" + range + ")");
}

}  // namespace

CLI::Validator whole_number(uint64_t least, uint64_t most) {
  std::string range = most >= uint64_t{std::numeric_limits<int32_t>::max()} ? fmt::format("from {} up", least)
                                                                            : fmt::format("from {} to {}", least, most);
  return number<uint64_t>("whole number", range, [=](uint64_t v) { return v >= least && v <= most; });
}

CLI::Validator real_number(double least, double most, bool open) {
  std::string range = open                                         ? fmt::format("above {:g}", least)
                      : most == std::numeric_limits<double>::max() ? fmt::format("from {:g} up", least)
                                                                   : fmt::format("from {:g} to {:g}", least, most);
  return number<double>("number", range,
                        [=](double v) { return std::isfinite(v) && v >= least && v <= most && !(open && v == least); });
}

CLI::Validator not_empty() {
  return {[](const std::string& text) { return std::string(text.empty() ? "may not be empty" : ""); }, ""};
}

}  // namespace weft::tools
