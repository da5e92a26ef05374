// weft explain: from what the user wrote to what runs, by which rules, and why others lost; or what differs between
// plans.
#include "passes/explain.hpp"

#include <fmt/format.h>

#include <charconv>
#include <memory>

#include "ir/support/error.hpp"
#include "runtime/plan_file.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/explanation.hpp"
#include "tools/weft/find_node.hpp"
#include "tools/weft/model_options.hpp"
#include "tools/weft/numbers.hpp"
#include "tools/weft/plan_diff.hpp"

namespace weft::tools {
namespace {

// --- the command

struct Explain {
  ModelOptions model;
  std::string node, other;
  bool diff = false, as_json = false;
  size_t width = 160;
  passes::ExplainLimits limits;

  void run() const {
    if (diff) return difference();
    if (!other.empty())
      throw CLI::ValidationError("other",
                                 "'" + other + "' is one argument too many; two plans are compared with --diff");
    if (node.empty()) throw CLI::RequiredError("--node");
    const runtime::Session session = model.load_graph();
    const ir::Graph& graph = *session.graph();
    if (!graph.is_static())
      fail(ErrorCode::invalid_argument,
           "the model has symbolic dimensions: give --shape or --dim to explain what they are compiled to");
    const std::optional<size_t> step = step_number();
    std::optional<ir::NodeId> id;
    if (!step) id = find_node(graph, node);
    const passes::RecordedSearch search(graph, session.targets(), session.options().compile);
    const passes::RecordedPlan plan = search.plan();
    std::vector<ir::NodeId> nodes;
    if (step) nodes = nodes_of_step(search, plan, graph, *step);
    if (id) nodes.push_back(*id);
    if (nodes.empty()) fail(ErrorCode::unsupported, "step {} computes no value that the model names", *step);
    print(explain(search, plan, graph, nodes.back(), limits));
  }

  std::optional<size_t> step_number() const {
    const std::string_view prefix = "step:";
    if (!node.starts_with(prefix)) return std::nullopt;
    size_t number = 0;
    const char *begin = node.data() + prefix.size(), *end = node.data() + node.size();
    const auto [next, error] = std::from_chars(begin, end, number);
    if (error != std::errc() || next != end) throw CLI::ValidationError("--node", "'" + node + "' is not step:N");
    return number;
  }

  void print(const passes::Explanation& explanation) const {
    fmt::print("{}", as_json ? explanation_json(explanation) : explanation_text(explanation, width));
  }

  ir::Plan plan_of(const std::string& file) const {
    if (file.ends_with(".weft")) return runtime::read_plan_file(file).plan;
    ModelOptions one = model;
    one.model = file;
    return one.load().prepare()->plan();
  }

  void difference() const {
    if (other.empty()) throw CLI::RequiredError("a second plan or model");
    if (!node.empty()) throw CLI::ValidationError("--node", "--diff compares whole plans");
    const PlanDiff found = diff_plans(plan_of(model.model), plan_of(other));
    fmt::print("{}", as_json ? diff_json(found) : diff_text(found, model.model, other, width));
  }
};

}  // namespace

void add_explain(CLI::App& app, Outcome&) {
  CLI::App* command = app.add_subcommand(
      "explain",
      "show by which rules a node of the model (of a plan: of the model it was made from) became what runs, and why "
      "other kernels lost; or compare two plans");
  auto state = std::make_shared<Explain>();
  state->model.add(*command);
  command->add_option("other", state->other, "with --diff: the second plan or model");
  command->add_option("--node", state->node,
                      "a value's name in the model, %N of inspect --text, or step:N of the plan");
  command->add_flag("--diff", state->diff,
                    "which steps differ between two plans (.weft) or models, and what that changes");
  command->add_flag("--json", state->as_json, "for programs");
  command->add_option("--width", state->width, "cut terms and programs of the text to so many letters")
      ->transform(whole_number(20, 1'000'000))
      ->capture_default_str();
  command->add_option("--rejected", state->limits.rejected, "kernels not taken: compare so many")
      ->transform(whole_number())
      ->capture_default_str();
  command->callback([state] { state->run(); });
}

}  // namespace weft::tools
