#include "ir/support/readable.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ir/support/utf8.hpp"

namespace weft {
namespace {

constexpr std::string_view kLeftOut = "[...]";

/// Marks that reorder or hide what follows (Unicode "bidirectional controls"), and the control characters beyond ASCII.
bool is_control(std::string_view c) {
  if (c.size() == 1) return static_cast<unsigned char>(c[0]) < 0x20 || c[0] == 0x7f;
  if (c.size() == 2) return c[0] == '\xc2' && static_cast<unsigned char>(c[1]) < 0xa0;
  if (c.size() != 3 || c[0] != '\xe2') return false;
  auto low = static_cast<unsigned char>(c[2]);
  return (c[1] == '\x80' &&
          ((low >= 0xaa && low <= 0xae) || low == 0xa8 || low == 0xa9 || low == 0x8e || low == 0x8f)) ||
         (c[1] == '\x81' && low >= 0xa6 && low <= 0xa9);
}

/// The character (or broken byte) that `text` starts with, made readable; `text` goes on behind it.
std::string next_readable(std::string_view& text, bool keep_breaks) {
  const bool printable = printable_length(text) > 0;
  std::string_view c = text.substr(0, std::max<size_t>(utf8_length(text), 1));
  text.remove_prefix(c.size());
  if (printable) return std::string(c);
  if (c == "\n") return keep_breaks ? "\n" : "\\n";
  if (c == "\t") return "\\t";
  if (c == "\r") return "\\r";
  std::string out;
  for (unsigned char byte : c) out += fmt::format("\\x{:02x}", byte);
  return out;
}

/// Head and tail of a text that is readable already.
std::string middle_left_out(std::string text, size_t most) {
  most = std::max(most, kLeftOut.size());
  if (text.size() <= most) return text;
  auto starts_character = [&](size_t i) { return (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80; };
  size_t kept = most - kLeftOut.size(), head = kept - kept / 3, tail = text.size() - kept / 3;
  while (head > 0 && !starts_character(head)) --head;
  while (tail < text.size() && !starts_character(tail)) ++tail;
  return text.substr(0, head).append(kLeftOut).append(text, tail);
}

}  // namespace

size_t printable_length(std::string_view text) {
  size_t length = utf8_length(text);
  return is_control(text.substr(0, length)) ? 0 : length;
}

std::string readable(std::string_view text, size_t most) {
  std::string out;
  if (text.size() / 8 > most) {  // what is in the middle need not be looked at
    std::string_view head = text.substr(0, 2 * most), tail = text.substr(text.size() - 2 * most);
    return middle_left_out(readable(head, std::string::npos) + readable(tail, std::string::npos), most);
  }
  while (!text.empty()) out += next_readable(text, false);
  return middle_left_out(std::move(out), most);
}

std::string readable_message(std::string_view text, size_t most) {
  std::string out;
  while (!text.empty()) {
    size_t word = std::min(text.find_first_of(" \n"), text.size());
    if (word > 0) out += readable(text.substr(0, word), 2 * kReadableName);
    text.remove_prefix(word);
    if (!text.empty()) out += next_readable(text, true);
  }
  return middle_left_out(std::move(out), most);
}

}  // namespace weft
