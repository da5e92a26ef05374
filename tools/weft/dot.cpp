// weft dot: a picture of a model, or of what became of it.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "ir/support/error.hpp"
#include "passes/egraph_picture.hpp"
#include "runtime/container.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/drawing.hpp"
#include "tools/weft/find_node.hpp"
#include "tools/weft/model_options.hpp"
#include "tools/weft/numbers.hpp"
#include "tools/weft/page.hpp"

namespace weft::tools {
namespace {

struct Dot {
  ModelOptions model;
  DrawOptions draw;
  passes::PictureOptions picture;
  std::string what = "graph", output;
  std::vector<std::string> roots;
  std::vector<uint32_t> classes;
  bool html = false;

  const CLI::App* command = nullptr;

  /// Options of e-graphs say nothing of other pictures.
  void check_usage() const {
    if (what == "egraph") return;
    for (const char* option : {"--only-extracted", "--root", "--depth", "--class", "--costs", "--facts"})
      if (command->count(option)) throw CLI::ValidationError(option, "is of e-graphs: give --of egraph too");
  }

  void run() const {
    check_usage();
    const bool to_file = !output.empty() && output != "-";
    if (to_file) runtime::check_writable(output);
    runtime::Session session = what == "plan" ? model.load() : model.load_graph();
    std::string text;
    if (what == "plan")
      text = html ? plan_page(session.prepare()->plan(), draw) : draw_plan(session.prepare()->plan(), draw);
    else if (what == "egraph")
      text = draw_egraph(session);
    else
      text = html ? graph_page(*session.graph(), draw) : draw_graph(*session.graph(), draw);
    if (to_file)
      runtime::write_file_atomically(output, text);
    else
      fmt::print("{}", text);
  }

  std::string draw_egraph(const runtime::Session& session) const {
    const ir::Graph& graph = *session.graph();
    if (!graph.is_static())
      fail(ErrorCode::invalid_argument,
           "the model has symbolic dimensions: give --shape or --dim to search for its e-graph");
    passes::PictureOptions how = picture;
    how.max_nodes = draw.max_nodes;
    for (const std::string& root : roots) how.roots.push_back(find_node(graph, root));
    for (uint32_t id : classes) how.classes.emplace_back(id);
    const passes::RecordedSearch search(graph, session.targets(), session.options().compile);
    return html ? egraph_page(
                      fmt::format("{}: {}", std::filesystem::path(model.model).filename().string(), graph.name()),
                      passes::egraph_picture(search, how))
                : passes::egraph_dot(search, how);
  }
};

}  // namespace

void add_dot(CLI::App& app, Outcome&) {
  CLI::App* command = app.add_subcommand("dot", "draw a model's graph, e-graph or plan for Graphviz");
  auto state = std::make_shared<Dot>();
  state->command = command;
  state->model.add(*command);
  command->add_option("--of", state->what, "graph, egraph (all equal forms, the chosen one marked) or plan")
      ->check(CLI::IsMember({"graph", "egraph", "plan"}))
      ->capture_default_str();
  command->add_option("-o,--output", state->output, "file to write; standard output where absent or -");
  command->add_flag("--html", state->html,
                    "one page for a browser instead: pan, zoom, search, iterations, costs and rules");
  command->add_option("--max-nodes", state->draw.max_nodes, "draw so many nodes, then one that counts the rest")
      ->transform(whole_number())
      ->capture_default_str();
  command->add_flag("--parameters", state->draw.parameters,
                    "draw parameters and constants, and the prologue of a plan");
  command->add_flag("--only-extracted", state->picture.only_extracted, "of an e-graph: the chosen nodes alone");
  command->add_option("--root", state->roots,
                      "of an e-graph: start from this node of the model instead of its outputs (repeat for more)");
  command->add_option("--depth", state->picture.depth, "of an e-graph: show classes so far from the roots")
      ->transform(whole_number(0, std::numeric_limits<int>::max()));
  command->add_option("--class", state->classes, "of an e-graph: show only these classes, by comma")
      ->delimiter(',')
      ->transform(whole_number(0, std::numeric_limits<uint32_t>::max()));
  command->add_flag("--costs", state->picture.costs, "of an e-graph: the cost of each node, in nanoseconds");
  command->add_flag("--facts", state->picture.facts, "of an e-graph: the type of each class");
  command->callback([state] { state->run(); });
}

}  // namespace weft::tools
