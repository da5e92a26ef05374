// weft rules: what the optimizer knows to be equal, and whether it is.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "backends/registry.hpp"
#include "ir/support/error.hpp"
#include "passes/rule_check.hpp"
#include "tools/weft/commands.hpp"

namespace weft::tools {
namespace {

struct Rules {
  std::vector<std::string> names;
  std::string precision;
  bool text = false;

  std::vector<passes::RuleSource> chosen() const {
    std::vector<const ir::Target*> targets(backends::registry().begin(), backends::registry().end());
    std::vector<passes::RuleSource> rules = passes::all_rules(targets), found;
    for (const std::string& name : names)
      if (std::none_of(rules.begin(), rules.end(), [&](const auto& r) { return r.name == name; }))
        fail(ErrorCode::invalid_argument, "no rule named '{}'", name);
    for (passes::RuleSource& rule : rules) {
      bool named = names.empty() || std::find(names.begin(), names.end(), rule.name) != names.end();
      if (named && (precision.empty() || passes::allowed(rule, passes::precision_from_string(precision))))
        found.push_back(std::move(rule));
    }
    return found;
  }
  void list() const {
    std::vector<passes::RuleSource> rules = chosen();
    for (const passes::RuleSource& rule : rules) {
      fmt::print("{:32} {}{}\n", rule.name, rule.origin(),
                 rule.needs.empty() ? "" : fmt::format("  needs {}", fmt::join(rule.needs, " ")));
      if (text) fmt::print("    {}\n", rule.text);
    }
    fmt::print("{} rules\n", rules.size());
  }
  int check() const {
    int wrong = 0, instances = 0;
    std::vector<passes::RuleSource> rules = chosen();
    for (const passes::RuleSource& rule : rules) {
      passes::RuleVerdict verdict = passes::check_rule(rule);
      instances += verdict.instances;
      for (const std::string& problem : verdict.problems)
        fmt::print("{}: {}: {}\n", verdict.origin, verdict.name, problem);
      wrong += !verdict.problems.empty();
    }
    fmt::print("{} rules checked on {} instances, {} wrong\n", rules.size(), instances, wrong);
    return wrong ? 1 : 0;
  }
};

}  // namespace

void add_rules(CLI::App& app, Outcome& outcome) {
  CLI::App* command = app.add_subcommand("rules", "the rewrite rules of this build");
  auto state = std::make_shared<Rules>();
  command->require_subcommand(1);
  auto add = [&](const char* name, const char* what) {
    CLI::App* sub = command->add_subcommand(name, what);
    sub->add_option("rule", state->names, "only these rules");
    sub->add_option("--precision", state->precision, "only what this level may use")
        ->check(CLI::IsMember({"strict", "default", "fast"}));
    return sub;
  };
  CLI::App* list = add("list", "list rules, where they stand and what they need");
  list->add_flag("--text", state->text, "with their texts");
  list->callback([state] { state->list(); });
  add("check", "compute both sides of each rule on random and nasty values; exit 1 where they differ")
      ->callback([state, &outcome] { outcome.exit_code = state->check(); });
}

}  // namespace weft::tools
