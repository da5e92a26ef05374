#pragma once
// What is said of a command line that is wrong.
#include <CLI/CLI.hpp>
#include <string>

namespace weft::tools {

/// What a ParseError is about, in one line: the unknown command or option by name, with the nearest known one.
std::string explain(const CLI::App& app, const CLI::ParseError& error);

}  // namespace weft::tools
