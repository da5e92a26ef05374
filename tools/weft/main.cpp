// weft: compile, run, measure and look at models. Exit codes (the rule is in tools/README.md): 0 done, 1 an error of a
// file, a model or the machine, 2 an error of the command line; either is one message on standard error.
#include <cstdio>
#include <new>

#include "ir/support/error.hpp"
#include "ir/support/readable.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/usage.hpp"

namespace weft::tools {
namespace {

int report(const char* what) {
  std::fflush(stdout);
  std::fprintf(stderr, "weft: error: %s\n", what);
  return 1;
}

int run(int argc, char** argv) {
  CLI::App app("weft: an e-graph optimizing graph compiler", "weft");
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "help of all commands");
  app.get_formatter()->column_width(36);
  Outcome outcome;
  for (auto* add : {add_compile, add_run, add_bench, add_verify, add_inspect, add_dot, add_explain, add_cache,
                    add_rules, add_ops, add_version})
    add(app, outcome);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help
    std::string command = app.get_subcommands().empty() ? "" : app.get_subcommands().front()->get_name() + " ";
    report(explain(app, e).c_str());
    std::fprintf(stderr, "weft %s--help tells what there is\n", command.c_str());
    return 2;
  }
  return outcome.exit_code;
}

}  // namespace
}  // namespace weft::tools

int main(int argc, char** argv) {
  try {
    int code = weft::tools::run(argc, argv);
    return std::fflush(stdout) == 0 ? code : weft::tools::report("cannot write to standard output");
  } catch (const weft::Error& e) {
    const int code = weft::tools::report(e.what());
    return e.code() == weft::ErrorCode::invalid_argument ? 2 : code;
  } catch (const std::bad_alloc&) {
    return weft::tools::report("out of memory");
  } catch (const std::exception& e) {
    return weft::tools::report(weft::readable_message(e.what()).c_str());
  }
}
