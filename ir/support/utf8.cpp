#include "ir/support/utf8.hpp"

#include <algorithm>
#include <vector>

namespace weft {

size_t utf8_length(std::string_view s) {
  auto byte = [&](size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
  const unsigned lead = byte(0);
  const size_t length = lead < 0x80                   ? 1
                        : lead >= 0xc2 && lead < 0xe0 ? 2
                        : lead >= 0xe0 && lead < 0xf0 ? 3
                        : lead >= 0xf0 && lead < 0xf5 ? 4
                                                      : 0;
  if (length > s.size()) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool broken = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) > 0x9f) ||
                      (lead == 0xf0 && byte(1) < 0x90) || (lead == 0xf4 && byte(1) > 0x8f);
  return broken ? 0 : length;
}

std::string printable(std::string_view text, size_t most) {
  std::string out;
  for (size_t count = 0; !text.empty(); ++count) {
    if (count == most) return out + "…";
    const size_t length = utf8_length(text);
    const std::string_view point = text.substr(0, std::max<size_t>(length, 1));
    text.remove_prefix(point.size());
    if (length == 0 || point == "\xef\xbf\xbe" || point == "\xef\xbf\xbf")
      out += "\xef\xbf\xbd";
    else if (length == 1 && (static_cast<unsigned char>(point[0]) < 0x20 || point[0] == 0x7f))
      out += ' ';
    else
      out += point;
  }
  return out;
}

std::string shortened(std::string_view text, size_t most) {
  const std::string all = printable(text);
  std::vector<size_t> begins;
  for (size_t at = 0; at < all.size(); at += utf8_length(std::string_view(all).substr(at, 4))) begins.push_back(at);
  if (begins.size() <= most) return all;
  const size_t front = most / 3, back = most - front;
  return all.substr(0, begins[front]) + "…" + (back ? all.substr(begins[begins.size() - back]) : "");
}

std::string escape_markup(std::string_view text, size_t most) {
  std::string out;
  for (char c : printable(text, most)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace weft
