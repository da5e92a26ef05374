// weft dot: a picture of a model, or of what became of it.
#include <fmt/format.h>

#include <memory>

#include "ir/support/error.hpp"
#include "passes/search.hpp"
#include "runtime/container.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/drawing.hpp"
#include "tools/weft/model_options.hpp"

namespace weft::tools {
namespace {

struct Dot {
  ModelOptions model;
  DrawOptions draw;
  passes::PictureOptions picture;
  std::string what = "graph", output;

  void run() const {
    runtime::Session session = model.load();
    std::string text;
    if (what == "plan")
      text = draw_plan(session.prepare()->plan(), draw);
    else if (!session.graph())
      fail(ErrorCode::unsupported, "a plan file holds no graph: draw it with --of plan");
    else if (what == "egraph")
      text = draw_egraph(session);
    else
      text = draw_graph(*session.graph(), draw);
    if (output.empty() || output == "-")
      fmt::print("{}", text);
    else
      runtime::write_file_atomically(output, text);
  }

  std::string draw_egraph(const runtime::Session& session) const {
    if (!session.graph()->is_static())
      fail(ErrorCode::invalid_argument,
           "the model has symbolic dimensions: give --shape or --dim to search for its e-graph");
    passes::PictureOptions how = picture;
    how.max_nodes = draw.max_nodes;
    return passes::egraph_picture(*session.graph(), session.targets(), session.options().compile, how);
  }
};

}  // namespace

void add_dot(CLI::App& app, Outcome&) {
  CLI::App* command = app.add_subcommand("dot", "draw a model's graph, e-graph or plan for Graphviz");
  auto state = std::make_shared<Dot>();
  state->model.add(*command);
  command->add_option("--of", state->what, "graph, egraph (all equal forms, the chosen one marked) or plan")
      ->check(CLI::IsMember({"graph", "egraph", "plan"}))
      ->capture_default_str();
  command->add_option("-o,--output", state->output, "file to write; standard output where absent or -");
  command->add_option("--max-nodes", state->draw.max_nodes, "draw so many nodes, then one that counts the rest")
      ->capture_default_str();
  command->add_flag("--parameters", state->draw.parameters,
                    "draw parameters and constants, and the prologue of a plan");
  command->add_flag("--only-extracted", state->picture.only_extracted, "of an e-graph: the chosen nodes alone");
  command->add_flag("--costs", state->picture.costs, "of an e-graph: the cost of each node, in nanoseconds");
  command->add_flag("--facts", state->picture.facts, "of an e-graph: the type of each class");
  command->callback([state] { state->run(); });
}

}  // namespace weft::tools
