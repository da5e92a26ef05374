#include "tests/plans/paper_machine.hpp"

#include <algorithm>

#include "backends/registry.hpp"

namespace weft {
namespace {

using ir::Op;

bool is_leaf(const ir::Node& node) { return ir::info(node.op).has(ir::kLeaf); }
bool is_elementwise(const ir::Node& node) { return ir::info(node.op).has(ir::kElementwise); }
bool is_movement(const ir::Node& node) { return ir::info(node.op).traits & (ir::kMovement | ir::kView); }
bool is_product(Op op) { return op == Op::matmul || op == Op::attention; }
bool is_convolution(Op op) { return op == Op::conv || op == Op::conv_transpose; }

struct Form {
  const ir::Node* anchor = nullptr;  // the op that is neither elementwise nor movement
  size_t ops = 0, moves = 0;
  std::string refusal;
};

Form form_of(const ir::Graph& program) {
  Form form;
  for (const ir::Node& node : program.nodes()) {
    if (is_leaf(node)) continue;
    ++form.ops;
    form.moves += is_movement(node);
    if (is_elementwise(node) || is_movement(node)) continue;
    if (form.anchor) form.refusal = "two ops that are no elementwise ops";
    form.anchor = &node;
  }
  if (!form.refusal.empty() || form.ops == 1) return form;
  if (program.outputs().size() > 2) form.refusal = "more than two results";
  if (form.ops > 20) form.refusal = "more than 20 ops";
  if (!form.anchor) return form;
  const bool heavy = is_product(form.anchor->op) || is_convolution(form.anchor->op);
  if (form.moves && !is_product(form.anchor->op)) form.refusal = "data is moved around a loop";
  if (heavy && program.outputs().size() > 1) form.refusal = "more than one result";
  if (is_convolution(form.anchor->op) && form.anchor->attributes->text("layout") != "nxc")
    form.refusal = "convolution is not channels last";
  if (heavy)
    for (ir::Value operand : form.anchor->operands)
      if (is_elementwise(program.node(operand.node))) form.refusal = "arithmetic before a product";
  return form;
}

bool is_bad(const Form& form) {  // what this machine would rather not be given
  return form.anchor && is_convolution(form.anchor->op) && form.anchor->attributes->text("layout") != "nxc";
}

}  // namespace

std::variant<ir::KernelEstimate, ir::Refusal> PaperMachine::estimate(const ir::KernelRequest& request) const {
  const ir::Graph& program = request.program->graph();
  const Form form = form_of(program);
  if (!form.refusal.empty()) return ir::Refusal{form.refusal};
  double flops = 0, bytes = 0;
  for (const ir::Node& node : program.nodes()) {
    if (node.op == Op::input) bytes += static_cast<double>(node.types[0].bytes());
    if (is_leaf(node)) continue;
    std::vector<ir::TensorType> operands;
    for (ir::Value v : node.operands) operands.push_back(program.type(v));
    flops += ir::work(node.op, operands, *node.attributes, node.types).flops;
  }
  for (const ir::Output& output : program.outputs()) bytes += static_cast<double>(program.type(output.value).bytes());
  double nanoseconds = facts_.launch_ns + std::max(flops / facts_.gflops_f32, bytes / facts_.dram_gbps);
  if (is_bad(form)) nanoseconds *= 10;
  return ir::KernelEstimate{std::string(form.anchor ? to_string(form.anchor->op) : "loop"),
                            static_cast<uint64_t>(nanoseconds)};
}

ir::KernelResources PaperMachine::resources(const ir::KernelRequest& request) const {
  ir::KernelResources resources;
  const ir::Graph& program = request.program->graph();
  if (form_of(program).anchor || program.outputs().size() != 1) return resources;
  const ir::TensorType& result = program.type(program.outputs()[0].value);
  for (size_t i = 0; i < program.inputs().size(); ++i)
    if (form_of(program).moves == 0 && program.node(program.inputs()[i]).types[0] == result)
      resources.in_place.push_back(static_cast<int>(i));
  return resources;
}

std::vector<ir::RuleText> PaperMachine::rules() const {
  for (const backends::Backend* backend : backends::registry())
    if (backend->name() == "onednn") return backend->rules();
  return {};
}

}  // namespace weft
