// weft inspect: what is in a model or in a plan file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "ir/support/readable.hpp"
#include "ir/text.hpp"
#include "runtime/mapped_file.hpp"
#include "runtime/plan_file.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/model_options.hpp"

namespace weft::tools {
namespace {

/// Most frequent first, then by name.
std::vector<std::pair<std::string, int64_t>> ranked(const std::map<std::string, int64_t>& counts) {
  std::vector<std::pair<std::string, int64_t>> list(counts.begin(), counts.end());
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return list;
}

struct Inspect {
  ModelOptions model;
  bool text = false, parameters = false, plan = false;

  void run() const {
    if (model.model.ends_with(".weft")) return plan_file();
    runtime::Session session = model.load();
    const ir::Graph& graph = *session.graph();
    if (text) return fmt::print("{}", ir::print_graph(graph, {.types = true}));
    ports(session);
    contents(graph);
    if (plan && graph.is_static())
      steps(session.prepare()->plan(), session.peak_bytes());
    else if (plan)
      fmt::print("plan: give --shape or --dim for {}\n", fmt::join(symbols(graph), ", "));
  }

  static std::set<std::string> symbols(const ir::Graph& graph) {
    std::set<std::string> names;
    for (const ir::Node& node : graph.nodes())
      for (const ir::TensorType& type : node.types)
        for (const ir::Dim& dim : type.shape)
          for (std::string& symbol : dim.symbols()) names.insert(readable(symbol));
    return names;
  }

  static void ports(const runtime::Session& session) {
    for (const runtime::NamedType& t : session.inputs())
      fmt::print("input {} {}\n", readable(t.name), readable(to_string(t.type)));
    for (const runtime::NamedType& t : session.outputs())
      fmt::print("output {} {}\n", readable(t.name), readable(to_string(t.type)));
  }

  void contents(const ir::Graph& graph) const {
    if (std::set<std::string> names = symbols(graph); !names.empty())
      fmt::print("symbolic dimensions: {}\n", fmt::join(names, ", "));
    int64_t elements = 0, bytes = 0;
    for (ir::NodeId id : graph.parameters()) {
      const ir::Node& node = graph.node(id);
      elements += node.types[0].elements();
      bytes += node.types[0].bytes();
      if (parameters) fmt::print("parameter {} {}\n", readable(node.name), readable(to_string(node.types[0])));
    }
    fmt::print("parameters: {} tensors, {} elements, {} bytes\n", graph.parameters().size(), elements, bytes);
    std::map<std::string, int64_t> ops;
    int64_t nodes = 0;
    for (ir::NodeId id : graph.live_nodes()) {
      const ir::Node& node = graph.node(id);
      if (ir::info(node.op).has(ir::kLeaf)) continue;
      ++ops[std::string(to_string(node.op))];
      ++nodes;
    }
    fmt::print("nodes: {}\n", nodes);
    for (const auto& [op, count] : ranked(ops)) fmt::print("  {:6} {}\n", count, op);
  }

  static void steps(const ir::Plan& plan, int64_t peak) {
    std::map<std::string, int64_t> kernels;
    for (const ir::Step& step : plan.steps)
      ++kernels[step.backend + "." + step.kernel +
                (step.resources.implementation.empty() ? "" : " [" + step.resources.implementation + "]")];
    fmt::print("plan: {} steps and {} in the prologue for {} threads, estimated {:.3f} ms\n", plan.steps.size(),
               plan.prologue.size(), plan.threads, static_cast<double>(plan.stats.cost) / 1e6);
    for (const auto& [kernel, count] : ranked(kernels)) fmt::print("  {:6} {}\n", count, readable(kernel));
    fmt::print("peak memory of a run: {} bytes (arena {}, lower bound of the arena {})\n", peak, plan.arena_bytes,
               plan.stats.arena_lower_bound);
  }

  void plan_file() const {
    runtime::Provenance p = runtime::read_provenance(runtime::MappedFile::open(model.model)->bytes());
    fmt::print("made by weft {} on {}\nmodel {} ({})\n", readable(p.weft), readable(p.cpu),
               p.model.empty() ? "in memory" : readable(p.model), readable(p.model_hash));
    fmt::print("options: -O{} --precision {} --threads {}\n", p.level, readable(p.precision), p.threads);
    for (const auto& [name, version] : p.backends) fmt::print("backend {}: {}\n", readable(name), readable(version));
    if (std::string reason = runtime::unusable_here(p); !reason.empty())
      fmt::print("cannot run here: {}\n", readable_message(reason));
    runtime::PlanFile file = runtime::read_plan_file(model.model);
    for (const ir::PlanValue& v : file.plan.inputs)
      fmt::print("input {} {}\n", readable(v.name), readable(to_string(v.type)));
    for (const ir::PlanValue& v : file.plan.outputs)
      fmt::print("output {} {}\n", readable(v.name), readable(to_string(v.type)));
    int64_t bytes = 0, embedded = 0, peak = file.plan.arena_bytes;
    for (const runtime::ParameterSource& source : file.parameters) {
      bytes += source.type.bytes();
      if (source.file.empty()) embedded += source.type.bytes();
      if (parameters)
        fmt::print("parameter {} {} {} at {}\n", readable(source.name), readable(to_string(source.type)),
                   source.file.empty() ? "embedded" : readable(source.file), source.offset);
    }
    fmt::print("parameters: {} tensors, {} bytes, {} of them embedded\n", file.parameters.size(), bytes, embedded);
    for (const ir::PlanValue& v : file.plan.outputs) peak += v.type.bytes();
    steps(file.plan, peak);
  }
};

}  // namespace

void add_inspect(CLI::App& app, Outcome&) {
  CLI::App* command = app.add_subcommand(
      "inspect", "show a model's inputs, outputs, parameters, ops and memory, or what a plan file holds");
  auto state = std::make_shared<Inspect>();
  state->model.add(*command);
  command->add_flag("--text", state->text, "print the whole graph in the text language");
  command->add_flag("--parameters", state->parameters, "list every parameter");
  command->add_flag("--plan", state->plan, "compile it too, and show steps, kernels and peak memory");
  command->callback([state] { state->run(); });
}

}  // namespace weft::tools
