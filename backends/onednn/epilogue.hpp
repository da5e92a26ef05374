#pragma once
// The first half of recognition: back from the output of a program to its convolution or matmul. What lies between
// becomes steps.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "backends/onednn/operand.hpp"
#include "backends/onednn/step.hpp"
#include "ir/graph.hpp"

namespace weft::backends::onednn {

/// Why a program is not ours. Thrown while it is recognised, and caught by recognize().
struct NotOurs {
  std::string reason;
};
template <typename... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw NotOurs{fmt::format(format, std::forward<Args>(args)...)};
}

/// What follows the one convolution or matmul, its views in the coordinates of that one's result.
struct Epilogue {
  const ir::Node& root;
  std::vector<Step> steps;  ///< in the order in which they run; operands are `full` or constant, told apart by the form
  View destination;
};

/// Whether there is a convolution or a matmul in it.
bool has_root(const ir::Graph& graph);
/// Of a graph with a root. Throws NotOurs where there is not exactly one, or something behind it is no step.
Epilogue walk_back(const ir::Graph& graph, const Operands& operands);

/// A value as an operand of a step or of the root. Throws NotOurs where it is no view of an input.
View view_of(const Operands& operands, ir::Value value);

}  // namespace weft::backends::onednn
