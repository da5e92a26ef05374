// weft verify: the optimized plan against the reference interpreter.
#include "runtime/verify.hpp"

#include <fmt/format.h>

#include <memory>

#include "ir/support/readable.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/inputs.hpp"
#include "tools/weft/model_options.hpp"
#include "tools/weft/numbers.hpp"

namespace weft::tools {
namespace {

struct Verify {
  ModelOptions model;
  InputOptions inputs;
  runtime::Tolerance tolerance;

  int run() const {
    runtime::SessionOptions options = model.session_options();
    options.cache.refresh = true;  // provenance must name this model's nodes, not those of one of equal structure
    runtime::Session session = runtime::Session::load(model.model, options);
    runtime::VerifyReport report = runtime::verify(session, inputs.gather(session), tolerance);
    for (const auto& [name, d] : report.outputs)
      fmt::print("{} {}: {}\n", d.agrees() ? "ok   " : "WRONG", readable(name), d.text());
    if (report.agrees()) return 0;
    if (report.kernel) {
      fmt::print("first wrong step: {}\n  does not compute its program: {}\n  {}\n", report.kernel->step,
                 report.kernel->difference.text(), report.kernel->against);
      return 1;
    }
    fmt::print("every step computes its program within the tolerance\n");
    if (report.node)
      fmt::print("first step off the node that it is named after: {} against '{}': {}\n", report.node->step,
                 readable(report.node->against), report.node->difference.text());
    else
      fmt::print("none of the {} steps (of {}) that are named after a node is off it\n", report.compared, report.steps);
    return 1;
  }
};

}  // namespace

void add_verify(CLI::App& app, Outcome& outcome) {
  CLI::App* command = app.add_subcommand(
      "verify", "compare the compiled model with the reference interpreter; exit 1 where they differ");
  auto state = std::make_shared<Verify>();
  state->model.add(*command);
  state->inputs.add(*command);
  command->add_option("--rtol", state->tolerance.relative, "relative tolerance")
      ->transform(real_number())
      ->capture_default_str();
  command->add_option("--atol", state->tolerance.absolute, "absolute tolerance")
      ->transform(real_number())
      ->capture_default_str();
  command->callback([state, &outcome] { outcome.exit_code = state->run(); });
}

}  // namespace weft::tools
