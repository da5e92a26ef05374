#pragma once
// A text with a name, and errors that show a place in it.
#include <string>
#include <string_view>

#include "ir/support/error.hpp"
#include "ir/text.hpp"

namespace weft::ir {

struct Source {
  std::string_view text;    ///< may be empty: errors then show no line
  std::string_view origin;  ///< file name or the like
  TextPosition start;       ///< place of the first character

  std::string place(TextPosition at) const;    ///< origin:line:column
  std::string excerpt(TextPosition at) const;  ///< the line with a mark under the column
  [[noreturn]] void fail(TextPosition at, std::string_view message, ErrorCode code = ErrorCode::parse) const;
  /// The same error, placed in this text.
  [[noreturn]] void rethrow(const Error& error, TextPosition at) const;
};

}  // namespace weft::ir
