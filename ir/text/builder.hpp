#pragma once
// Expressions to nodes of a graph.
#include <functional>
#include <optional>

#include "ir/text/operators.hpp"

namespace weft::ir {

/// What stands for the names in an expression.
struct NameLookup {
  std::function<std::optional<Value>(std::string_view)> find;
  std::function<std::vector<std::string_view>()> all;  ///< for suggestions
};

class Builder {
 public:
  /// Numbers become scalars of `number_dtype`, or without one of the dtype of the first operand beside them that is not
  /// bool (f32 where there is none).
  Builder(Graph& graph, const Source& source, const NameLookup& names, std::optional<DType> number_dtype)
      : graph_(graph), source_(source), names_(names), number_dtype_(number_dtype) {}
  /// A value of an expression; a new node gets the name.
  Value value(const Expr& expr, std::string_view name = {});
  /// The node of a call (of any number of outputs).
  NodeId node(const Expr& call, std::string_view name = {});

 private:
  Value named(const Expr& expr);
  Value scalar(const Expr& expr, std::optional<DType> beside, std::string_view name);
  std::vector<Value> operands(const Expr& call, size_t count);
  NodeId add(Op op, std::vector<Value> operands, const Attributes& attributes, std::string_view name, TextPosition at);
  NodeId slice(const Expr& call, std::string_view name);

  Graph& graph_;
  const Source& source_;
  const NameLookup& names_;
  std::optional<DType> number_dtype_;
};

}  // namespace weft::ir
