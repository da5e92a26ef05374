// The expression part of the parser, see ir/text.hpp for the grammar.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/text/number.hpp"
#include "ir/text/operators.hpp"
#include "ir/text/parser.hpp"

namespace weft::ir {
namespace {

/// Of nested calls of the parser: as deep as any expression of kMaxNesting levels is printed, and a few brackets around
/// it.
constexpr int kMaxDepth = kMaxNesting + 8;

/// Sets a variable for the duration of a scope.
template <typename T>
class Scoped {
 public:
  Scoped(T& variable, T value) : variable_(variable), before_(variable) { variable = value; }
  ~Scoped() { variable_ = before_; }
  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;

 private:
  T& variable_;
  T before_;
};

Expr make(Expr::Kind kind, TextPosition at, std::string name = {}) {
  Expr e;
  e.kind = kind;
  e.at = at;
  e.name = std::move(name);
  return e;
}

Expr make_number(TextPosition at, std::string spelling) {
  Expr e = make(Expr::Kind::number, at, std::move(spelling));
  if (read_number(e.name, DType::f64, &e.number))
    e.number = e.name.find("nan") != std::string::npos ? std::numeric_limits<double>::quiet_NaN()
               : e.name.starts_with('-')               ? -std::numeric_limits<double>::infinity()
                                                       : std::numeric_limits<double>::infinity();
  e.integer = read_integer(e.name);
  return e;
}

}  // namespace

bool Parser::is(std::string_view symbol, size_t ahead) const {
  const Token& t = token(ahead);
  return t.kind == TokenKind::symbol && spelling(t) == symbol;
}

bool Parser::is_word(std::string_view word) const {
  return token().kind == TokenKind::identifier && spelling() == word;
}

bool Parser::adjacent(size_t ahead) const {
  return token(ahead).offset == token(ahead - 1).offset + token(ahead - 1).size;
}

bool Parser::adjacent_to_previous() const {
  return next_ > 0 && token().offset == tokens_[next_ - 1].offset + tokens_[next_ - 1].size;
}

bool Parser::accept(std::string_view symbol) {
  if (!is(symbol)) return false;
  ++next_;
  return true;
}

void Parser::expect(std::string_view symbol, std::string_view where) {
  if (!accept(symbol)) unexpected_symbol(symbol, where);
}

void Parser::unexpected_symbol(std::string_view symbol, std::string_view where) const {
  unexpected(fmt::format("'{}' {}", symbol, where));
}

void Parser::expect_end() {
  if (!at_end()) unexpected("the end of the text or an operator");
}

void Parser::unexpected(std::string_view expected) const {
  std::string found = at_end() ? "the end of the text" : "'" + std::string(spelling().substr(0, 40)) + "'";
  source_.fail(token().at, fmt::format("expected {}, found {}", expected, found));
}

void Parser::too_deep(TextPosition at) const {
  source_.fail(at, fmt::format("expression of more than {} levels", kMaxNesting));
}

void Parser::grow(const Expr& e, int height) {
  height_ = height;
  if (height_ > kMaxNesting) too_deep(e.at);
}

Expr Parser::expression() {
  Expr e;
  binary(0, e);
  return e;
}

bool Parser::continues() const { return !(lines_matter_ && token().newline_before); }

/// Makes `left` the first operand of an infix call and gives the place of the second.
Expr& Parser::join(Expr& left, std::string_view op) {
  Expr joined = make(Expr::Kind::call, token().at, std::string(op));
  joined.children.reserve(2);
  joined.children.push_back(std::move(left));
  joined.children.emplace_back();
  left = std::move(joined);
  return left.children[1];
}

// The functions below recurse: each writes into a given place and keeps no expression of its own on the stack.

void Parser::binary(int loosest, Expr& out) {
  Scoped deeper(depth_, depth_ + (loosest == 0));  // a right operand nests no deeper than its brackets
  if (depth_ > kMaxDepth) too_deep(token().at);
  unary(out);
  int height = height_;
  while (token().kind == TokenKind::symbol && continues()) {
    const InfixOperator* op = find_infix(spelling());
    if (!op || op->precedence < loosest) break;
    Expr& right = join(out, op->op);
    ++next_;
    binary(op->precedence + 1, right);
    height = std::max(height, height_) + 1;
    grow(out, height);
  }
  height_ = height;
}

void Parser::unary(Expr& out) {
  if (!is("-")) return postfix(out);
  size_t first = next_;
  while (is("-")) ++next_;
  size_t last = next_ - 1;
  if (last - first > kMaxNesting) too_deep(tokens_[first].at);
  bool number = adjacent_to_previous() && negative_number(out);  // -1 is a number, - 1 and -(1) are calls
  if (!number) postfix(out);
  for (size_t i = number ? last : last + 1; i-- > first;) negate(tokens_[i].at, out);
}

void Parser::negate(TextPosition at, Expr& out) {
  Expr e = make(Expr::Kind::call, at, "neg");
  e.children.push_back(std::move(out));
  out = std::move(e);
  grow(out, height_ + 1);
}

/// Reads a number whose minus is the token before.
bool Parser::negative_number(Expr& out) {
  out.at = tokens_[next_ - 1].at;
  height_ = 1;
  if (is_word("inf") || is_word("nan")) {
    special_number(true, out);
    return true;
  }
  if (token().kind != TokenKind::number) return false;
  out = make_number(out.at, "-" + std::string(spelling(tokens_[next_++])));
  return true;
}

void Parser::postfix(Expr& out) {
  primary(out);
  for (;;) {
    if (is("[") && continues())
      slice(out);
    else if (is("...") && (out.kind == Expr::Kind::name || out.kind == Expr::Kind::call))
      sequence(out);
    else
      return;
  }
}

void Parser::sequence(Expr& out) {
  ++next_;
  Expr e = make(Expr::Kind::sequence, out.at);
  if (out.kind == Expr::Kind::name)
    e.name = std::move(out.name);
  else
    e.children.push_back(std::move(out));
  out = std::move(e);
  grow(out, height_ + 1);
}

void Parser::primary(Expr& out) {
  height_ = 1;
  switch (token().kind) {
    case TokenKind::identifier:
      return name_or_call(out);
    case TokenKind::number:
    case TokenKind::string:
      return plain_literal(out);
    case TokenKind::end:
      unexpected("an expression");
    case TokenKind::symbol:
      break;
  }
  if (is("%")) return value_name(out);
  if (is("[")) return list(out);
  if (is("{")) return program(out);
  if (!is("(")) unexpected("an expression");
  Scoped inside(lines_matter_, false);
  ++next_;
  binary(0, out);
  expect(")", "after the expression in parentheses");
}

void Parser::plain_literal(Expr& out) {
  const Token& t = token();
  ++next_;
  out = t.kind == TokenKind::number ? make_number(t.at, std::string(spelling(t)))
                                    : make(Expr::Kind::text, t.at, unquote(spelling(t)));
}

void Parser::value_name(Expr& out) {
  out.at = token().at;
  if (token(1).kind != TokenKind::number || !adjacent(1)) unexpected("an expression");
  std::string_view digits = spelling(token(1));
  if (digits.find_first_not_of("0123456789.") != std::string_view::npos)
    source_.fail(out.at, "expected a value such as %5 or %5.0");
  next_ += 2;
  out.name = "%" + std::string(digits);
}

void Parser::special_number(bool negative, Expr& out) {
  std::string s = negative ? "-" : "";
  s += spelling();
  bool payload = is_word("nan") && is("(", 1) && adjacent(1);
  ++next_;
  if (payload) {
    ++next_;
    if (token().kind != TokenKind::number || !spelling().starts_with("0x"))
      unexpected("the NaN's mantissa bits (0x...)");
    s += "(" + std::string(spelling()) + ")";
    double nan = 0;
    if (auto reason = read_number(s, DType::f64, &nan)) source_.fail(out.at, *reason);
    ++next_;
    expect(")", "after the NaN's mantissa bits");
  }
  height_ = 1;
  out = make_number(out.at, std::move(s));
}

void Parser::name_or_call(Expr& out) {
  out.at = token().at;
  std::string_view word = spelling();
  if (word == "inf" || word == "nan") return special_number(false, out);
  if (is("[", 1) && dtype_from_string(word)) return tensor_or_type(out);
  ++next_;
  out.name = word;
  height_ = 1;
  if (is("(") && continues()) call(out);
}

void Parser::call(Expr& out) {
  Scoped inside(lines_matter_, false);
  ++next_;
  out.kind = Expr::Kind::call;
  int height = 0;
  while (!is(")")) {
    binary(0, token().kind == TokenKind::identifier && is("=", 1) ? named_argument(out) : positional_argument(out));
    height = std::max(height, height_);
    if (!accept(",")) break;
  }
  if (!accept(")")) unexpected_in_call(out);
  grow(out, height + 1);
}

void Parser::unexpected_in_call(const Expr& call) const {
  unexpected(fmt::format("')' or ',' in the call of {}", call.name.substr(0, 80)));
}

Expr& Parser::positional_argument(Expr& call) {
  if (!call.named.empty()) unexpected("a named argument (positional ones come first)");
  return call.children.emplace_back();
}

Expr& Parser::named_argument(Expr& call) {
  std::string name(spelling());
  for (const auto& entry : call.named)
    if (entry.first == name) source_.fail(token().at, fmt::format("argument {} is given twice", name));
  next_ += 2;
  return call.named.emplace_back(std::move(name), Expr{}).second;
}

void Parser::list(Expr& out) {
  Scoped inside(lines_matter_, false);
  out.kind = Expr::Kind::list;
  out.at = token().at;
  ++next_;
  int height = 0;
  while (!is("]")) {
    binary(0, out.children.emplace_back());
    height = std::max(height, height_);
    if (!accept(",")) break;
  }
  expect("]", "or ',' in the list");
  grow(out, height + 1);
}

TensorType Parser::type_literal() {
  Expr e;
  type(e);
  return std::move(*e.tensor_type);
}

void Parser::type(Expr& out) {
  auto dtype = token().kind == TokenKind::identifier ? dtype_from_string(spelling()) : std::nullopt;
  if (!dtype || !is("[", 1)) unexpected("a type such as f32[2,N]");
  TextPosition at = token().at;
  ++next_;
  list(out);
  finish_type(*dtype, at, out);
}

/// The list of dimensions that was read becomes a type.
void Parser::finish_type(DType dtype, TextPosition at, Expr& out) {
  TensorType result{dtype, {}};
  result.shape.reserve(out.children.size());
  for (const Expr& d : out.children) {
    result.shape.push_back(dim_of(d, source_));
    if (result.shape.back().is_constant() && result.shape.back().value() < 0)
      source_.fail(d.at, fmt::format("expected a dimension of 0 or more, found {}", result.shape.back().text()));
  }
  out = make(Expr::Kind::type, at);
  out.tensor_type = std::move(result);
}

void Parser::tensor_or_type(Expr& out) {
  type(out);
  if (!is("[") || !continues()) return;
  TextPosition at = out.at;
  int height = height_;
  list(out);
  height_ = std::max(height, height_);
  out.kind = Expr::Kind::tensor;
  out.at = at;
}

void Parser::slice(Expr& out) {
  Scoped inside(lines_matter_, false);
  int height = height_;
  ++next_;
  open_slice(out);
  do {
    range(out.children.emplace_back());
    height = std::max(height, height_);
  } while (accept(","));
  expect("]", "or ',' after the range");
  grow(out, height + 1);
}

void Parser::open_slice(Expr& out) {
  Expr e = make(Expr::Kind::call, out.at, "slice");
  e.children.push_back(std::move(out));
  out = std::move(e);
}

void Parser::range(Expr& out) {
  out.kind = Expr::Kind::range;
  out.at = token().at;
  int height = 0;
  for (;;) {
    Expr& bound = out.children.emplace_back();
    bound.at = token().at;
    height_ = 1;
    if (!is(":") && !is(",") && !is("]")) binary(0, bound);
    height = std::max(height, height_);
    if (!is(":")) break;
    if (out.children.size() == 3) unexpected("at most start:end:step");
    ++next_;
  }
  if (out.children.size() == 1 && out.children[0].kind == Expr::Kind::name && out.children[0].name.empty())
    unexpected("an index or a range");
  height_ = height + 1;
}

}  // namespace weft::ir
