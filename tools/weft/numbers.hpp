#pragma once
// Values on the command line, read strictly: CLI11 would take -1 for an unsigned 18446744073709551615 and 010 for 8.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>

namespace weft::tools {

/// For Option::transform(): decimal digits alone, a whole number from `least` to `most`.
CLI::Validator whole_number(uint64_t least = 0, uint64_t most = std::numeric_limits<int64_t>::max());
/// For Option::transform(): a finite decimal number from `least` to `most`; `open`: `least` itself is too small.
CLI::Validator real_number(double least = 0, double most = std::numeric_limits<double>::max(), bool open = false);

/// For Option::check().
CLI::Validator not_empty();

}  // namespace weft::tools
