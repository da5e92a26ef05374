#include "passes/options.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "ir/support/error.hpp"

namespace weft::passes {

Precision precision_from_string(std::string_view text) {
  if (text == "strict") return Precision::strict;
  if (text == "default") return Precision::standard;
  if (text == "fast") return Precision::fast;
  fail(ErrorCode::invalid_argument, "precision '{}' is none of strict, default, fast", text);
}

std::string_view to_string(Precision precision) {
  switch (precision) {
    case Precision::strict:
      return "strict";
    case Precision::standard:
      return "default";
    case Precision::fast:
      return "fast";
  }
  return "default";
}

std::string Options::key_text() const {
  std::vector<std::string> skipped = skip;
  std::sort(skipped.begin(), skipped.end());
  return fmt::format("O{} {} threads={} time_limit={} skip={} stop_after={}", level, to_string(precision), threads,
                     time_limit, fmt::join(skipped, ","), stop_after);
}

bool may_contract(const Options& options) { return options.level > 0 && options.precision != Precision::strict; }

}  // namespace weft::passes
