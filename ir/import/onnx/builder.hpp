#pragma once
// The graph under construction, with what is known of each value: type, contents, or contents as symbolic dimensions.
// Nodes whose operands are all known are folded by the op table's own evaluation, so that shape arithmetic never
// becomes part of the program.
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/graph.hpp"
#include "ir/support/ids.hpp"

namespace weft::ir::onnx_import {

/// One tensor of the model, or an intermediate of its translation. Invalid = an absent optional input.
using Ref = Id<struct ItemTag>;
using Refs = std::vector<Ref>;

class Builder {
 public:
  explicit Builder(std::string_view name) : graph_(std::string(name)) {}

  Ref input(std::string_view name, TensorType type);
  /// Contents known at import: weights and constants. Enters the graph when first used as an operand.
  Ref constant(Tensor tensor, std::string_view name = {});
  Ref scalar(DType dtype, double value);         ///< rank 0
  Ref ints(const std::vector<int64_t>& values);  ///< i64[n]
  /// An i64 tensor of rank 1 (or rank 0 where `scalar`) whose elements are dimensions.
  Ref dims(std::vector<Dim> contents, bool scalar = false);

  /// The result of an op of one output.
  Ref add(Op op, Refs operands, const Attributes& attributes = {}, std::string_view name = {});
  Refs add_all(Op op, Refs operands, const Attributes& attributes = {}, std::string_view name = {});

  const TensorType& type(Ref ref) const { return item(ref).type; }
  const Shape& shape(Ref ref) const { return item(ref).type.shape; }
  DType dtype(Ref ref) const { return item(ref).type.dtype; }
  int64_t rank(Ref ref) const { return static_cast<int64_t>(shape(ref).size()); }
  /// The contents where known at import, else null.
  const Tensor* known(Ref ref) const;
  /// The contents as dimensions (row-major), where known; of integer tensors, and of float tensors derived from
  /// dimensions.
  std::optional<std::vector<Dim>> contents(Ref ref) const;
  std::string describe(Ref ref) const;  ///< "'name' f32[1,3]" for messages

  /// The value in the graph; makes one where there is none yet.
  Value value(Ref ref);
  void output(std::string_view name, Ref ref);
  /// The finished graph, without nodes that no output needs.
  Graph finish();

 private:
  struct Item {
    TensorType type;
    Value value = {};            // node invalid: not in the graph yet
    Tensor tensor = {};          // defined: contents known
    std::vector<Dim> dims = {};  // contents as dimensions where `symbolic`
    bool symbolic = false;
    std::string name = {};
  };
  const Item& item(Ref ref) const;
  Ref push(Item item);
  std::string unique_name(std::string_view wanted);
  void equate_symbols(Op op, const Attributes& complete, Refs& operands);
  Refs push_results(NodeId node, const std::vector<Tensor>* values, std::string_view name);
  std::optional<std::vector<Tensor>> evaluate_known(Op op, const Refs& operands, const Attributes& complete) const;
  std::optional<Refs> fold_symbolic(Op op, const Refs& operands, const Attributes& complete);
  std::optional<Refs> fold_movement(Op op, const Refs& operands, const Attributes& complete);
  std::optional<std::vector<Dim>> fold_arithmetic(Op op, const Refs& operands, const TensorType& result) const;
  Refs push_contents(const std::vector<TensorType>& types, std::vector<std::vector<Dim>> contents);
  Value materialise_dims(const Item& item);

  Graph graph_;
  std::deque<Item> items_;                      // handlers hold references to types while they add
  std::unordered_map<std::string, int> names_;  // of inputs, parameters and outputs: how often asked for
};

}  // namespace weft::ir::onnx_import
