#include "passes/lower_direct.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "ir/support/error.hpp"

namespace weft::passes {
namespace {

struct Choice {
  std::string backend, kernel;
};

Choice cheapest(const ir::KernelRequest& request, std::span<const ir::Target* const> targets) {
  std::optional<Choice> best;
  uint64_t best_cost = 0;
  std::vector<std::string> refusals;
  for (const ir::Target* target : targets) {
    auto estimate = target->estimate(request);
    if (auto* ok = std::get_if<ir::KernelEstimate>(&estimate)) {
      if (best && ok->nanoseconds >= best_cost) continue;
      best = {std::string(target->name()), ok->kernel};
      best_cost = ok->nanoseconds;
    } else {
      refusals.push_back(fmt::format("{}: {}", target->name(), std::get<ir::Refusal>(estimate).reason));
    }
  }
  if (!best)
    throw Error(ErrorCode::unsupported,
                fmt::format("no backend runs {} ({})", request.program->text(), fmt::join(refusals, "; ")));
  return *best;
}

/// Copies a graph node by node; structural constants move into the programs of their users.
class DirectLowering {
 public:
  DirectLowering(const ir::Graph& graph, std::span<const ir::Target* const> targets, int threads)
      : graph_(graph),
        targets_(targets),
        threads_(threads),
        result_(graph.name()),
        map_(graph.size()),
        fixed_(graph.size(), false) {}

  ir::Graph run() {
    for (ir::NodeId id : graph_.inputs()) leaf(id);
    for (ir::NodeId id : graph_.parameters()) leaf(id);
    for (ir::NodeId id : graph_.live_nodes()) visit(id);
    for (const ir::Output& output : graph_.outputs()) result_.output(output.name, mapped(output.value));
    return std::move(result_);
  }

 private:
  void leaf(ir::NodeId id) {
    const ir::Node& node = graph_.node(id);
    bool parameter = node.op == ir::Op::parameter;
    map_[id.value] =
        (parameter ? result_.parameter(node.name, node.types[0], node.tensor) : result_.input(node.name, node.types[0]))
            .node;
    fixed_[id.value] = parameter;
  }

  void visit(ir::NodeId id) {
    const ir::Node& node = graph_.node(id);
    if (node.op == ir::Op::input || node.op == ir::Op::parameter) return;
    if (node.op == ir::Op::constant) {
      map_[id.value] = result_.constant(node.tensor).node;
      fixed_[id.value] = true;
      return;
    }
    bool fixed = true;
    for (ir::Value v : node.operands) fixed = fixed && fixed_[v.node.value];
    fixed_[id.value] = fixed;
    if (node.op == ir::Op::reshape) {
      map_[id.value] = result_.add(ir::Op::reshape, {mapped(node.operands[0])}, *node.attributes, node.name);
      return;
    }
    std::vector<ir::Value> operands;
    ir::KernelRequest request = request_for(node, operands);
    Choice choice = node.op == ir::Op::kernel
                        ? Choice{node.attributes->text("backend"), node.attributes->text("kernel")}
                        : chosen(request);
    map_[id.value] =
        result_.add(ir::Op::kernel, operands,
                    {{"backend", choice.backend}, {"kernel", choice.kernel}, {"program", request.program}}, node.name);
  }

  ir::KernelRequest request_for(const ir::Node& node, std::vector<ir::Value>& operands) {
    ir::Graph program("program");
    std::vector<ir::Value> inner;
    ir::KernelRequest request{nullptr, {}, threads_};
    auto is_constant = [&](ir::Value v) { return graph_.node(v.node).op == ir::Op::constant; };
    const bool embed =
        !std::all_of(node.operands.begin(), node.operands.end(), is_constant);  // a kernel needs an operand
    for (ir::Value v : node.operands) {
      const ir::Node& producer = graph_.node(v.node);
      if (embed && is_constant(v)) {
        inner.push_back(program.constant(producer.tensor));
        continue;
      }
      inner.push_back(program.input(fmt::format("a{}", operands.size()), graph_.type(v)));
      operands.push_back(mapped(v));
      request.operands.push_back(fixed_[v.node.value] ? ir::OperandKind::parameter : ir::OperandKind::value);
    }
    ir::NodeId made = program.add(node.op, inner, *node.attributes);
    for (uint32_t o = 0; o < node.types.size(); ++o) program.output(fmt::format("y{}", o), {made, o});
    request.program = node.op == ir::Op::kernel ? node.attributes->program("program") : ir::make_program(program);
    return request;
  }

  const Choice& chosen(const ir::KernelRequest& request) {
    std::string key = request.program->text();
    for (ir::OperandKind kind : request.operands) key += kind == ir::OperandKind::parameter ? 'p' : 'v';
    auto it = choices_.find(key);
    if (it == choices_.end()) it = choices_.emplace(std::move(key), cheapest(request, targets_)).first;
    return it->second;
  }

  ir::Value mapped(ir::Value v) const { return {map_[v.node.value], v.index}; }

  const ir::Graph& graph_;
  std::span<const ir::Target* const> targets_;
  int threads_;
  ir::Graph result_;
  std::vector<ir::NodeId> map_;
  std::vector<bool> fixed_;
  std::unordered_map<std::string, Choice> choices_;
};

}  // namespace

ir::Graph lower_direct(const ir::Graph& graph, std::span<const ir::Target* const> targets, int threads) {
  return DirectLowering(graph, targets, threads).run();
}

}  // namespace weft::passes
