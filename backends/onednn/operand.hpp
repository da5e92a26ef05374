#pragma once
// Values of a program that are an input or a constant seen through movement ops.
#include <optional>
#include <string>
#include <variant>

#include "backends/onednn/view.hpp"
#include "ir/program.hpp"

namespace weft::backends::onednn {

class Operands {
 public:
  explicit Operands(const ir::Graph& graph) : graph_(graph) {}
  /// The number that every element of the value is, where it is known and f32.
  std::optional<float> constant(ir::Value v) const;
  /// The value as strides over an input, or why not.
  std::variant<View, std::string> view(ir::Value v) const;

 private:
  /// Movement ops from the leaf (excluded) to the value, last first; gives the leaf.
  ir::Value leaf(ir::Value v, std::vector<ir::NodeId>& moves) const;
  const ir::Graph& graph_;
};

}  // namespace weft::backends::onednn
