#include "passes/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include "egraph/explain.hpp"
#include "ir/support/error.hpp"
#include "ir/text.hpp"

namespace weft::passes {

using egraph::ClassId;
using egraph::NodeId;

namespace {

constexpr uint32_t kViewDepth = 3;  // transposes and reshapes between a value and the form that the plan keeps
constexpr uint32_t kNearDepth = 5;  // around a rejected kernel, what the plan may choose anew
constexpr size_t kNearClasses = 300;

/// Whether a provenance "a + b' + c" names a value.
bool mentions(std::string_view source, std::string_view name) {
  for (size_t at = source.find(name); at != std::string_view::npos; at = source.find(name, at + 1)) {
    const bool begins = at == 0 || source.substr(0, at).ends_with(" + ");
    std::string_view rest = source.substr(at + name.size());
    if (rest.starts_with('\'')) rest.remove_prefix(1);
    if (begins && (rest.empty() || rest.starts_with(" + "))) return true;
  }
  return false;
}

/// Where the plan has a value: in class `at`, reached from the term as written along `path`; computed as `member` by
/// `kernels`.
struct Place {
  ClassId at;
  std::vector<NodeId> path;     ///< transposes and reshapes: of the class before (its operand is next), or over it
  std::vector<char> upwards;    ///< beside path
  NodeId member;                ///< the node of `at` that is computed
  std::vector<NodeId> kernels;  ///< chosen ones that compute it; empty: a leaf, a view or the prologue's
};

class Explainer {
 public:
  Explainer(const RecordedSearch& search, const RecordedPlan& plan, const ir::Graph& graph, const ExplainLimits& limits)
      : search_(search),
        run_(search.run()),
        plan_(plan),
        graph_(graph),
        limits_(limits),
        printed_(ir::printed_names(graph)) {
    for (NodeId node : egraph::chosen_order(run_.frozen(), run_.roots(), run_.choice())) {
      const auto kernel = run_.fusion().kernels.find(node);
      if (kernel == run_.fusion().kernels.end()) continue;
      for (size_t i = 0; i < kernel->second.computes.size(); ++i)
        inside_[run_.graph().find(kernel->second.computes[i])].emplace_back(node, kernel->second.members[i]);
    }
    for (size_t i = 0; i < plan.steps.size(); ++i)
      if (plan.steps[i].valid()) step_of_[plan.steps[i]].push_back(i);
    for (size_t i = 0; i < plan.prologue.size(); ++i)
      if (plan.prologue[i].valid()) prologue_of_[plan.prologue[i]].push_back(i);
  }

  /// What each step reads, by name.
  void name_buffers() {
    const auto leaves = [&](const std::vector<ir::PlanValue>& values) {
      for (const ir::PlanValue& v : values)
        if (v.buffer.valid()) writer_[v.buffer.value] = v.name;
    };
    leaves(plan_.plan.inputs), leaves(plan_.plan.parameters);
    for (size_t i = 0; i < plan_.plan.prologue.size(); ++i)
      for (ir::BufferId id : plan_.plan.prologue[i].outputs)
        writer_[id.value] = fmt::format("step {} of the prologue", i);
    for (size_t i = 0; i < plan_.plan.steps.size(); ++i)
      for (ir::BufferId id : plan_.plan.steps[i].outputs) writer_[id.value] = fmt::format("step {}", i);
  }
  std::vector<std::string> reads(const ir::Step& step) const {
    std::vector<std::string> names;
    for (ir::BufferId id : step.inputs) {
      const auto known = writer_.find(id.value);
      names.push_back(known == writer_.end() ? "a constant" : known->second);
    }
    return names;
  }

  Explanation run(ir::NodeId node) {
    name_buffers();
    Explanation out;
    out.plan_cost = search_.result().cost, out.proven = search_.result().proven;
    const bool constant = graph_.node(node).op == ir::Op::constant;  // may be written into what uses it
    if (!search_.e_node(node).valid() && constant) {
      out.values.push_back({});
      name(out.values[0], node);
      out.values[0].fate = fate(graph_.node(node), {});
      return out;
    }
    if (!search_.e_node(node).valid())
      fail(ErrorCode::invalid_argument, "no output of the graph needs '{}': it is not compiled", printed_[node.value]);
    const Told here = told(node);
    out.values.push_back(story(node, here));
    if (here.place) return out;
    std::vector<std::string> names;
    for (ir::NodeId user : computed_users(node)) {
      out.values.push_back(story(user, told(user)));
      names.push_back(out.values.back().name);
    }
    std::string& fate = out.values[0].fate;
    fate = "not computed: nothing in the plan needs it";
    for (size_t i = 0; i < names.size(); ++i) fate += (i ? ", " : "; what used it is computed without it: ") + names[i];
    return out;
  }

 private:
  ClassId class_of(ir::NodeId node) const { return run_.graph().class_of(search_.e_node(node)); }

  // --- where a value is

  /// In the class itself, else behind the fewest transposes and reshapes.
  std::optional<Place> find_place(ClassId start) const {
    if (auto own = computed_in(start)) return own;
    std::vector<Place> queue{{start, {}, {}, {}, {}}};
    std::unordered_set<uint32_t> seen{start.value};
    for (size_t i = 0; i < queue.size(); ++i) {
      if (queue[i].path.size() >= kViewDepth) continue;
      for (const auto& [to, along, upwards] : moved(queue[i].at)) {
        if (!seen.insert(to.value).second) continue;
        Place next = queue[i];
        next.at = to, next.path.push_back(along), next.upwards.push_back(upwards);
        if (auto found = computed_in(to)) {
          found->path = next.path, found->upwards = next.upwards;
          return found;
        }
        queue.push_back(std::move(next));
      }
    }
    return std::nullopt;
  }

  struct Move {
    ClassId to;
    NodeId along;
    bool upwards;
  };
  /// The classes that hold a class's value in another layout.
  std::vector<Move> moved(ClassId at) const {
    std::vector<Move> moves;
    for (ir::Op op : {ir::Op::reshape, ir::Op::transpose}) {
      for (NodeId node : run_.frozen().nodes(at, op_number(op)))
        moves.push_back({run_.frozen().children(node)[0], node, false});
      for (NodeId node : run_.frozen().uses(at, op_number(op)))
        moves.push_back({run_.frozen().class_of(node), node, true});
    }
    return moves;
  }

  /// Computed in this very class: on its own, inside of kernels, or before the run.
  std::optional<Place> computed_in(ClassId id) const {
    Place place{id, {}, {}, {}, {}};
    const NodeId chosen = run_.choice()[id];
    const auto kernel = chosen.valid() ? run_.fusion().kernels.find(chosen) : run_.fusion().kernels.end();
    if (kernel != run_.fusion().kernels.end()) {
      place.member = kernel->second.members.back();
      place.kernels.push_back(chosen);
      return place;
    }
    if (auto known = inside_.find(id); known != inside_.end()) {
      place.member = known->second[0].second;
      for (const auto& [node, member] : known->second) place.kernels.push_back(node);
      return place;
    }
    const bool view = chosen.valid() && run_.frozen().op(chosen) == op_number(ir::Op::reshape) && !run_.facts(id).fixed;
    if (!chosen.valid() || view) return std::nullopt;
    place.member = chosen;  // a leaf, or an op that depends on parameters alone
    return place;
  }

  /// The nearest users of a node whose values the plan has.
  std::vector<ir::NodeId> computed_users(ir::NodeId node) const {
    std::vector<std::vector<ir::NodeId>> users(graph_.size());
    for (ir::NodeId id : graph_.live_nodes())
      for (ir::Value operand : graph_.node(id).operands) users[operand.node.value].push_back(id);
    std::vector<ir::NodeId> found, queue{node};
    std::vector<char> seen(graph_.size());
    seen[node.value] = 1;
    for (size_t i = 0; i < queue.size() && found.size() + 1 < limits_.values; ++i)
      for (ir::NodeId user : users[queue[i].value]) {
        if (std::exchange(seen[user.value], 1)) continue;
        if (found.size() + 1 < limits_.values && find_place(class_of(user)))
          found.push_back(user);
        else
          queue.push_back(user);
      }
    return found;
  }

  // --- the story of one value

  /// Of a value whose block was left out: by the second block's e-node, or by the first one's where the plan computes
  /// it a block later.
  struct Told {
    NodeId e_node;
    std::optional<Place> place;
    bool by_first = false;
  };
  Told told(ir::NodeId node) const {
    Told second{search_.e_node(node), find_place(class_of(node))};
    const NodeId before = search_.e_node_before(node);
    const std::string name = printed_[node.value];
    if (!before.valid() || (second.place && has_step(*second.place, name))) return second;
    Told first{before, find_place(run_.graph().class_of(before)), true};
    return first.place && has_step(*first.place, name) ? first : second;
  }
  bool has_step(const Place& place, const std::string& value) const {
    return std::any_of(place.kernels.begin(), place.kernels.end(),
                       [&](NodeId kernel) { return !steps_named(kernel, value).empty(); });
  }
  /// The steps of a kernel whose provenance names the value.
  std::vector<size_t> steps_named(NodeId kernel, const std::string& value) const {
    std::vector<size_t> named;
    if (const auto steps = step_of_.find(kernel); steps != step_of_.end())
      for (size_t step : steps->second)
        if (mentions(plan_.plan.steps[step].source, value)) named.push_back(step);
    return named;
  }

  ValueStory story(ir::NodeId node, const Told& told) {
    ValueStory out;
    const ir::Node& n = graph_.node(node);
    const auto& [e_node, place, by_first] = told;
    names_ = search_.names_around(node, by_first);
    name(out, node);
    if (!place) {
      out.fate = "not computed: nothing in the plan needs it";
      add_refused(out, class_of(node));
      return out;
    }
    out.fate = fate(n, *place);
    if (const size_t copies = search_.left_out(node))
      out.fate += fmt::format("; one of {} equal blocks: what was found for the second, told of this one", copies);
    add_rewrites(out, e_node, *place);
    for (NodeId kernel : place->kernels) out.runs.push_back(kernel_story(kernel, out.name));
    if (place->kernels.empty()) add_prologue(out, place->member);
    add_rejected(out, *place);
    add_refused(out, place->at);
    return out;
  }

  void name(ValueStory& out, ir::NodeId node) const {
    out.name = printed_[node.value];
    out.written = ir::print_node(graph_, node);
    for (const ir::TensorType& type : graph_.node(node).types)
      out.type += (out.type.empty() ? "" : ", ") + to_string(type);
  }

  std::string fate(const ir::Node& node, const Place& place) const {
    std::string text;
    if (node.op == ir::Op::input || node.op == ir::Op::parameter || node.op == ir::Op::constant)
      return fmt::format("a leaf: {}", to_string(node.op));
    if (place.kernels.empty())
      text = run_.facts(place.at).fixed ? "depends on parameters alone: computed once, when they are bound"
                                        : "another name of a leaf";
    else if (run_.choice()[place.at] == place.kernels[0])
      text = "computed";
    else
      text = place.kernels.size() == 1 ? "computed inside a kernel"
                                       : fmt::format("computed inside {} kernels", place.kernels.size());
    if (!place.path.empty()) text += fmt::format(", as {}", to_string(run_.facts(place.at).type()));
    return text;
  }

  /// From the term as written to the term that is computed. Where one move leads there, several nodes may stand for it:
  /// the shortest chain is told.
  void add_rewrites(ValueStory& out, NodeId written, Place place) const {
    out.rewrites = rewrites(written, place);
    if (place.path.size() == 1)
      for (const Move& move : moved(run_.graph().class_of(written))) {
        if (move.to != place.at) continue;
        place.path = {move.along}, place.upwards = {static_cast<char>(move.upwards)};
        if (std::vector<Rewrite> other = rewrites(written, place); other.size() < out.rewrites.size())
          out.rewrites = std::move(other);
      }
    if (out.rewrites.size() > limits_.rewrites) {
      out.rewrites_left_out = out.rewrites.size() - limits_.rewrites;
      out.rewrites.resize(limits_.rewrites);
    }
  }

  std::vector<Rewrite> rewrites(NodeId from, const Place& place) const {
    std::vector<Rewrite> out;
    ClassId at = egraph::EGraph::class_alias(from);
    for (size_t i = 0; i < place.path.size(); ++i) {
      const NodeId along = place.path[i];
      const ClassId operand = run_.graph().original_children(along)[0];
      const bool up = place.upwards[i];
      chain(out, at, up ? operand : egraph::EGraph::class_alias(along));
      at = up ? egraph::EGraph::class_alias(along) : operand;
      const NodeId before = up ? NodeId(operand.value) : along, after = up ? along : NodeId(operand.value);
      out.push_back({search_.term(before, names_),
                     search_.term(after, names_),
                     {0, up ? "the plan has it moved" : "the plan has this operand", {}},
                     0});
    }
    chain(out, at, egraph::EGraph::class_alias(place.member));
    return out;
  }

  void chain(std::vector<Rewrite>& out, ClassId from, ClassId to) const {
    if (from == to) return;
    for (const egraph::ExplainStep& step : egraph::explain(run_.graph(), from, to, 100'000))
      out.push_back({search_.term(step.left, names_), search_.term(step.right, names_),
                     search_.reason(step.reason, step.record), step.depth});
  }

  /// Where a block is laid out many times, the steps whose provenance names the value are its own.
  KernelStory kernel_story(NodeId node, const std::string& value) const {
    KernelStory out;
    const ir::Attributes& attributes = *run_.language().attributes_of(run_.frozen().symbol(node));
    out.e_node = node.value;
    out.kernel = attributes.text("backend") + "." + attributes.text("kernel");
    out.program = attributes.program("program")->text();
    out.computes = search_.provenance(node, names_);
    out.nanoseconds = run_.cost_once(node).value_or(0);
    if (auto steps = step_of_.find(node); steps != step_of_.end()) {
      out.steps = steps_named(node, value);
      if (out.steps.empty()) out.steps = steps->second;
      out.computes = plan_.plan.steps[out.steps[0]].source;
      out.reads = reads(plan_.plan.steps[out.steps[0]]);
    }
    return out;
  }

  void add_prologue(ValueStory& out, NodeId member) const {
    const auto steps = prologue_of_.find(member);
    if (steps == prologue_of_.end()) return;
    for (size_t i : steps->second) {
      const ir::Step& step = plan_.plan.prologue[i];
      out.runs.push_back({member.value,
                          step.backend + "." + step.kernel,
                          step.program->text(),
                          step.source,
                          step.nanoseconds,
                          {i},
                          true,
                          reads(step)});
    }
  }

  void add_rejected(ValueStory& out, const Place& place) {
    const NodeId chosen = run_.choice()[place.at];
    std::vector<NodeId> others;
    for (NodeId node : run_.frozen().nodes(place.at, op_number(ir::Op::kernel)))
      if (node != chosen && run_.cost(node)) others.push_back(node);
    const std::vector<char> near_it = near(place.at);
    for (NodeId node : others) {
      RejectedKernel kernel;
      static_cast<KernelStory&>(kernel) = kernel_story(node, out.name);
      best_plan_with(node, &near_it, kernel);
      out.rejected.push_back(std::move(kernel));
    }
    const auto order = [](const RejectedKernel& a, const RejectedKernel& b) {
      return std::pair(a.more.value_or(INT64_MAX), a.nanoseconds) <
             std::pair(b.more.value_or(INT64_MAX), b.nanoseconds);
    };
    std::stable_sort(out.rejected.begin(), out.rejected.end(), order);
    if (out.rejected.size() > limits_.rejected) {
      out.rejected_left_out = out.rejected.size() - limits_.rejected;
      out.rejected.resize(limits_.rejected);
    }
    for (RejectedKernel& kernel : out.rejected) best_plan_with(NodeId(kernel.e_node), nullptr, kernel);
    std::stable_sort(out.rejected.begin(), out.rejected.end(), order);
  }

  /// Classes few nodes away from `id` in either direction, by class id.
  std::vector<char> near(ClassId id) const {
    std::vector<char> seen(run_.frozen().id_bound());
    std::vector<ClassId> queue{id};
    seen[id.value] = 1;
    size_t begin = 0;
    for (uint32_t level = 0; level < kNearDepth && queue.size() < kNearClasses; ++level)
      for (const size_t end = queue.size(); begin < end && queue.size() < kNearClasses; ++begin) {
        const auto reach = [&](ClassId next) {
          if (!std::exchange(seen[next.value], 1)) queue.push_back(next);
        };
        for (NodeId node : run_.frozen().nodes(queue[begin]))
          for (ClassId child : run_.frozen().children(node)) reach(run_.frozen().find(child));
        for (NodeId user : run_.frozen().uses(queue[begin])) reach(run_.frozen().class_of(user));
      }
    return seen;
  }

  /// The search once more, with the class as an output and this its only form: where all but the classes near it keep
  /// what was chosen, which finds good plans soon, or (`near_it` null) over everything, which also bounds them.
  void best_plan_with(NodeId node, const std::vector<char>* near_it, RejectedKernel& out) const {
    const ClassId id = run_.frozen().class_of(node);
    std::vector<ClassId> roots = run_.roots();
    if (!std::binary_search(roots.begin(), roots.end(), id)) roots.push_back(id);
    egraph::ExtractOptions how;
    how.fuel = limits_.fuel;
    const auto cost = [&](NodeId n) -> std::optional<uint64_t> {
      const ClassId of = run_.frozen().class_of(n);
      if (of == id ? n != node : near_it && !(*near_it)[of.value] && run_.choice()[of] != n) return std::nullopt;
      return run_.cost(n);
    };
    const auto change = [&](uint64_t plan) {
      return static_cast<int64_t>(plan - run_.choice().cost) / static_cast<int64_t>(run_.weight(id));
    };
    try {
      const egraph::ExtractResult best = egraph::extract(run_.frozen(), roots, cost, how);
      out.more = std::min(out.more.value_or(INT64_MAX), change(best.cost));
      if (!near_it) out.at_least = change(best.lower_bound);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;  // no plan can hold it
    }
  }

  void add_refused(ValueStory& out, ClassId id) const {
    std::map<std::pair<std::string, std::string>, size_t> known;
    for (const RefusedKernel& refused : run_.fusion().refused) {
      if (run_.graph().find(refused.result) != id) continue;
      const auto [it, fresh] = known.try_emplace({refused.backend, refused.reason}, out.refused.size());
      if (fresh) out.refused.push_back({refused.backend, refused.reason, 0, refused.program->text()});
      RefusedKernels& group = out.refused[it->second];
      ++group.count;
      if (refused.program->text().size() < group.program.size()) group.program = refused.program->text();
    }
    std::stable_sort(out.refused.begin(), out.refused.end(),
                     [](const auto& a, const auto& b) { return a.count > b.count; });
  }

  const RecordedSearch& search_;
  const SearchRun& run_;
  const RecordedPlan& plan_;
  const ir::Graph& graph_;
  const ExplainLimits& limits_;
  const std::vector<std::string> printed_;                                      ///< names of the graph's values
  std::unordered_map<ClassId, std::vector<std::pair<NodeId, NodeId>>> inside_;  // class -> (kernel, member)
  std::unordered_map<NodeId, std::vector<size_t>> step_of_, prologue_of_;
  std::unordered_map<uint32_t, std::string> writer_;  // by buffer
  RecordedSearch::Names names_;                       // of the value at hand
};

}  // namespace

Explanation explain(const RecordedSearch& search, const RecordedPlan& plan, const ir::Graph& graph, ir::NodeId node,
                    const ExplainLimits& limits) {
  return Explainer(search, plan, graph, limits).run(node);
}

std::vector<ir::NodeId> nodes_of_step(const RecordedSearch& search, const RecordedPlan& plan, const ir::Graph& graph,
                                      size_t step) {
  if (step >= plan.steps.size())
    fail(ErrorCode::invalid_argument, "the plan has {} steps, no step {}", plan.steps.size(), step);
  std::vector<ir::NodeId> out;
  const auto kernel = search.run().fusion().kernels.find(plan.steps[step]);
  if (kernel == search.run().fusion().kernels.end()) return out;
  const egraph::EGraph& egraph = search.run().graph();
  const std::vector<std::string> names = ir::printed_names(graph);
  const std::vector<ir::NodeId> live = graph.live_nodes();
  for (bool named : {true, false}) {  // of equal blocks the one that the step is of, where it has names
    for (ClassId id : kernel->second.computes)
      for (ir::NodeId node : live)
        if (const NodeId written = search.e_node(node); written.valid() && egraph.class_of(written) == egraph.find(id))
          if (!named || mentions(plan.plan.steps[step].source, names[node.value])) out.push_back(node);
    if (!out.empty()) break;
  }
  return out;
}

}  // namespace weft::passes
