#pragma once
// Golden tests: text in, text out. A file holds the input, a line `=>`, and what is expected. With WEFT_UPDATE_GOLDEN=1
// in the environment the expected part is rewritten instead of compared.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "ir/support/error.hpp"
#include "tests/catch.hpp"

namespace weft::test {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The files of a folder with an extension, sorted by name.
inline std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder, std::string_view extension) {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == extension) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

/// What a step gives, or the text of the weft::Error that it throws.
inline std::string result_or_error(const std::function<std::string()>& step) {
  try {
    return step();
  } catch (const Error& e) {
    return std::string("error: ") + e.what() + "\n";
  }
}

/// Runs `step` on the input part of one file (without the last newline) and compares or rewrites the expected part.
inline void check_golden(const std::filesystem::path& path,
                         const std::function<std::string(const std::string&)>& step) {
  const std::string separator = "\n=>\n";
  std::string text = read_file(path);
  size_t at = text.find(separator);
  std::string input = text.substr(0, at);
  if (at == std::string::npos && input.ends_with('\n')) input.pop_back();
  std::string expected = at == std::string::npos ? "" : text.substr(at + separator.size());
  std::string found = result_or_error([&] { return step(input); });
  const char* update = std::getenv("WEFT_UPDATE_GOLDEN");
  if (update && std::string_view(update) == "1") {
    std::ofstream(path, std::ios::binary) << input << separator << found;
    return;
  }
  INFO(path.string());
  CHECK(found == expected);
}

}  // namespace weft::test
