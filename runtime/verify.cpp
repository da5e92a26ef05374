#include "runtime/verify.hpp"

#include <algorithm>
#include <unordered_map>

#include "ir/support/error.hpp"

namespace weft::runtime {
namespace {

using ir::Tensor;

/// The words of a step's provenance: names of nodes, apart by separators that names rarely hold, and the whole text
/// first.
std::vector<std::string> node_names(const std::string& source) {
  std::vector<std::string> names = {source};
  size_t at = 0;
  while (at < source.size()) {
    size_t end = source.find_first_of(",;+ ", at);
    if (end == std::string::npos) end = source.size();
    if (end > at && end - at < source.size()) names.push_back(source.substr(at, end - at));
    at = end + 1;
  }
  std::reverse(names.begin() + 1, names.end());  // the last one computed is most likely the result
  return names;
}

/// Values of all nodes of the source by name, as the reference interpreter makes them.
struct Reference {
  std::unordered_map<std::string, std::vector<Tensor>> by_name;
  std::vector<Tensor> outputs;
};
Reference run_and_keep(const ir::Graph& graph, const ir::NamedTensors& inputs) {
  Reference reference;
  reference.outputs = ir::run_reference(graph, inputs, [&](ir::Value v, const Tensor& t) {
    const std::string& name = graph.node(v.node).name;
    if (!name.empty()) reference.by_name[name].push_back(t);
  });
  return reference;
}

/// Watches a run step by step.
class DivergenceFinder {
 public:
  DivergenceFinder(const Reference& reference, const Tolerance& tolerance, VerifyReport& report)
      : reference_(reference), tolerance_(tolerance), report_(report) {}

  /// What the step has to make of its operands, which it may overwrite.
  void before(const ir::Step& step, std::span<const Tensor> operands) {
    if (!report_.kernel) want_ = ir::run_program(*step.program, operands);
  }

  void after(const ir::Step& step, std::span<const Tensor> results) {
    ++report_.steps;
    for (size_t o = 0; o < results.size() && !report_.kernel; ++o) {
      const Difference d = compare(results[o], want_[o], tolerance_);
      if (!d.agrees()) report_.kernel = Divergence{describe_step(step), step.program->text(), d};
    }
    compare_with_node(step, results);
  }

 private:
  void compare_with_node(const ir::Step& step, std::span<const Tensor> results) {
    std::optional<Divergence> worst;
    bool compared = false;
    for (const std::string& name : node_names(step.source)) {
      auto found = reference_.by_name.find(name);
      if (found == reference_.by_name.end()) continue;
      for (const Tensor& want : found->second)
        for (const Tensor& got : results) {
          if (got.type() != want.type()) continue;
          compared = true;
          Difference d = compare(got, want, tolerance_);
          if (d.agrees()) return void(++report_.compared);  // it computes this node
          if (!worst) worst = Divergence{describe_step(step), name, d};
        }
    }
    report_.compared += compared;
    if (compared && !report_.node) report_.node = worst;
  }

  const Reference& reference_;
  Tolerance tolerance_;
  VerifyReport& report_;
  std::vector<Tensor> want_;  ///< of the step that runs
};

}  // namespace

bool VerifyReport::agrees() const {
  return std::all_of(outputs.begin(), outputs.end(), [](const auto& o) { return o.second.agrees(); });
}

VerifyReport verify(const Session& session, const ir::NamedTensors& inputs, const Tolerance& tolerance) {
  if (!session.graph()) fail(ErrorCode::unsupported, "a plan file holds no graph to verify against: name the model");
  NamedShapes shapes;
  for (const NamedType& input : session.inputs())
    if (auto given = inputs.find(input.name); given != inputs.end())
      shapes.emplace_back(input.name, to_ints(given->second.shape()));
  ir::NamedTensors got = session.run(inputs);
  std::optional<ir::Graph> specialized;
  if (!session.graph()->is_static())
    specialized = ir::specialize(*session.graph(), ir::bind_shapes(*session.graph(), shapes));
  const ir::Graph& graph = specialized ? *specialized : *session.graph();
  VerifyReport report;
  std::vector<Tensor> want = ir::run_reference(graph, inputs);
  for (size_t o = 0; o < want.size(); ++o) {
    const std::string& name = graph.outputs()[o].name;
    report.outputs.emplace_back(name, compare(got.at(name), want[o], tolerance));
  }
  if (report.agrees()) return report;
  Reference reference = run_and_keep(graph, inputs);
  DivergenceFinder finder(reference, tolerance, report);
  std::shared_ptr<const BoundPlan> bound = session.prepare(session.graph()->is_static() ? NamedShapes() : shapes);
  std::vector<Tensor> in, out(bound->plan().outputs.size());
  for (const ir::PlanValue& input : bound->plan().inputs) in.push_back(inputs.at(input.name));
  bound->run_observed(in, out,
                      {[&](const ir::Step& step, std::span<const Tensor> operands) { finder.before(step, operands); },
                       [&](const ir::Step& step, std::span<const Tensor> results) { finder.after(step, results); }});
  return report;
}

}  // namespace weft::runtime
