#pragma once
// Text from outside (names in models, options, paths) as people can read it on a terminal.
#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

inline constexpr size_t kReadableName = 200;      ///< bytes of a name that are shown
inline constexpr size_t kReadableMessage = 6000;  ///< bytes of a message that are shown

/// One line: control characters and what is not UTF-8 become \n, \t, \r or \xHH, and so do characters that turn the
/// direction of writing; of more than `most` bytes the middle is left out, never a part of a character.
std::string readable(std::string_view text, size_t most = kReadableName);
/// The same for a text of several lines: line breaks stay, every word is shortened as a name is, then the whole.
std::string readable_message(std::string_view text, size_t most = kReadableMessage);

/// Length in bytes of the UTF-8 character that `text` starts with; 0 where it is broken, or must not reach a terminal:
/// control characters and marks that turn text.
size_t printable_length(std::string_view text);

}  // namespace weft
