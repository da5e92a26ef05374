// weft version: this program, the libraries behind it, and the machine.
#include "runtime/version.hpp"

#include <fmt/format.h>

#include "runtime/threads.hpp"
#include "tools/weft/commands.hpp"

namespace weft::tools {

void add_version(CLI::App& app, Outcome&) {
  auto print = [] {
    fmt::print("weft {}\nbuild: {}\ncpu: {}, {} threads usable\n", runtime::version(), runtime::build_info(),
               runtime::cpu_model(), runtime::default_threads());
    for (const auto& [name, version] : runtime::backend_versions()) fmt::print("backend {}: {}\n", name, version);
  };
  app.add_subcommand("version", "print versions of weft and its backends, and the CPU features in use")
      ->callback(print);
  app.set_version_flag("--version", "weft " + std::string(runtime::version()));
}

}  // namespace weft::tools
