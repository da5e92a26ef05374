// weft dot: a picture of a model, or of what became of it.
#include <fmt/format.h>

#include <memory>

#include "ir/support/error.hpp"
#include "runtime/container.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/drawing.hpp"
#include "tools/weft/model_options.hpp"

namespace weft::tools {
namespace {

struct Dot {
  ModelOptions model;
  DrawOptions draw;
  std::string what = "graph", output;

  void run() const {
    runtime::Session session = model.load();
    std::string text;
    if (what == "plan")
      text = draw_plan(session.prepare()->plan(), draw);
    else if (!session.graph())
      fail(ErrorCode::unsupported, "a plan file holds no graph: draw it with --of plan");
    else
      text = draw_graph(*session.graph(), draw);
    if (output.empty() || output == "-")
      fmt::print("{}", text);
    else
      runtime::write_file_atomically(output, text);
  }
};

}  // namespace

void add_dot(CLI::App& app, Outcome&) {
  CLI::App* command = app.add_subcommand("dot", "draw a model's graph or plan for Graphviz");
  auto state = std::make_shared<Dot>();
  state->model.add(*command);
  command->add_option("--of", state->what, "graph or plan")
      ->check(CLI::IsMember({"graph", "plan"}))
      ->capture_default_str();
  command->add_option("-o,--output", state->output, "file to write; standard output where absent or -");
  command->add_option("--max-nodes", state->draw.max_nodes, "draw so many nodes, then one that counts the rest")
      ->capture_default_str();
  command->add_flag("--parameters", state->draw.parameters,
                    "draw parameters and constants, and the prologue of a plan");
  command->callback([state] { state->run(); });
}

}  // namespace weft::tools
