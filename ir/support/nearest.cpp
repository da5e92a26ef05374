#include "ir/support/nearest.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace weft {
namespace {

constexpr size_t kLongest = 64;  // longer names are not compared: the cost is the product of the lengths

size_t replacement_cost(char a, char b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return a == b ? 0 : lower(a) == lower(b) ? 1 : 2;
}

/// Optimal string alignment distance (Damerau-Levenshtein without overlapping swaps) in half edits; another case is
/// half an edit.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = 2 * j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = 2 * i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 2, row[j - 1] + 2, last[j - 1] + replacement_cost(a[i - 1], b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 2);
    }
    before = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates) {
  std::string_view best;
  size_t best_distance = 2 * kLongest;
  if (name.empty() || name.size() > kLongest) return best;
  for (std::string_view c : candidates) {
    size_t longer = std::max(name.size(), c.size()), shorter = std::min(name.size(), c.size());
    size_t allowed = std::max<size_t>(1, longer / 3);
    if (c.empty() || c.size() > kLongest || longer - shorter > allowed) continue;
    size_t d = distance(name, c);
    if (d <= 2 * allowed && (d < best_distance || (d == best_distance && c < best))) best = c, best_distance = d;
  }
  return best;
}

std::string suggest(std::string_view name, std::span<const std::string_view> candidates) {
  std::string_view found = nearest(name, candidates);
  return found.empty() ? std::string() : "; did you mean '" + std::string(found) + "'?";
}

}  // namespace weft
