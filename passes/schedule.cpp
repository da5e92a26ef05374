#include "passes/schedule.hpp"

#include <map>
#include <unordered_map>

#include "ir/support/error.hpp"

namespace weft::passes {
namespace {

class Scheduler {
 public:
  Scheduler(const ir::Graph& graph, std::span<const ir::Target* const> targets, int threads, bool contract)
      : graph_(graph), targets_(targets), storage_(graph.size()), fixed_(graph.size(), false) {
    plan_.graph_name = graph.name();
    plan_.threads = threads;
    plan_.contract = contract;
  }

  ir::Plan run() {
    place_leaves();
    std::vector<ir::NodeId> live = graph_.live_nodes();
    for (ir::NodeId id : live) visit(id);
    place_outputs();
    plan_.stats.steps = static_cast<int64_t>(plan_.steps.size());
    for (const ir::Step& step : plan_.steps) plan_.stats.cost += step.nanoseconds;
    return std::move(plan_);
  }

 private:
  ir::BufferId new_buffer(ir::Placement placement, const ir::TensorType& type, uint32_t index = 0) {
    plan_.buffers.push_back({placement, type.dtype, type.bytes(), 0, index});
    return ir::BufferId(plan_.buffers.size() - 1);
  }

  void place_leaves() {
    for (ir::NodeId id : graph_.inputs()) {
      const ir::Node& node = graph_.node(id);
      storage_[id.value] = {
          new_buffer(ir::Placement::input, node.types[0], static_cast<uint32_t>(plan_.inputs.size()))};
      plan_.inputs.push_back({node.name, node.types[0], storage_[id.value][0]});
    }
    for (ir::NodeId id : graph_.parameters()) {
      const ir::Node& node = graph_.node(id);
      storage_[id.value] = {
          new_buffer(ir::Placement::parameter, node.types[0], static_cast<uint32_t>(plan_.parameters.size()))};
      plan_.parameters.push_back({node.name, node.types[0], storage_[id.value][0]});
      fixed_[id.value] = true;
    }
  }

  void visit(ir::NodeId id) {
    const ir::Node& node = graph_.node(id);
    switch (node.op) {
      case ir::Op::input:
      case ir::Op::parameter:
        return;
      case ir::Op::constant:
        storage_[id.value] = {
            new_buffer(ir::Placement::constant, node.types[0], static_cast<uint32_t>(plan_.constants.size()))};
        plan_.constants.push_back(node.tensor);
        fixed_[id.value] = true;
        return;
      case ir::Op::reshape:
        storage_[id.value] = {buffer(node.operands[0])};
        fixed_[id.value] = fixed_[node.operands[0].node.value];
        return;
      case ir::Op::kernel:
        return add_step(id, node);
      default:
        WEFT_CHECK(false, "'{}' in a lowered graph", ir::to_string(node.op));
    }
  }

  void add_step(ir::NodeId id, const ir::Node& node) {
    ir::Step step;
    step.backend = node.attributes->text("backend");
    step.kernel = node.attributes->text("kernel");
    step.program = node.attributes->program("program");
    step.source = node.name;
    bool fixed = true;
    for (ir::Value operand : node.operands) {
      step.inputs.push_back(buffer(operand));
      bool is_fixed = fixed_[operand.node.value];
      step.operands.push_back(is_fixed ? ir::OperandKind::parameter : ir::OperandKind::value);
      fixed = fixed && is_fixed;
    }
    fixed_[id.value] = fixed;
    for (const ir::TensorType& type : node.types) {
      step.outputs.push_back(new_buffer(fixed ? ir::Placement::bound : ir::Placement::arena, type));
      storage_[id.value].push_back(step.outputs.back());
    }
    if (fixed)
      step.operands.assign(step.operands.size(), ir::OperandKind::value);  // the prologue runs once: nothing to pack
    ask_resources(step, fixed ? 1 : plan_.threads);
    (fixed ? plan_.prologue : plan_.steps).push_back(std::move(step));
  }

  void ask_resources(ir::Step& step, int threads) {
    std::string key = step.backend + (threads == 1 ? "/1/" : "/n/");
    for (ir::OperandKind kind : step.operands) key += kind == ir::OperandKind::parameter ? 'p' : 'v';
    key += step.program->text();
    auto [it, fresh] = resources_.try_emplace(std::move(key));
    if (fresh) {
      const ir::Target& target = target_named(step.backend);
      ir::KernelRequest request{step.program, step.operands, threads, plan_.contract};
      it->second.first = target.resources(request);
      auto estimate = target.estimate(request);
      if (auto* ok = std::get_if<ir::KernelEstimate>(&estimate)) it->second.second = ok->nanoseconds;
    }
    step.resources = it->second.first;
    step.nanoseconds = it->second.second;
  }

  const ir::Target& target_named(std::string_view name) const {
    for (const ir::Target* target : targets_)
      if (target->name() == name) return *target;
    fail(ErrorCode::not_found, "no target named '{}'", name);
  }

  /// An output that a step computes is written straight into the caller's tensor; every other one is a copy.
  void place_outputs() {
    for (uint32_t o = 0; o < graph_.outputs().size(); ++o) {
      const ir::Output& output = graph_.outputs()[o];
      const ir::TensorType& type = graph_.type(output.value);
      ir::BufferId from = buffer(output.value);
      if (plan_.buffers[from.value].placement == ir::Placement::arena) {
        plan_.buffers[from.value].placement = ir::Placement::output;
        plan_.buffers[from.value].index = o;
      } else {
        ir::BufferId to = new_buffer(ir::Placement::output, type, o);
        plan_.copies.push_back({from, to});
        from = to;
      }
      plan_.outputs.push_back({output.name, type, from});
    }
  }

  ir::BufferId buffer(ir::Value v) const { return storage_[v.node.value][v.index]; }

  const ir::Graph& graph_;
  std::span<const ir::Target* const> targets_;
  ir::Plan plan_;
  std::vector<std::vector<ir::BufferId>> storage_;  // by node, one an output
  std::vector<bool> fixed_;                         // by node: depends on parameters and constants alone
  std::unordered_map<std::string, std::pair<ir::KernelResources, uint64_t>> resources_;
};

}  // namespace

ir::Plan schedule(const ir::Graph& lowered, std::span<const ir::Target* const> targets, int threads, bool contract) {
  return Scheduler(lowered, targets, threads, contract).run();
}

}  // namespace weft::passes
