#pragma once
// THE text language: one parser and one printer for graphs, programs, rule patterns, gradients, examples and messages.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/graph.hpp"

namespace weft::ir {

/// Where a piece of text stands.
struct TextPosition {
  int line = 1, column = 1;
};

/// An expression as written. One node of the syntax tree; children own nothing shared.
///   name            x
///   call            conv(x, w, strides=[2,2]) ; infix a + b, a @ b, -x are calls of add, matmul, neg, ...
///   number          1, 0.5, -inf, nan, 0x1p-3
///   text            "ab"
///   list            [1, n, "a"]
///   slice           x[:, n:, 2]      a call of `slice` with `range` children
///   tensor          f32[2,2][1, 2, 3, 4]    a literal tensor: type, then its elements in row-major order
///   sequence        xs...    every operand of a variadic call
struct Expr {
  enum class Kind : uint8_t { name, call, number, text, list, range, tensor, sequence, type };
  Kind kind = Kind::name;
  TextPosition at;
  std::string name;                                       ///< of name, call, sequence; contents of text
  double number = 0;
  std::optional<int64_t> integer;                         ///< where a number was written as an integer
  std::vector<Expr> children;                             ///< positional arguments; elements of a list; bounds of a range (missing = name "")
  std::vector<std::pair<std::string, Expr>> named;        ///< named arguments of a call
  std::optional<TensorType> tensor_type;                  ///< of tensor and type
};

/// Parses one expression; `origin` names the text in errors ("passes/rules/algebra.rules"), `start` is its place there.
Expr parse_expression(std::string_view text, std::string_view origin = "text", TextPosition start = {});
std::string print_expression(const Expr& expr);

/// Graph text, see ir/README.md. `parameter` lines carry no data.
///   graph main(x: f32[1,3,H,W]) {
///     w = parameter f32[8,3,3,3] "conv.weight"
///     c = constant f32[] [0.5]
///     y = conv(x, w, strides=[2,2], pads=[1,1,1,1])
///     a, b = split(y, axis=1, sizes=[4,4])
///     return out: mul(a, c), b
///   }
Graph parse_graph(std::string_view text, std::string_view origin = "text");
struct PrintOptions {
  bool types = false;           ///< a trailing `# f32[1,8,H,W]` on every line
  int64_t max_elements = 64;    ///< larger constants are elided (the text then no longer parses back)
  bool default_attributes = false;  ///< also attributes that equal their default
};
std::string print_graph(const Graph& graph, const PrintOptions& options = {});

/// Adds the nodes of an expression to a graph: names are looked up through `names`, numbers become scalar constants of
/// `number_dtype`. Used for gradients, examples and tests.
Value build_expression(Graph& graph, const Expr& expr, const std::vector<std::pair<std::string, Value>>& names,
                       DType number_dtype = DType::f32);

/// Attribute values from syntax, by kind; throws Error(parse) with the position.
AttributeValue attribute_from_expression(const Expr& expr, AttributeKind kind, std::string_view origin = "text");
std::string print_attribute(const AttributeValue& value);
std::string print_tensor(const Tensor& tensor);  ///< `f32[2][1, 2]`, exact: shortest digits that read back, nan with payload
std::string print_attributes(const Attributes& attributes);  ///< `a=1, b=[2,3]`

}  // namespace weft::ir
