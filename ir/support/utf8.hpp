#pragma once
// Names come from files: before they stand in a picture or a page they are made text that every reader takes.
#include <string>
#include <string_view>

namespace weft {

/// Bytes of the code point that the text begins with, or 0 where they are broken (RFC 3629).
size_t utf8_length(std::string_view text);

/// Valid UTF-8 without anything that XML 1.0 forbids: U+FFFD for each broken byte and noncharacter, a space for each
/// control character, and "…" where more than `most` code points were cut.
std::string printable(std::string_view text, size_t most = static_cast<size_t>(-1));

/// As printable; where more than `most` code points are too many, the middle goes: names differ at their ends.
std::string shortened(std::string_view text, size_t most);

/// As printable, with & < > " ' as entities: for XML, HTML and Graphviz's HTML-like labels.
std::string escape_markup(std::string_view text, size_t most = static_cast<size_t>(-1));

}  // namespace weft
