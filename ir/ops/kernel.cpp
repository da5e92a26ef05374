#include "ir/eval.hpp"
#include "ir/ops/indexing.hpp"
#include "ir/ops/record.hpp"
#include "ir/program.hpp"

namespace weft::ir::ops {
namespace {

std::vector<TensorType> infer_kernel(std::span<const TensorType> operands, const Attributes& attributes) {
  const Graph& graph = attributes.program("program")->graph();
  if (graph.inputs().size() != operands.size())
    fail(ErrorCode::type_mismatch, "{} operands, the program has {} inputs", operands.size(), graph.inputs().size());
  for (size_t i = 0; i < operands.size(); ++i) {
    const TensorType& expected = graph.node(graph.inputs()[i]).types[0];
    if (operands[i] != expected)
      fail(ErrorCode::type_mismatch, "operand {} is {}, the program expects {}", i, to_string(operands[i]),
           to_string(expected));
  }
  std::vector<TensorType> outputs;
  for (const Output& output : graph.outputs()) outputs.push_back(graph.type(output.value));
  return outputs;
}

void evaluate_kernel(std::span<const Tensor> operands, const Attributes& attributes, std::span<Tensor> outputs) {
  std::vector<Tensor> results = run_program(*attributes.program("program"), operands);
  for (size_t i = 0; i < results.size(); ++i) outputs[i] = results[i];
}

Work work_kernel(std::span<const TensorType> operands, const Attributes& attributes,
                 std::span<const TensorType> outputs) {
  Work total = bytes_moved(operands, outputs);
  const Graph& graph = attributes.program("program")->graph();
  for (const Node& node : graph.nodes()) {
    std::vector<TensorType> types;
    for (Value operand : node.operands) types.push_back(graph.type(operand));
    total.flops += work(node.op, types, *node.attributes, node.types).flops;
  }
  return total;
}

}  // namespace

OpInfo kernel_record() {
  return {.op = Op::kernel,
          .summary = "one launch of a backend's kernel; `program` is what it computes, over the operands in order",
          .operands = {{"xs", true}},
          .attributes = {text("backend"), text("kernel"), {"program", AttributeKind::program, {}}},
          .infer = infer_kernel,
          .eval = evaluate_kernel,
          .work = work_kernel};
}

}  // namespace weft::ir::ops
