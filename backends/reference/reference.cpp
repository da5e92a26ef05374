// The backend that takes every program, through the reference interpreter; priced so that it only runs where nothing
// else can.
#include <algorithm>
#include <cstring>

#include "backends/backend.hpp"
#include "ir/eval.hpp"
#include "ir/support/error.hpp"

namespace weft::backends::reference {
namespace {

using ir::KernelEstimate;
using ir::KernelRequest;
using ir::KernelResources;
using ir::Refusal;

constexpr double kPenalty = 100;  // times the roofline of one thread

bool is_leaf(const ir::Node& node) { return ir::info(node.op).has(ir::kLeaf); }

/// The only computing node of a program whose outputs are all of that node's results in order, or null.
const ir::Node* single_op(const ir::Graph& graph) {
  const ir::Node* found = nullptr;
  ir::NodeId id;
  for (size_t i = 0; i < graph.size(); ++i) {
    const ir::Node& node = graph.node(ir::NodeId(i));
    if (is_leaf(node)) continue;
    if (found) return nullptr;
    found = &node;
    id = ir::NodeId(i);
  }
  if (!found || graph.outputs().size() != found->types.size()) return nullptr;
  for (uint32_t i = 0; i < graph.outputs().size(); ++i) {
    if (graph.outputs()[i].value != ir::Value{id, i}) return nullptr;
  }
  return found;
}

class ReferenceKernel : public Kernel {
 public:
  explicit ReferenceKernel(ir::ProgramRef program) : program_(std::move(program)), op_(single_op(program_->graph())) {
    resources_.implementation = "reference";
    const ir::Graph& graph = program_->graph();
    for (ir::NodeId id : graph.inputs()) input_types_.push_back(graph.node(id).types[0]);
    for (const ir::Output& output : graph.outputs()) output_types_.push_back(graph.type(output.value));
  }

  const KernelResources& resources() const override { return resources_; }

  void run(const RunContext& context, int) const override {
    std::vector<ir::Tensor> inputs;
    for (size_t i = 0; i < input_types_.size(); ++i) {
      inputs.push_back(ir::Tensor::view(input_types_[i], context.inputs[i], nullptr));
    }
    if (op_) return run_op(context, inputs);
    const std::vector<ir::Tensor> results = ir::run_program(*program_, inputs);
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].bytes() != 0) std::memcpy(context.outputs[i], results[i].data(), results[i].bytes());
    }
  }

 private:
  /// The common case: the op's own loops write straight into the caller's buffers.
  void run_op(const RunContext& context, const std::vector<ir::Tensor>& inputs) const {
    const ir::Graph& graph = program_->graph();
    std::vector<ir::Tensor> operands, outputs;
    for (ir::Value v : op_->operands) {
      const ir::Node& leaf = graph.node(v.node);
      if (leaf.op == ir::Op::input) {
        const auto place = std::find(graph.inputs().begin(), graph.inputs().end(), v.node);
        operands.push_back(inputs[static_cast<size_t>(place - graph.inputs().begin())]);
      } else {
        operands.push_back(leaf.tensor);
      }
    }
    for (size_t i = 0; i < output_types_.size(); ++i) {
      outputs.push_back(ir::Tensor::view(output_types_[i], context.outputs[i], nullptr));
    }
    ir::info(op_->op).eval(operands, *op_->attributes, outputs);
  }

  ir::ProgramRef program_;
  const ir::Node* op_;
  KernelResources resources_;
  std::vector<ir::TensorType> input_types_, output_types_;
};

/// Why the interpreter cannot run this program; empty where it can.
std::string refusal(const KernelRequest& request) {
  for (const ir::Node& node : request.program->graph().nodes()) {
    if (node.op == ir::Op::kernel) return "the program holds a kernel: programs are made of plain ops";
    if (node.op == ir::Op::parameter) return "the program holds a parameter: parameters are operands of a kernel";
    for (const ir::TensorType& type : node.types) {
      if (!ir::is_static(type.shape)) return fmt::format("the shape {} is symbolic", ir::to_string(type));
    }
  }
  return {};
}

class Reference : public Backend {
 public:
  Reference() {
    facts_.cpu = "any";
    facts_.gflops_f32 = 2;
    facts_.l2_gbps = facts_.l3_gbps = facts_.dram_gbps = 8;
  }
  std::string_view name() const override { return "reference"; }
  std::string version() const override { return "reference 1"; }
  const ir::MachineFacts& machine() const override { return facts_; }

  std::variant<KernelEstimate, Refusal> estimate(const KernelRequest& request) const override {
    if (std::string why = refusal(request); !why.empty()) return Refusal{why};
    const ir::Graph& graph = request.program->graph();
    double nanoseconds = facts_.launch_ns;
    std::vector<ir::TensorType> operands;
    for (const ir::Node& node : graph.nodes()) {
      if (is_leaf(node)) continue;
      operands.clear();
      for (ir::Value v : node.operands) operands.push_back(graph.type(v));
      const ir::Work w = ir::work(node.op, operands, *node.attributes, node.types);
      nanoseconds += std::max(w.flops / facts_.gflops_f32, (w.bytes_read + w.bytes_written) / facts_.l2_gbps);
    }
    return KernelEstimate{"reference", static_cast<uint64_t>(std::min(kPenalty * nanoseconds, 1e17))};
  }

  KernelResources resources(const KernelRequest& request) const override { return compile(request)->resources(); }

  std::unique_ptr<Kernel> compile(const KernelRequest& request) const override {
    if (std::string why = refusal(request); !why.empty()) fail(ErrorCode::unsupported, "reference: {}", why);
    return std::make_unique<ReferenceKernel>(request.program);
  }

 private:
  ir::MachineFacts facts_;
};

}  // namespace

const Backend& instance();
const Backend& instance() {
  static const Reference backend;
  return backend;
}

}  // namespace weft::backends::reference
