#pragma once
// The infix operators of the language and what the builder shares with the parser.
#include <string_view>

#include "ir/text/source.hpp"

namespace weft::ir {

struct InfixOperator {
  std::string_view symbol, op;  ///< the spelling and the op that it calls
  int precedence;               ///< larger binds tighter
};
inline constexpr InfixOperator kInfixOperators[] = {
    {"==", "equal", 0},      {"!=", "not_equal", 0}, {"<", "less", 0},
    {"<=", "less_equal", 0}, {">", "greater", 0},    {">=", "greater_equal", 0},
    {"+", "add", 1},         {"-", "sub", 1},        {"*", "mul", 2},
    {"/", "div", 2},         {"%", "mod", 2},        {"@", "matmul", 2},
};
inline constexpr int kUnaryPrecedence = 3, kPostfixPrecedence = 4;

inline const InfixOperator* find_infix(std::string_view symbol) {
  for (const InfixOperator& o : kInfixOperators)
    if (o.symbol == symbol) return &o;
  return nullptr;
}
inline const InfixOperator* find_infix_of(std::string_view op) {
  for (const InfixOperator& o : kInfixOperators)
    if (o.op == op) return &o;
  return nullptr;
}

Dim dim_of(const Expr& expr, const Source& source);
AttributeValue attribute_of(const Expr& expr, AttributeKind kind, const Source& source);
/// The tensor of a literal (kind tensor).
Tensor tensor_of(const Expr& expr, const Source& source);
/// A scalar of a number.
Tensor scalar_of(const Expr& expr, DType dtype, const Source& source);

}  // namespace weft::ir
