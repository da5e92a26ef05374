#include "ir/text/source.hpp"

#include "ir/support/readable.hpp"

namespace weft::ir {
namespace {

constexpr size_t kShownBefore = 80, kShownAfter = 40;  // bytes of a long line shown around the column

}  // namespace

std::string Source::place(TextPosition at) const { return fmt::format("{}:{}:{}", origin, at.line, at.column); }

std::string Source::excerpt(TextPosition at) const {
  size_t begin = 0;
  for (int line = start.line; line < at.line; ++line) {
    begin = text.find('\n', begin);
    if (begin == std::string_view::npos) return {};
    ++begin;
  }
  if (begin >= text.size() && at.line != start.line) return {};
  std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
  int first = at.line == start.line ? start.column : 1;
  size_t column = at.column > first ? static_cast<size_t>(at.column - first) : 0;
  if (line.empty() || column > line.size()) return {};
  size_t from = column > kShownBefore ? column - kShownBefore : 0;
  std::string left = readable(line.substr(from, column - from)), right = readable(line.substr(column, kShownAfter));
  std::string dots = from ? "..." : "";
  std::string more = column + kShownAfter < line.size() ? "..." : "";
  return fmt::format("\n  {}{}{}{}\n  {}^", dots, left, right, more, std::string(dots.size() + left.size(), ' '));
}

void Source::fail(TextPosition at, std::string_view message, ErrorCode code) const {
  throw Error(code, std::string(message) + excerpt(at), place(at));
}

void Source::rethrow(const Error& error, TextPosition at) const {
  throw Error(error.code(), error.message() + excerpt(at),
              error.where().empty() ? place(at) : place(at) + ": " + error.where());
}

}  // namespace weft::ir
