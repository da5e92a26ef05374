#pragma once
// Numbers as written: exact in both directions for every dtype, NaN payloads and -0 included.
#include <optional>
#include <string>
#include <string_view>

#include "ir/types.hpp"

namespace weft::ir {

/// Writes a number spelled `-0x1p-3`, `12`, `inf`, `nan`, `-nan(0x1)` (mantissa bits), `true` as one element of the
/// dtype, rounded to nearest. Returns why it does not fit, or nothing. The spelling comes from the lexer (with a sign
/// in front).
std::optional<std::string> read_number(std::string_view spelling, DType dtype, void* element);
/// The shortest spelling that read_number turns into the same bits.
std::string print_number(DType dtype, const void* element);
/// The value of a spelling where it is an integer within int64.
std::optional<int64_t> read_integer(std::string_view spelling);

}  // namespace weft::ir
