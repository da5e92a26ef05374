#pragma once
// One node of the model as its handler sees it: operands, attributes (each must be read or the node is refused), opset.
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/import/onnx/builder.hpp"
#include "ir/import/onnx/model.hpp"

namespace weft::ir::onnx_import {

class Call;
using Handler = Refs (*)(Call&);

/// The attributes that a function body may refer to: those of the node that calls the function.
struct AttributeScope {
  const ::onnx::NodeProto* caller = nullptr;
  const ::onnx::FunctionProto* function = nullptr;
  const AttributeScope* outer = nullptr;
};

class Call {
 public:
  using Subgraph = std::function<Refs(const ::onnx::GraphProto&)>;
  Call(Builder& builder, const ::onnx::NodeProto& node, Refs operands, int64_t version, TensorReader& reader,
       const AttributeScope* scope, Subgraph subgraph)
      : b(builder),
        opset(version),
        node_(node),
        operands_(std::move(operands)),
        reader_(reader),
        scope_(scope),
        subgraph_(std::move(subgraph)),
        read_(static_cast<size_t>(node.attribute_size())) {}

  Builder& b;
  const int64_t opset;  ///< of the node's domain

  const std::string& op_type() const { return node_.op_type(); }
  /// Name of the first output: the hint that IR nodes carry.
  std::string_view name() const { return node_.output_size() ? std::string_view(node_.output(0)) : std::string_view(); }
  size_t inputs() const { return operands_.size(); }
  const Refs& operands() const { return operands_; }
  bool has(size_t index) const { return index < operands_.size() && operands_[index].valid(); }
  Ref in(size_t index) const;  ///< throws Error(parse) where absent
  Ref optional(size_t index) const { return index < operands_.size() ? operands_[index] : Ref{}; }
  size_t outputs() const { return static_cast<size_t>(node_.output_size()); }
  bool wants(size_t index) const { return index < outputs() && !node_.output(static_cast<int>(index)).empty(); }
  void expect_inputs(size_t least, size_t most) const;

  // Attributes; each reading marks the attribute as understood. Throws Error(parse) where it has another type.
  bool has_attribute(std::string_view name) const { return find(name) != nullptr; }
  int64_t integer(std::string_view name, int64_t fallback);
  int64_t integer(std::string_view name);  ///< required
  bool flag(std::string_view name, bool fallback) { return integer(name, fallback) != 0; }
  double real(std::string_view name, double fallback);
  std::string text(std::string_view name, std::string_view fallback);
  std::optional<std::vector<int64_t>> ints(std::string_view name);
  std::optional<std::vector<float>> reals(std::string_view name);
  std::optional<std::vector<std::string>> texts(std::string_view name);
  std::optional<Tensor> tensor(std::string_view name);
  std::optional<Tensor> sparse_tensor(std::string_view name);
  const ::onnx::GraphProto& graph(std::string_view name);
  void ignore(std::initializer_list<std::string_view> names);  ///< attributes that change nothing here
  /// Throws Error(unsupported) naming attributes that no one read.
  void expect_all_read() const;

  /// Values that must be known at import (axes, pads, repeats): from the attribute or the input, if either is there.
  /// Throws Error(unsupported) where an input is computed at run time.
  std::optional<std::vector<int64_t>> ints_of(std::string_view attribute, size_t input);
  std::vector<int64_t> known_ints(size_t input) const;
  std::vector<Dim> known_dims(size_t input) const;  ///< may be symbolic
  std::vector<double> known_reals(size_t input) const;
  const Tensor& known(size_t input) const;

  /// Lowers a subgraph (a branch) in place; its outputs.
  Refs lower(const ::onnx::GraphProto& graph) { return subgraph_(graph); }

 private:
  const ::onnx::AttributeProto* find(std::string_view name) const;
  const ::onnx::AttributeProto* read(std::string_view name, ::onnx::AttributeProto::AttributeType type);
  const ::onnx::NodeProto& node_;
  Refs operands_;
  TensorReader& reader_;
  const AttributeScope* scope_;
  Subgraph subgraph_;
  std::vector<char> read_;
};

/// An axis counted from the back where negative; throws Error(parse) outside [-rank, rank-1].
int64_t normalise_axis(int64_t axis, int64_t rank);
/// Sorted, distinct, normalised; throws on duplicates.
std::vector<int64_t> normalise_axes(std::vector<int64_t> axes, int64_t rank);

}  // namespace weft::ir::onnx_import
