#pragma once
// Text to tokens. `#` starts a comment that ends with its line.
#include <vector>

#include "ir/text/source.hpp"

namespace weft::ir {

enum class TokenKind : uint8_t { end, identifier, number, string, symbol };

struct Token {
  TokenKind kind = TokenKind::end;
  bool newline_before = false;  ///< first of its line
  uint32_t offset = 0, size = 0;
  TextPosition at;
};

/// All tokens, an `end` token last. Throws Error(parse) on characters that start no token, malformed numbers and
/// strings.
std::vector<Token> tokenize(const Source& source);
/// The contents of a string token (with its quotes), escapes resolved; the lexer has checked it.
std::string unquote(std::string_view spelling);

}  // namespace weft::ir
