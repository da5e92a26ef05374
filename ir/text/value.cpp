// Attribute values, dimensions and tensors: syntax to value and back.
#include <cstring>

#include "ir/program.hpp"
#include "ir/text/number.hpp"
#include "ir/text/operators.hpp"
#include "ir/text/parser.hpp"

namespace weft::ir {
namespace {

[[noreturn]] void expected(const Expr& expr, std::string_view what, const Source& source) {
  source.fail(expr.at, fmt::format("expected {}, found {}", what, print_expression(expr).substr(0, 60)));
}

int64_t int_of(const Expr& expr, const Source& source) {
  if (expr.kind != Expr::Kind::number || !expr.integer) expected(expr, "an integer within 64 bits", source);
  return *expr.integer;
}

double real_of(const Expr& expr, const Source& source) {
  if (expr.kind != Expr::Kind::number) expected(expr, "a number", source);
  double value = 0;
  if (auto reason = read_number(expr.name, DType::f64, &value)) source.fail(expr.at, *reason);
  return value;
}

bool bool_of(const Expr& expr, const Source& source) {
  if (expr.kind == Expr::Kind::name && (expr.name == "true" || expr.name == "false")) return expr.name == "true";
  expected(expr, "true or false", source);
}

DType dtype_of(const Expr& expr, const Source& source) {
  auto dtype = expr.kind == Expr::Kind::name ? dtype_from_string(expr.name) : std::nullopt;
  if (!dtype) expected(expr, "a dtype such as f32", source);
  return *dtype;
}

template <typename T, typename F>
std::vector<T> list_of(const Expr& expr, const Source& source, F element) {
  if (expr.kind != Expr::Kind::list) expected(expr, "a list in brackets", source);
  std::vector<T> out;
  out.reserve(expr.children.size());
  for (const Expr& e : expr.children) out.push_back(element(e, source));
  return out;
}

std::string join(const auto& values, auto print) {
  std::string out = "[";
  for (size_t i = 0; i < values.size(); ++i) out += (i ? "," : "") + print(values[i]);
  return out + "]";
}

std::string print_real(double value) { return print_number(DType::f64, &value); }

}  // namespace

Dim dim_of(const Expr& expr, const Source& source) {
  using Function = Dim (*)(Dim, Dim);
  static constexpr std::pair<std::string_view, Function> kFunctions[] = {
      {"add", [](Dim a, Dim b) { return a + b; }},
      {"sub", [](Dim a, Dim b) { return a - b; }},
      {"mul", [](Dim a, Dim b) { return a * b; }},
      {"div", [](Dim a, Dim b) { return floor_div(a, b); }},
      {"max", [](Dim a, Dim b) { return max(a, b); }},
      {"min", [](Dim a, Dim b) { return min(a, b); }},
      {"ceil_div", [](Dim a, Dim b) { return ceil_div(a, b); }}};
  if (expr.kind == Expr::Kind::number) return int_of(expr, source);
  bool named = expr.kind == Expr::Kind::name && !expr.name.empty() && expr.name[0] != '%';
  if (named || (expr.kind == Expr::Kind::text && !expr.name.empty())) return Dim::symbol(expr.name);
  if (expr.kind == Expr::Kind::call && expr.named.empty()) {
    try {
      if (expr.name == "neg" && expr.children.size() == 1) return Dim(0) - dim_of(expr.children[0], source);
      for (const auto& [name, function] : kFunctions)
        if (expr.name == name && expr.children.size() == 2)
          return function(dim_of(expr.children[0], source), dim_of(expr.children[1], source));
    } catch (const Error& e) {
      if (e.code() == ErrorCode::parse) throw;
      source.fail(expr.at, e.message());
    }
  }
  expected(expr, "a dimension (number, name, + - * /, ceil_div, max, min)", source);
}

AttributeValue attribute_of(const Expr& expr, AttributeKind kind, const Source& source) {
  switch (kind) {
    case AttributeKind::boolean:
      return bool_of(expr, source);
    case AttributeKind::integer:
      return int_of(expr, source);
    case AttributeKind::real:
      return real_of(expr, source);
    case AttributeKind::dtype:
      return dtype_of(expr, source);
    case AttributeKind::ints:
      return list_of<int64_t>(expr, source, int_of);
    case AttributeKind::reals:
      return list_of<double>(expr, source, real_of);
    case AttributeKind::shape:
      return list_of<Dim>(expr, source, dim_of);
    case AttributeKind::text:
      if (expr.kind != Expr::Kind::text) expected(expr, "a string in quotes", source);
      return expr.name;
    case AttributeKind::program:
      break;
  }
  if (expr.kind != Expr::Kind::program) expected(expr, "a program in braces", source);
  return expr.program;
}

Tensor tensor_of(const Expr& expr, const Source& source) {
  const TensorType& type = *expr.tensor_type;
  if (!is_static(type.shape))
    source.fail(expr.at, fmt::format("a literal has numbers as dimensions, not {}", to_string(type)));
  int64_t count = 0;
  try {
    count = type.elements();
  } catch (const Error& e) {
    source.rethrow(e, expr.at);
  }
  if (count != static_cast<int64_t>(expr.children.size()))
    source.fail(expr.at,
                fmt::format("{} has {} elements, but {} are given", to_string(type), count, expr.children.size()));
  Tensor t = Tensor::allocate(type);
  auto* bytes = static_cast<std::byte*>(t.mutable_data());
  for (const Expr& e : expr.children) {
    bool word = e.kind == Expr::Kind::name && (e.name == "true" || e.name == "false");
    if (e.kind != Expr::Kind::number && !word) expected(e, fmt::format("an element of {}", to_string(type)), source);
    if (auto reason = read_number(e.name, type.dtype, bytes)) source.fail(e.at, *reason);
    bytes += size_of(type.dtype);
  }
  return t;
}

Tensor scalar_of(const Expr& expr, DType dtype, const Source& source) {
  Tensor t = Tensor::allocate({dtype, {}});
  if (auto reason = read_number(expr.name, dtype, t.mutable_data())) source.fail(expr.at, *reason);
  return t;
}

AttributeValue attribute_from_expression(const Expr& expr, AttributeKind kind, std::string_view origin) {
  return attribute_of(expr, kind, {{}, origin, {}});
}

Dim dim_from_expression(const Expr& expr, std::string_view origin) { return dim_of(expr, {{}, origin, {}}); }

TensorType parse_type(std::string_view text, std::string_view origin) {
  Source source{text, origin, {}};
  Parser parser(source);
  TensorType type = parser.type_literal();
  parser.expect_end();
  return type;
}

std::string print_attribute(const AttributeValue& value) {
  switch (kind_of(value)) {
    case AttributeKind::boolean:
      return std::get<bool>(value) ? "true" : "false";
    case AttributeKind::integer:
      return std::to_string(std::get<int64_t>(value));
    case AttributeKind::real:
      return print_real(std::get<double>(value));
    case AttributeKind::text:
      return quote(std::get<std::string>(value));
    case AttributeKind::dtype:
      return std::string(to_string(std::get<DType>(value)));
    case AttributeKind::ints:
      return join(std::get<std::vector<int64_t>>(value), [](int64_t v) { return std::to_string(v); });
    case AttributeKind::reals:
      return join(std::get<std::vector<double>>(value), print_real);
    case AttributeKind::shape:
      return to_string(std::get<Shape>(value));
    case AttributeKind::program:
      break;
  }
  const ProgramRef& program = std::get<ProgramRef>(value);
  return program ? program->text() : "{}";
}

std::string print_attributes(const Attributes& attributes) {
  std::string out;
  for (const auto& [name, value] : attributes.entries())
    out += (out.empty() ? "" : ", ") + name + "=" + print_attribute(value);
  return out;
}

std::string print_tensor(const Tensor& tensor) {
  std::string out = to_string(tensor.type()) + "[";
  const auto* bytes = static_cast<const std::byte*>(tensor.data());
  size_t size = size_of(tensor.dtype());
  for (int64_t i = 0, n = tensor.elements(); i < n; ++i)
    out += (i ? ", " : "") + print_number(tensor.dtype(), bytes + static_cast<size_t>(i) * size);
  return out + "]";
}

}  // namespace weft::ir
