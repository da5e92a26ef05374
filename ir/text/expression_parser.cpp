// The expression part of the parser, see ir/text.hpp for the grammar.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/text/number.hpp"
#include "ir/text/operators.hpp"
#include "ir/text/parser.hpp"

namespace weft::ir {
namespace {

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
  if (!accept(symbol)) unexpected(fmt::format("'{}' {}", symbol, where));
}

void Parser::expect_end() {
  if (!at_end()) unexpected("the end of the text or an operator");
}

void Parser::unexpected(std::string_view expected) const {
  std::string found = at_end() ? "the end of the text" : "'" + std::string(spelling().substr(0, 40)) + "'";
  source_.fail(token().at, fmt::format("expected {}, found {}", expected, found));
}

void Parser::grow(const Expr& at, int height) {
  height_ = height;
  if (height_ > kMaxNesting)
    source_.fail(at.at, fmt::format("expression of more than {} levels", kMaxNesting), ErrorCode::parse);
}

Expr Parser::expression() { return binary(0); }

bool Parser::continues() const { return !(lines_matter_ && token().newline_before); }

Expr Parser::binary(int loosest) {
  Scoped deeper(depth_, depth_ + 1);
  if (depth_ > kMaxNesting) source_.fail(token().at, fmt::format("expression of more than {} levels", kMaxNesting));
  Expr left = unary();
  int height = height_;
  while (token().kind == TokenKind::symbol && continues()) {
    const InfixOperator* op = find_infix(spelling());
    if (!op || op->precedence < loosest) break;
    Expr joined = make(Expr::Kind::call, token().at, std::string(op->op));
    ++next_;
    joined.children.reserve(2);
    joined.children.push_back(std::move(left));
    joined.children.push_back(binary(op->precedence + 1));
    height = std::max(height, height_) + 1;
    grow(joined, height);
    left = std::move(joined);
  }
  height_ = height;
  return left;
}

Expr Parser::unary() {
  if (!is("-")) return postfix();
  TextPosition at = token().at;
  ++next_;
  if (token().kind == TokenKind::number && adjacent_to_previous()) {
    height_ = 1;
    return make_number(at, "-" + std::string(spelling(tokens_[next_++])));
  }
  if ((is_word("inf") || is_word("nan")) && adjacent_to_previous()) return special_number(at, true);
  Scoped deeper(depth_, depth_ + 1);
  if (depth_ > kMaxNesting) source_.fail(at, fmt::format("expression of more than {} levels", kMaxNesting));
  Expr e = make(Expr::Kind::call, at, "neg");
  e.children.push_back(unary());
  grow(e, height_ + 1);
  return e;
}

Expr Parser::postfix() {
  Expr e = primary();
  for (;;) {
    if (is("[") && continues()) {
      e = slice(std::move(e));
    } else if (is("...") && (e.kind == Expr::Kind::name || e.kind == Expr::Kind::call)) {
      ++next_;
      Expr sequence = make(Expr::Kind::sequence, e.at);
      if (e.kind == Expr::Kind::name) sequence.name = std::move(e.name);
      else sequence.children.push_back(std::move(e));
      grow(sequence, height_ + 1);
      e = std::move(sequence);
    } else {
      return e;
    }
  }
}

Expr Parser::primary() {
  const Token& t = token();
  height_ = 1;
  switch (t.kind) {
    case TokenKind::identifier: return name_or_call();
    case TokenKind::number: ++next_; return make_number(t.at, std::string(spelling(t)));
    case TokenKind::string: ++next_; return make(Expr::Kind::text, t.at, unquote(spelling(t)));
    case TokenKind::end: unexpected("an expression");
    case TokenKind::symbol: break;
  }
  if (is("%")) return value_name();
  if (is("[")) return list();
  if (is("{")) return program();
  if (!is("(")) unexpected("an expression");
  Scoped inside(lines_matter_, false);
  ++next_;
  Expr e = binary(0);
  expect(")", "after the expression in parentheses");
  return e;
}

Expr Parser::value_name() {
  TextPosition at = token().at;
  if (token(1).kind != TokenKind::number || !adjacent(1)) unexpected("an expression");
  std::string_view digits = spelling(token(1));
  if (digits.find_first_not_of("0123456789.") != std::string_view::npos)
    source_.fail(at, "expected a value such as %5 or %5.0");
  next_ += 2;
  return make(Expr::Kind::name, at, "%" + std::string(digits));
}

Expr Parser::special_number(TextPosition at, bool negative) {
  std::string s = negative ? "-" : "";
  s += spelling();
  bool payload = is_word("nan") && is("(", 1) && adjacent(1);
  ++next_;
  if (payload) {
    ++next_;
    if (token().kind != TokenKind::number || !spelling().starts_with("0x")) unexpected("the NaN's mantissa bits (0x...)");
    s += "(" + std::string(spelling()) + ")";
    double nan = 0;
    if (auto reason = read_number(s, DType::f64, &nan)) source_.fail(at, *reason);
    ++next_;
    expect(")", "after the NaN's mantissa bits");
  }
  height_ = 1;
  return make_number(at, std::move(s));
}

Expr Parser::name_or_call() {
  const Token& t = token();
  std::string_view word = spelling();
  if (word == "inf" || word == "nan") return special_number(t.at, false);
  if (is("[", 1) && dtype_from_string(word)) return tensor_or_type();
  ++next_;
  Expr e = make(Expr::Kind::name, t.at, std::string(word));
  height_ = 1;
  return is("(") && continues() ? call(std::move(e)) : e;
}

Expr Parser::call(Expr e) {
  Scoped inside(lines_matter_, false);
  ++next_;
  e.kind = Expr::Kind::call;
  int height = 0;
  while (!is(")")) {
    if (token().kind == TokenKind::identifier && is("=", 1)) {
      named_argument(e);
    } else {
      if (!e.named.empty()) unexpected("a named argument (positional ones come first)");
      e.children.push_back(binary(0));
    }
    height = std::max(height, height_);
    if (!accept(",")) break;
  }
  expect(")", fmt::format("or ',' in the call of {}", e.name));
  grow(e, height + 1);
  return e;
}

void Parser::named_argument(Expr& call) {
  std::string name(spelling());
  for (const auto& entry : call.named)
    if (entry.first == name) source_.fail(token().at, fmt::format("argument {} is given twice", name));
  next_ += 2;
  call.named.emplace_back(std::move(name), binary(0));
}

Expr Parser::list() {
  Scoped inside(lines_matter_, false);
  Expr e = make(Expr::Kind::list, token().at);
  ++next_;
  int height = 0;
  while (!is("]")) {
    e.children.push_back(binary(0));
    height = std::max(height, height_);
    if (!accept(",")) break;
  }
  expect("]", "or ',' in the list");
  grow(e, height + 1);
  return e;
}

TensorType Parser::type_literal() {
  auto dtype = token().kind == TokenKind::identifier ? dtype_from_string(spelling()) : std::nullopt;
  if (!dtype || !is("[", 1)) unexpected("a type such as f32[2,N]");
  ++next_;
  Expr dims = list();
  TensorType type{*dtype, {}};
  type.shape.reserve(dims.children.size());
  for (const Expr& d : dims.children) type.shape.push_back(dim_of(d, source_));
  return type;
}

Expr Parser::tensor_or_type() {
  Expr e = make(Expr::Kind::type, token().at);
  e.tensor_type = type_literal();
  height_ = 1;
  if (!is("[") || !continues()) return e;
  e.kind = Expr::Kind::tensor;
  e.children = list().children;
  return e;
}

Expr Parser::slice(Expr base) {
  Scoped inside(lines_matter_, false);
  Expr e = make(Expr::Kind::call, base.at, "slice");
  int height = height_;
  ++next_;
  e.children.push_back(std::move(base));
  do {
    e.children.push_back(range());
    height = std::max(height, height_);
  } while (accept(","));
  expect("]", "or ',' after the range");
  grow(e, height + 1);
  return e;
}

Expr Parser::range() {
  Expr e = make(Expr::Kind::range, token().at);
  int height = 0;
  for (;;) {
    bool missing = is(":") || is(",") || is("]");
    height_ = 1;
    e.children.push_back(missing ? make(Expr::Kind::name, token().at) : binary(0));
    height = std::max(height, height_);
    if (!is(":")) break;
    if (e.children.size() == 3) unexpected("at most start:end:step");
    ++next_;
  }
  if (e.children.size() == 1 && e.children[0].kind == Expr::Kind::name && e.children[0].name.empty())
    unexpected("an index or a range");
  height_ = height + 1;
  return e;
}

}  // namespace weft::ir
