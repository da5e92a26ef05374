#pragma once
// The sub-commands of weft, one file each. Each function adds its options to the program and what to do when it is
// called.
#include <CLI/CLI.hpp>

namespace weft::tools {

/// What the process exits with where a command ends without an error: run --expect and verify set 1.
struct Outcome {
  int exit_code = 0;
};

void add_compile(CLI::App& app, Outcome& outcome);
void add_run(CLI::App& app, Outcome& outcome);
void add_bench(CLI::App& app, Outcome& outcome);
void add_verify(CLI::App& app, Outcome& outcome);
void add_inspect(CLI::App& app, Outcome& outcome);
void add_dot(CLI::App& app, Outcome& outcome);
void add_explain(CLI::App& app, Outcome& outcome);
void add_cache(CLI::App& app, Outcome& outcome);
void add_rules(CLI::App& app, Outcome& outcome);
void add_ops(CLI::App& app, Outcome& outcome);
void add_version(CLI::App& app, Outcome& outcome);

}  // namespace weft::tools
