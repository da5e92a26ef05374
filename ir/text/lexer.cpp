#include "ir/text/lexer.hpp"

#include <algorithm>
#include <array>

#include "ir/support/readable.hpp"

namespace weft::ir {
namespace {

constexpr size_t kMaxText = size_t{1} << 30;
constexpr std::array<std::string_view, 9> kReserved = {"graph", "return", "parameter", "constant", "as",
                                                       "true",  "false",  "inf",       "nan"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_letter(c) || is_digit(c); }
int hex_value(char c) { return is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10; }

/// End of the identifier that starts at `i`: words joined by single dots.
size_t identifier_end(std::string_view s, size_t i) {
  while (i < s.size() && (is_word(s[i]) || (s[i] == '.' && i + 1 < s.size() && is_word(s[i + 1])))) ++i;
  return i;
}

class Lexer {
 public:
  explicit Lexer(const Source& source) : source_(source), text_(source.text), at_(source.start) {}

  std::vector<Token> run() {
    if (text_.size() > kMaxText) source_.fail(at_, "text is longer than 2^30 bytes", ErrorCode::limit);
    std::vector<Token> tokens;
    do {
      skip_blanks();
      Token t{TokenKind::end, newline_, static_cast<uint32_t>(i_), 0, at_};
      if (i_ < text_.size()) scan(t);
      newline_ = false;
      t.size = static_cast<uint32_t>(i_ - t.offset);
      at_.column += static_cast<int>(t.size);
      tokens.push_back(t);
    } while (tokens.back().kind != TokenKind::end);
    return tokens;
  }

 private:
  char peek(size_t ahead = 0) const { return i_ + ahead < text_.size() ? text_[i_ + ahead] : '\0'; }

  void skip_blanks() {
    while (i_ < text_.size()) {
      char c = text_[i_];
      if (c == '\n') {
        ++at_.line, at_.column = 1, ++i_, newline_ = true;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_.column, ++i_;
      } else if (c == '#') {
        while (i_ < text_.size() && text_[i_] != '\n') ++i_, ++at_.column;
      } else {
        return;
      }
    }
  }

  void scan(Token& t) {
    char c = peek();
    if (is_letter(c)) {
      t.kind = TokenKind::identifier;
      i_ = identifier_end(text_, i_);
    } else if (is_digit(c)) {
      t.kind = TokenKind::number;
      scan_number();
    } else if (c == '"') {
      t.kind = TokenKind::string;
      scan_string();
    } else {
      t.kind = TokenKind::symbol;
      scan_symbol();
    }
  }

  void skip_digits(bool hex) {
    while (hex ? is_hex(peek()) : is_digit(peek())) ++i_;
  }

  void scan_number() {
    bool hex = peek() == '0' && peek(1) == 'x';
    size_t begin = i_;
    if (hex) i_ += 2;
    size_t digits = i_;
    skip_digits(hex);
    bool empty = i_ == digits;
    if (peek() == '.' && (hex ? is_hex(peek(1)) : is_digit(peek(1)))) ++i_, empty = false, skip_digits(hex);
    char e = static_cast<char>(peek() | 0x20);
    if (e == (hex ? 'p' : 'e')) {
      size_t sign = peek(1) == '+' || peek(1) == '-';
      if (is_digit(peek(1 + sign))) i_ += 1 + sign, skip_digits(false);
    }
    if (empty || is_word(peek())) {
      while (is_word(peek())) ++i_;
      source_.fail(at_, fmt::format("malformed number {}", text_.substr(begin, std::min<size_t>(i_ - begin, 40))));
    }
  }

  void scan_string() {
    for (++i_; i_ < text_.size() && text_[i_] != '\n'; ++i_) {
      if (text_[i_] == '"') {
        ++i_;
        return;
      }
      if (text_[i_] != '\\') continue;
      ++i_;
      char c = peek();
      if (c == 'x' && is_hex(peek(1)) && is_hex(peek(2))) {
        i_ += 2;
      } else if (c != '"' && c != '\\' && c != 'n' && c != 't' && c != 'r') {
        source_.fail(at_, "unknown escape in a string; known are \\\\ \\\" \\n \\t \\r \\xHH");
      }
    }
    source_.fail(at_, "string without a closing quote on its line");
  }

  void scan_symbol() {
    static constexpr std::string_view kLong[] = {"...", "==", "!=", "<=", ">="};
    for (std::string_view s : kLong)
      if (text_.substr(i_).starts_with(s)) {
        i_ += s.size();
        return;
      }
    if (std::string_view("()[]{},:;=+-*/%@<>").find(peek()) == std::string_view::npos || peek() == '\0') {
      unsigned char c = static_cast<unsigned char>(peek());
      source_.fail(at_, c > 0x20 && c < 0x7f ? fmt::format("unexpected character '{}'", peek())
                                             : fmt::format("unexpected byte 0x{:02x}", c));
    }
    ++i_;
  }

  const Source& source_;
  std::string_view text_;
  size_t i_ = 0;
  TextPosition at_;
  bool newline_ = true;
};

}  // namespace

std::vector<Token> tokenize(const Source& source) { return Lexer(source).run(); }

std::string unquote(std::string_view s) {
  std::string out;
  for (size_t i = 1; i + 1 < s.size(); ++i) {
    if (s[i] != '\\') {
      out += s[i];
      continue;
    }
    char c = s[++i];
    if (c == 'x') {
      out += static_cast<char>(hex_value(s[i + 1]) * 16 + hex_value(s[i + 2]));
      i += 2;
    } else {
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
    }
  }
  return out;
}

bool is_identifier(std::string_view name) {
  return !name.empty() && is_letter(name[0]) && identifier_end(name, 0) == name.size() &&
         std::find(kReserved.begin(), kReserved.end(), name) == kReserved.end() && !dtype_from_string(name);
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const size_t length = printable_length(text.substr(i, 4));
    if (length > 1) {
      out += text.substr(i, length);
      i += length;
      continue;
    }
    const char c = text[i++];
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else if (length == 0)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + "\"";
}

}  // namespace weft::ir
