#include "tools/weft/usage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "ir/support/nearest.hpp"
#include "ir/support/readable.hpp"

namespace weft::tools {
namespace {

/// The command that the line got to, `cache ls` of `weft cache ls`.
const CLI::App& innermost(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

std::string unknown_option(const CLI::App& command, std::string word) {
  word = word.substr(0, word.find('='));
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return fmt::format("unknown option '{}'{}", readable(word),
                     suggest(word, std::vector<std::string_view>(names.begin(), names.end())));
}

std::string unknown_command(const CLI::App& command, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return fmt::format("unknown command '{}'{}; there are {}", readable(word),
                     suggest(word, std::vector<std::string_view>(names.begin(), names.end())), fmt::join(names, ", "));
}

}  // namespace

std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = innermost(app);
  const std::vector<std::string> left = app.remaining(true);
  const bool takes_command = !command.get_subcommands([](const CLI::App*) { return true; }).empty();
  if (left.empty() || left[0].empty()) return readable_message(error.what());
  if (left[0].size() > 1 && left[0][0] == '-') return unknown_option(command, left[0]);
  if (takes_command) return unknown_command(command, left[0]);
  return dynamic_cast<const CLI::ExtrasError*>(&error) ? fmt::format("unexpected argument '{}'", readable(left[0]))
                                                       : readable_message(error.what());
}

}  // namespace weft::tools
