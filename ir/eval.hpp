#pragma once
// The reference interpreter: every node by the simple loops of the op table. Slow and right: the oracle.
#include <functional>
#include <map>
#include <string>

#include "ir/graph.hpp"

namespace weft::ir {

using NamedTensors = std::map<std::string, Tensor, std::less<>>;

/// Runs a static graph. `inputs` by name; parameters come from the nodes' own tensors. Returns outputs in graph order.
/// Intermediates are freed after their last use. Throws Error naming a missing, unknown or ill-typed input.
/// `observe` (optional) sees every computed value as it is made.
std::vector<Tensor> run_reference(const Graph& graph, const NamedTensors& inputs,
                                  const std::function<void(Value, const Tensor&)>& observe = {});
/// Runs a program on operands in order.
std::vector<Tensor> run_program(const Program& program, std::span<const Tensor> operands);

}  // namespace weft::ir
