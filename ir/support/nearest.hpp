#pragma once
// What did you mean: the known name nearest to an unknown one, for messages.
#include <span>
#include <string>
#include <string_view>

namespace weft {

/// The candidate with the fewest edits (insert, delete, replace, swap of neighbours) to `name`, another case counting
/// half; the first of equals in alphabetical order; empty where none is near: within a third of the longer name, at
/// least one edit.
std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates);
/// `; did you mean 'relu'?`, or nothing where no candidate is near: the end of a message.
std::string suggest(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace weft
