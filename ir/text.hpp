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

/// Deepest nesting of an expression, parentheses and operator chains alike; deeper text is an Error, never a stack
/// overflow.
inline constexpr int kMaxNesting = 200;

/// An expression as written. One node of the syntax tree; children own nothing shared.
///   name            x ; %5 (a value without a name of its own)
///   call            conv(x, w, strides=[2,2]) ; infix a + b, a @ b, -x are calls of add, matmul, neg, ...
///   number          1, 0.5, -inf, nan, nan(0x1), 0x1p-3
///   text            "ab"
///   list            [1, n, "a"]
///   slice           x[:, n:, 2]      a call of `slice` with x and then `range` children
///   range           inside a slice: a:b or a:b:step as 2 or 3 children (a missing bound is a name ""), an index as 1
///   type            f32[2,N]
///   tensor          f32[2,2][1, 2, 3, 4]    a literal: type, then its elements in row-major order
///   sequence        xs...    every operand of a variadic call (name, no children)
///                   f(xs, p)...    the same, mapped: one child, no name
///   program         {(a0: f32[2]) %1 = relu(a0); return %1}
/// Infix operators, loosest first: `== != < <= > >=`, `+ -`, `* / % @`, unary `-`, slice. All associate to the left.
struct Expr {
  enum class Kind : uint8_t { name, call, number, text, list, range, tensor, sequence, type, program };
  Kind kind = Kind::name;
  TextPosition at;
  std::string name;  ///< of name, call, sequence; contents of text; spelling of a number
  double number = 0;
  std::optional<int64_t> integer;                   ///< where a number was written as an integer
  std::vector<Expr> children;                       ///< positional arguments; elements of a list or tensor; bounds
  std::vector<std::pair<std::string, Expr>> named;  ///< named arguments of a call
  std::optional<TensorType> tensor_type;            ///< of tensor and type
  ProgramRef program;                               ///< of program

  // Out of line: a tree that holds pairs with itself is complete for every compiler only then.
  Expr();
  Expr(const Expr&);
  Expr(Expr&&) noexcept;
  Expr& operator=(const Expr&);
  Expr& operator=(Expr&&) noexcept;
  ~Expr();
  bool is_call(std::string_view callee) const { return kind == Kind::call && name == callee; }
};

/// Parses one expression; `origin` names the text in errors ("passes/rules/algebra.rules"), `start` is its place there.
/// Names of calls are not looked up: rules have functions and operator variables of their own. Throws Error(parse) with
/// origin:line:column, what was found and expected, and the line.
Expr parse_expression(std::string_view text, std::string_view origin = "text", TextPosition start = {});
/// Expressions separated by `;` (a gradient, the roots of a rule).
std::vector<Expr> parse_expressions(std::string_view text, std::string_view origin = "text", TextPosition start = {});
/// Reads back as the same tree; calls with an infix spelling are printed infix.
std::string print_expression(const Expr& expr);

/// Graph text, see ir/README.md. `parameter` lines carry no data. The type of every line is inferred again and checked.
///   graph main(x: f32[1,3,H,W]) {
///     w = parameter f32[8,3,3,3] "conv.weight"
///     c = constant f32[][0.5]
///     y = conv(x, w, strides=[2,2], pads=[1,1,1,1])
///     a, b = split(y, axis=1, sizes=[4,4])
///     return out: mul(a, c), b
///   }
/// Numbers among operands become scalar constants of the dtype of the first operand beside them that is not bool.
Graph parse_graph(std::string_view text, std::string_view origin = "text");
struct PrintOptions {
  bool types = false;               ///< a trailing `# f32[1,8,H,W]` on every line
  int64_t max_elements = 64;        ///< larger constants are elided (the text then no longer parses back)
  bool default_attributes = false;  ///< also attributes that equal their default
  bool parameter_data = false;      ///< parameters with data of at most max_elements elements are printed as constants
};
std::string print_graph(const Graph& graph, const PrintOptions& options = {});
/// What print_graph calls each node (by id): its own name, or %N; a node of several outputs without ".0".
std::vector<std::string> printed_names(const Graph& graph);
/// The line of one node in print_graph, without its types.
std::string print_node(const Graph& graph, NodeId node);
/// The literal of a program: `{(a0: f32[2], a1: f32[]) %2 = mul(a0, a1); return %2}`, on one line.
std::string print_program(const Graph& graph);

/// Adds the nodes of an expression to a graph: names are looked up through `names`, numbers become scalar constants of
/// `number_dtype`. Used for gradients, examples and tests.
Value build_expression(Graph& graph, const Expr& expr, const std::vector<std::pair<std::string, Value>>& names,
                       DType number_dtype = DType::f32);

/// Attribute values from syntax, by kind; throws Error(parse) with the position.
AttributeValue attribute_from_expression(const Expr& expr, AttributeKind kind, std::string_view origin = "text");
std::string print_attribute(const AttributeValue& value);
std::string print_tensor(
    const Tensor& tensor);  ///< `f32[2][1, 2]`, exact: shortest digits that read back, nan with payload
std::string print_attributes(const Attributes& attributes);  ///< `a=1, b=[2,3]`
/// A type literal to a type, a dimension expression (`H/2+1`, `max(a,b)`) to a dimension.
Dim dim_from_expression(const Expr& expr, std::string_view origin = "text");
TensorType parse_type(std::string_view text, std::string_view origin = "text");

bool is_identifier(
    std::string_view name);  ///< letters, digits, `_` and inner dots, not a reserved word: printed unquoted
std::string quote(std::string_view text);  ///< "..." with \\ \" \n \t \r \xHH

}  // namespace weft::ir
