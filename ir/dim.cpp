// The table of dimension expressions behind ir::Dim.
#include <algorithm>
#include <deque>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <shared_mutex>
#include <unordered_map>

#include "ir/support/error.hpp"
#include "ir/text.hpp"
#include "ir/types.hpp"

namespace weft::ir {

enum class DimOp : uint8_t { symbol, add, sub, mul, floor_div, ceil_div, max, min };

constexpr int kMaxDepth = 100;       // of an expression: bounds recursion
constexpr size_t kMaxLength = 4096;  // of its text: chains of symbolic shapes must not grow without bound

struct DimExpression {
  DimOp op;
  Dim left, right;
  std::string text;  // full text; parenthesised where it stands inside another expression
  std::string name;  // of a symbol
  int depth = 1;
};

/// Expressions are interned by text and never freed: their number is bounded by the distinct dimensions of the models
/// that a process loads, not by runs.
struct DimTable {
  static DimTable& get() {
    static DimTable table;
    return table;
  }
  Dim intern(DimOp op, Dim left, Dim right, std::string text, std::string_view name = {}) {
    if (text.size() > kMaxLength)
      fail(ErrorCode::limit, "symbolic dimension of more than {} characters: {}...", kMaxLength, text.substr(0, 60));
    std::unique_lock lock(mutex);
    int depth = 1 + std::max(expressions[left.expression_].depth, expressions[right.expression_].depth);
    if (depth > kMaxDepth)
      fail(ErrorCode::limit, "symbolic dimension of more than {} levels: {}...", kMaxDepth, text.substr(0, 60));
    auto [it, fresh] = by_text.try_emplace(text, static_cast<uint32_t>(expressions.size()));
    if (fresh) expressions.push_back({op, left, right, std::move(text), std::string(name), depth});
    Dim d;
    d.expression_ = it->second;
    return d;
  }
  const DimExpression& at(const Dim& d) {
    std::shared_lock lock(mutex);
    return expressions[d.expression_];
  }

  std::shared_mutex mutex;
  std::deque<DimExpression> expressions{{DimOp::symbol, {}, {}, "", "", 0}};  // 0 stands for constants
  std::unordered_map<std::string, uint32_t> by_text;
};

namespace {

int64_t apply(DimOp op, int64_t a, int64_t b) {
  int64_t r = 0;
  bool overflow = false;
  switch (op) {
    case DimOp::add:
      overflow = __builtin_add_overflow(a, b, &r);
      break;
    case DimOp::sub:
      overflow = __builtin_sub_overflow(a, b, &r);
      break;
    case DimOp::mul:
      overflow = __builtin_mul_overflow(a, b, &r);
      break;
    case DimOp::max:
      return std::max(a, b);
    case DimOp::min:
      return std::min(a, b);
    case DimOp::floor_div:
    case DimOp::ceil_div: {
      if (b == 0) fail(ErrorCode::invalid_argument, "dimension {} divided by 0", a);
      if (b == -1) return apply(DimOp::sub, 0, a);
      int64_t q = a / b, rest = a % b;
      if (rest == 0) return q;
      bool negative = (a < 0) != (b < 0);
      return op == DimOp::floor_div ? q - negative : q + !negative;
    }
    case DimOp::symbol:
      break;
  }
  if (overflow) fail(ErrorCode::out_of_range, "dimension arithmetic on {} and {} overflows 64 bits", a, b);
  return r;
}

int precedence(const Dim& d) {
  if (d.is_constant()) return d.value() < 0 ? 0 : 3;
  switch (DimTable::get().at(d).op) {
    case DimOp::add:
    case DimOp::sub:
      return 1;
    case DimOp::mul:
    case DimOp::floor_div:
      return 2;
    default:
      return 3;
  }
}

/// The text of a dimension inside another, in parentheses where it binds looser than `loosest`.
std::string inner(const Dim& d, int loosest) { return precedence(d) < loosest ? "(" + d.text() + ")" : d.text(); }

/// x and c of x+c or x-(-c); the dimension itself and 0 otherwise.
std::pair<Dim, int64_t> split_offset(const Dim& d) {
  if (d.is_constant()) return {d, 0};
  const DimExpression& e = DimTable::get().at(d);
  bool offset = (e.op == DimOp::add || e.op == DimOp::sub) && e.right.is_constant();
  if (!offset || e.right.is(INT64_MIN)) return {d, 0};
  return {e.left, e.op == DimOp::add ? e.right.value() : -e.right.value()};
}

/// a + c for a constant c, as one offset from what a is offset from.
Dim add_offset(const Dim& a, int64_t c) {
  auto [base, offset] = split_offset(a);
  if (__builtin_add_overflow(offset, c, &offset) || offset == INT64_MIN) base = a, offset = c;
  if (offset == 0) return base;
  DimOp op = offset > 0 || offset == INT64_MIN ? DimOp::add : DimOp::sub;
  Dim right = op == DimOp::add ? offset : -offset;
  return DimTable::get().intern(op, base, right, inner(base, 1) + (op == DimOp::add ? "+" : "-") + right.text());
}

Dim combine(DimOp op, Dim a, Dim b);

/// a op k for a constant k where the whole is simpler than its parts; nothing where it is not, or int64 would overflow.
/// Offsets go outwards and divisions into one, so that paddings and strides in a row stay short and equal ones meet:
/// ((N-1)/2+1)*2 is (N+1)/2*2, and (((N-1)/2+1)-1)/2+1 is (N+3)/4.
std::optional<Dim> fold_factor(const Dim& a, int64_t k) {
  int64_t product = 0;
  if (const auto [base, offset] = split_offset(a); offset != 0) {
    if (__builtin_mul_overflow(offset, k, &product) || product == INT64_MIN) return std::nullopt;
    return add_offset(combine(DimOp::mul, base, k), product);
  }
  const DimExpression& e = DimTable::get().at(a);
  if (e.op != DimOp::mul || !e.right.is_constant() || __builtin_mul_overflow(e.right.value(), k, &product))
    return std::nullopt;
  return combine(DimOp::mul, e.left, product);
}

std::optional<Dim> fold_divisor(const Dim& a, int64_t d) {
  if (d <= 1) return std::nullopt;
  const auto [base, offset] = split_offset(a);
  const DimExpression& e = DimTable::get().at(base);
  if (e.op == DimOp::floor_div && e.right.is_constant() && e.right.value() > 0) {  // (x/b + c)/d = (x + c*b)/(b*d)
    int64_t inner_offset = 0, divisor = 0;
    if (__builtin_mul_overflow(offset, e.right.value(), &inner_offset) || inner_offset == INT64_MIN ||
        __builtin_mul_overflow(d, e.right.value(), &divisor))
      return std::nullopt;
    return combine(DimOp::floor_div, add_offset(e.left, inner_offset), divisor);
  }
  if (e.op == DimOp::mul && e.right.is_constant() && e.right.value() != INT64_MIN) {
    if (const int64_t g = std::gcd(e.right.value(), d); g > 1)  // (g*x + c)/(g*d) = (x + c/g)/d
      return combine(DimOp::floor_div,
                     add_offset(combine(DimOp::mul, e.left, e.right.value() / g), apply(DimOp::floor_div, offset, g)),
                     d / g);
  }
  const int64_t whole = apply(DimOp::floor_div, offset, d), rest = offset % d < 0 ? offset % d + d : offset % d;
  if (whole == 0) return std::nullopt;
  return add_offset(combine(DimOp::floor_div, add_offset(base, rest), d), whole);  // N/2+1 rather than (N+2)/2
}

Dim combine(DimOp op, Dim a, Dim b) {
  if (a.is_constant() && b.is_constant()) return apply(op, a.value(), b.value());
  if (a.is_constant() && (op == DimOp::add || op == DimOp::mul)) std::swap(a, b);
  switch (op) {  // the few identities that shape arithmetic needs so that equal dimensions stay equal
    case DimOp::add:
      if (b.is_constant()) return add_offset(a, b.value());
      break;
    case DimOp::sub:
      if (a == b) return 0;
      if (b.is_constant() && !b.is(INT64_MIN)) return add_offset(a, -b.value());
      if (const auto x = split_offset(a), y = split_offset(b); x.first == y.first) return apply(op, x.second, y.second);
      break;
    case DimOp::mul:
      if (b.is(0)) return 0;
      if (b.is(1)) return a;
      if (b.is_constant())
        if (const auto folded = fold_factor(a, b.value())) return *folded;
      break;
    case DimOp::floor_div:
    case DimOp::ceil_div:
      if (b.is(0)) fail(ErrorCode::invalid_argument, "dimension {} divided by 0", a.text());
      if (b.is(1)) return a;
      if (a == b) return 1;
      if (op == DimOp::ceil_div && b.is_constant() && b.value() > 0)
        return combine(DimOp::floor_div, add_offset(a, b.value() - 1), b);
      if (op == DimOp::floor_div && b.is_constant())
        if (const auto folded = fold_divisor(a, b.value())) return *folded;
      break;
    default:
      if (a == b) return a;
  }
  static constexpr const char* kInfix[] = {"", "+", "-", "*", "/", "", "", ""};
  std::string text;
  if (op == DimOp::ceil_div || op == DimOp::max || op == DimOp::min) {
    const char* name = op == DimOp::ceil_div ? "ceil_div" : op == DimOp::max ? "max" : "min";
    text = std::string(name) + "(" + a.text() + "," + b.text() + ")";
  } else {
    int own = op == DimOp::add || op == DimOp::sub ? 1 : 2;
    text = inner(a, own) + kInfix[static_cast<int>(op)] + inner(b, own + 1);
  }
  return DimTable::get().intern(op, a, b, std::move(text));
}

}  // namespace

Dim Dim::symbol(std::string_view name) {
  if (name.empty()) fail(ErrorCode::invalid_argument, "a symbolic dimension needs a name");
  // Names that are no identifiers stand in quotes, so that a symbol "a+b" is not the sum of two.
  return DimTable::get().intern(DimOp::symbol, {}, {}, is_identifier(name) ? std::string(name) : quote(name), name);
}

int64_t Dim::value() const {
  if (!is_constant())
    fail(ErrorCode::invalid_argument, "dimension '{}' is symbolic; bind it to a number first", text());
  return value_;
}

std::string Dim::text() const { return is_constant() ? std::to_string(value_) : DimTable::get().at(*this).text; }

Dim Dim::substitute(const DimBindings& bindings) const {
  if (is_constant()) return *this;
  const DimExpression& e = DimTable::get().at(*this);
  if (e.op == DimOp::symbol) {
    auto it = bindings.find(e.name);
    return it == bindings.end() ? *this : Dim(it->second);
  }
  return combine(e.op, e.left.substitute(bindings), e.right.substitute(bindings));
}

std::vector<std::string> Dim::symbols() const {
  if (is_constant()) return {};
  const DimExpression& e = DimTable::get().at(*this);
  if (e.op == DimOp::symbol) return {e.name};
  std::vector<std::string> all = e.left.symbols(), more = e.right.symbols();
  all.insert(all.end(), more.begin(), more.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

Dim operator+(Dim a, Dim b) { return combine(DimOp::add, a, b); }
Dim operator-(Dim a, Dim b) { return combine(DimOp::sub, a, b); }
Dim operator*(Dim a, Dim b) { return combine(DimOp::mul, a, b); }
Dim floor_div(Dim a, Dim b) { return combine(DimOp::floor_div, a, b); }
Dim ceil_div(Dim a, Dim b) { return combine(DimOp::ceil_div, a, b); }
Dim max(Dim a, Dim b) { return combine(DimOp::max, a, b); }
Dim min(Dim a, Dim b) { return combine(DimOp::min, a, b); }

}  // namespace weft::ir
