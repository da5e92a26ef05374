// weft: compile, run, measure and look at models. Exit codes: 0 done, 1 an error (one line on standard error), 2 wrong
// usage.
#include <cstdio>
#include <new>

#include "ir/support/error.hpp"
#include "tools/weft/commands.hpp"

namespace weft::tools {
namespace {

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
    return app.exit(e) == 0 ? 0 : 2;  // --help is a ParseError of code 0
  }
  return outcome.exit_code;
}

int report(const char* what) {
  std::fflush(stdout);
  std::fprintf(stderr, "weft: error: %s\n", what);
  return 1;
}

}  // namespace
}  // namespace weft::tools

int main(int argc, char** argv) {
  try {
    int code = weft::tools::run(argc, argv);
    return std::fflush(stdout) == 0 ? code : weft::tools::report("cannot write to standard output");
  } catch (const weft::Error& e) {
    return weft::tools::report(e.what());
  } catch (const std::bad_alloc&) {
    return weft::tools::report("out of memory");
  } catch (const std::exception& e) {
    return weft::tools::report(e.what());
  }
}
