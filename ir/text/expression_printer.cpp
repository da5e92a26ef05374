// Expressions to text: ir/text.hpp.
#include "ir/program.hpp"
#include "ir/text/operators.hpp"

namespace weft::ir {
namespace {

void print(const Expr& expr, int loosest, std::string& out);

void print_list(const std::vector<Expr>& items, size_t from, std::string& out) {
  for (size_t i = from; i < items.size(); ++i) {
    if (i > from) out += ", ";
    print(items[i], 0, out);
  }
}

bool is_slice(const Expr& e) {
  if (e.name != "slice" || e.children.size() < 2 || !e.named.empty()) return false;
  for (size_t i = 1; i < e.children.size(); ++i)
    if (e.children[i].kind != Expr::Kind::range) return false;
  return true;
}

void print_range(const Expr& range, std::string& out) {
  for (size_t i = 0; i < range.children.size(); ++i) {
    if (i) out += ":";
    print(range.children[i], 0, out);
  }
}

void print_slice(const Expr& e, std::string& out) {
  bool number = e.children[0].kind == Expr::Kind::number && e.children[0].name.starts_with('-');
  print(e.children[0], number ? kPostfixPrecedence + 1 : kPostfixPrecedence, out);
  out += "[";
  for (size_t i = 1; i < e.children.size(); ++i) {
    if (i > 1) out += ", ";
    print_range(e.children[i], out);
  }
  out += "]";
}

/// Calls with an operator of their own. False where the call is printed as a call.
bool print_operator(const Expr& e, int loosest, std::string& out) {
  const InfixOperator* infix = e.named.empty() && e.children.size() == 2 ? find_infix_of(e.name) : nullptr;
  bool negation = e.name == "neg" && e.named.empty() && e.children.size() == 1;
  if (is_slice(e)) {
    print_slice(e, out);
    return true;
  }
  if (!infix && !negation) return false;
  int precedence = infix ? infix->precedence : kUnaryPrecedence;
  if (precedence < loosest) out += "(";
  if (infix) {
    print(e.children[0], precedence, out);
    out += fmt::format(" {} ", infix->symbol);
    print(e.children[1], precedence + 1, out);
  } else {
    out += "-";
    bool plain = e.children[0].kind != Expr::Kind::number;  // -(1) is not -1
    print(e.children[0], plain ? kUnaryPrecedence + 1 : kPostfixPrecedence + 1, out);
  }
  if (precedence < loosest) out += ")";
  return true;
}

void print_call(const Expr& e, std::string& out) {
  out += e.name + "(";
  print_list(e.children, 0, out);
  bool first = e.children.empty();
  for (const auto& [name, value] : e.named) {
    out += (first ? "" : ", ") + name + "=";
    first = false;
    print(value, 0, out);
  }
  out += ")";
}

void print(const Expr& e, int loosest, std::string& out) {
  switch (e.kind) {
    case Expr::Kind::name:
      out += e.name;
      break;
    case Expr::Kind::number: {
      std::string spelling =
          e.name.empty() ? print_attribute(e.number) : e.name;  // trees made by hand have no spelling
      out += loosest > kPostfixPrecedence ? "(" + spelling + ")" : spelling;
      break;
    }
    case Expr::Kind::text:
      out += quote(e.name);
      break;
    case Expr::Kind::range:
      print_range(e, out);
      break;
    case Expr::Kind::program:
      out += e.program->text();
      break;
    case Expr::Kind::type:
      out += to_string(*e.tensor_type);
      break;
    case Expr::Kind::sequence:
      if (e.children.empty())
        out += e.name;
      else if (is_slice(e.children[0]))
        print_slice(e.children[0], out);
      else
        print_call(e.children[0], out);
      out += "...";
      break;
    case Expr::Kind::tensor:
      out += to_string(*e.tensor_type);
      [[fallthrough]];
    case Expr::Kind::list:
      out += "[";
      print_list(e.children, 0, out);
      out += "]";
      break;
    case Expr::Kind::call:
      if (!print_operator(e, loosest, out)) print_call(e, out);
  }
}

}  // namespace

Expr::Expr() = default;
Expr::Expr(const Expr&) = default;
Expr::Expr(Expr&&) noexcept = default;
Expr& Expr::operator=(const Expr&) = default;
Expr& Expr::operator=(Expr&&) noexcept = default;
Expr::~Expr() = default;

std::string print_expression(const Expr& expr) {
  std::string out;
  print(expr, 0, out);
  return out;
}

}  // namespace weft::ir
