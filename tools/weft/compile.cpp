// weft compile: a model in, a plan file out.
#include <fmt/format.h>

#include <memory>

#include "ir/support/error.hpp"
#include "ir/support/log.hpp"
#include "ir/support/memory.hpp"
#include "ir/support/readable.hpp"
#include "runtime/container.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/model_options.hpp"

namespace weft::tools {
namespace {

struct Compile {
  ModelOptions model;
  std::string output, stop_after;
  bool stats = false, embed = false;

  void run() const {
    if (!output.empty()) runtime::check_writable(output);
    runtime::SessionOptions options = model.session_options();
    if (!stop_after.empty()) return stop(options);
    if (stats) options.cache.refresh = true;  // the passes must run to be reported
    runtime::Session session = runtime::Session::load(model.model, options);
    if (!output.empty())
      session.save(output, {}, embed);
    else
      session.prepare();
    print(session);
  }

  /// Only the passes up to a given one: for what --print-after and --dump-dir show.
  void stop(runtime::SessionOptions options) const {
    runtime::Session session = runtime::Session::load(model.model, options);
    if (!session.graph() || !session.graph()->is_static())
      fail(ErrorCode::invalid_argument, "--stop-after needs a model with static shapes: give --shape or --dim");
    passes::Options compile = session.options().compile;
    compile.stop_after = stop_after;
    passes::CompileResult result = passes::compile(*session.graph(), session.targets(), compile);
    if (stats) fmt::print("{}", result.report.to_text());
  }

  void print(const runtime::Session& session) const {
    for (const runtime::SpecializationReport& s : session.report().specializations) {
      if (stats) fmt::print("{}", s.compile.to_text());
      const ir::Plan& plan = session.prepare(s.shapes)->plan();
      fmt::print(
          "{}: {} steps, peak {} bytes (arena {}, lower bound {}), plan {:.1f} ms ({}), kernels {:.1f} ms, weights "
          "{:.1f} ms\n",
          readable(output.empty() ? plan.graph_name : output), plan.steps.size(), s.peak_bytes, plan.arena_bytes,
          plan.stats.arena_lower_bound, s.plan_ms, to_string(s.cache), s.kernels_ms, s.bind_ms);
      if (const int64_t there = available_memory(); s.peak_bytes > there)  // it may be for a larger machine
        log(LogLevel::warning, "a run takes {} bytes of memory beside its inputs, {} are available here", s.peak_bytes,
            there);
    }
  }
};

}  // namespace

void add_compile(CLI::App& app, Outcome&) {
  CLI::App* command = app.add_subcommand("compile", "compile a model to a .weft plan (or only into the plan cache)");
  auto state = std::make_shared<Compile>();
  state->model.add(*command);
  command->add_option("-o,--output", state->output, "the plan file to write")->check([](const std::string& name) {
    return name.ends_with(".weft") ? std::string() : "plan files end in .weft";
  });
  command->add_flag("--embed-weights", state->embed,
                    "put the weights into the plan file instead of pointing into the model");
  command->add_option("--stop-after", state->stop_after, "end the pipeline after this pass");
  command->add_flag("--stats", state->stats,
                    "print what each pass did, which rules fired and which kernels were taken");
  command->callback([state] { state->run(); });
}

}  // namespace weft::tools
