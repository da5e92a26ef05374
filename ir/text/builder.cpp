#include "ir/text/builder.hpp"

#include <algorithm>

#include "ir/support/nearest.hpp"

namespace weft::ir {
namespace {

bool is_bool_word(const Expr& e) { return e.kind == Expr::Kind::name && (e.name == "true" || e.name == "false"); }
bool is_literal(const Expr& e) { return e.kind == Expr::Kind::number || is_bool_word(e); }

bool has_ranges(const Expr& call) {
  return std::any_of(call.children.begin(), call.children.end(),
                     [](const Expr& e) { return e.kind == Expr::Kind::range; });
}

Op find_op(const Expr& call, const Source& source) {
  if (auto op = op_from_string(call.name); op && !info(*op).has(kLeaf)) return *op;
  std::vector<std::string_view> names;
  for (const OpInfo& o : all_ops())
    if (!o.has(kLeaf)) names.push_back(o.name);
  source.fail(call.at, fmt::format("no op is named '{}'{}", call.name.substr(0, 80), suggest(call.name, names)));
}

const AttributeSpec& find_attribute(const OpInfo& op, const std::string& name, const Expr& value,
                                    const Source& source) {
  std::vector<std::string_view> names;
  for (const AttributeSpec& a : op.attributes) {
    if (a.name == name) return a;
    names.push_back(a.name);
  }
  source.fail(value.at, fmt::format("{} has no attribute '{}'{}", op.name, name.substr(0, 80), suggest(name, names)));
}

/// Positional arguments after the operands fill the schema in order, then the named ones by name.
Attributes attributes_of(const Expr& call, const OpInfo& op, size_t operands, const Source& source) {
  Attributes out;
  for (size_t i = operands; i < call.children.size(); ++i) {
    size_t slot = i - operands;
    if (slot >= op.attributes.size())
      source.fail(call.children[i].at,
                  fmt::format("{} takes at most {} arguments: {} operands and {} attributes", op.name,
                              operands + op.attributes.size(), operands, op.attributes.size()));
    out.set(op.attributes[slot].name, attribute_of(call.children[i], op.attributes[slot].kind, source));
  }
  for (const auto& [name, value] : call.named) {
    const AttributeSpec& spec = find_attribute(op, name, value, source);
    if (out.find(name)) source.fail(value.at, fmt::format("attribute {} of {} is given twice", name, op.name));
    out.set(name, attribute_of(value, spec.kind, source));
  }
  return out;
}

size_t operand_count(const Expr& call, const OpInfo& op) {
  bool variadic = !op.operands.empty() && op.operands.back().variadic;
  return variadic ? call.children.size() : std::min(call.children.size(), op.operands.size());
}

}  // namespace

Value Builder::value(const Expr& expr, std::string_view name) {
  switch (expr.kind) {
    case Expr::Kind::name:
      return is_bool_word(expr) ? scalar(expr, DType::boolean, name) : named(expr);
    case Expr::Kind::number:
      return scalar(expr, std::nullopt, name);
    case Expr::Kind::tensor:
      return graph_.constant(tensor_of(expr, source_), name);
    case Expr::Kind::call: {
      NodeId id = node(expr, name);
      size_t outputs = graph_.node(id).types.size();
      if (outputs != 1)
        source_.fail(expr.at, fmt::format("{} gives {} values: name them on a line of their own", expr.name, outputs));
      return {id, 0};
    }
    default:
      break;
  }
  source_.fail(expr.at, fmt::format("expected a value, found {}", print_expression(expr).substr(0, 60)));
}

Value Builder::named(const Expr& expr) {
  if (auto value = names_.find(expr.name)) return *value;
  source_.fail(expr.at,
               fmt::format("no value is named '{}'{}", expr.name.substr(0, 80), suggest(expr.name, names_.all())));
}

Value Builder::scalar(const Expr& expr, std::optional<DType> beside, std::string_view name) {
  DType dtype = is_bool_word(expr) ? DType::boolean : number_dtype_.value_or(beside.value_or(DType::f32));
  return graph_.constant(scalar_of(expr, dtype, source_), name);
}

std::vector<Value> Builder::operands(const Expr& call, size_t count) {
  std::vector<Value> out(count);
  std::optional<DType> beside;
  for (size_t i = 0; i < count; ++i) {
    if (is_literal(call.children[i])) continue;
    out[i] = value(call.children[i]);
    DType dtype = graph_.type(out[i]).dtype;
    if (!beside && dtype != DType::boolean) beside = dtype;
  }
  for (size_t i = 0; i < count; ++i)
    if (is_literal(call.children[i])) out[i] = scalar(call.children[i], beside, {});
  return out;
}

NodeId Builder::add(Op op, std::vector<Value> operands, const Attributes& attributes, std::string_view name,
                    TextPosition at) {
  try {
    return graph_.add(op, std::move(operands), attributes, name);
  } catch (const Error& e) {
    source_.rethrow(e, at);
  }
}

NodeId Builder::node(const Expr& call, std::string_view name) {
  if (call.name == "slice" && has_ranges(call)) return slice(call, name);
  Op op = find_op(call, source_);
  size_t count = operand_count(call, info(op));
  Attributes attributes = attributes_of(call, info(op), count, source_);
  return add(op, operands(call, count), attributes, name, call.at);
}

Value build_expression(Graph& graph, const Expr& expr, const std::vector<std::pair<std::string, Value>>& names,
                       DType number_dtype) {
  NameLookup lookup{[&](std::string_view name) -> std::optional<Value> {
                      for (const auto& [known, value] : names)
                        if (known == name) return value;
                      return std::nullopt;
                    },
                    [&] {
                      std::vector<std::string_view> all;
                      for (const auto& entry : names) all.push_back(entry.first);
                      return all;
                    }};
  Source source{{}, "expression", {}};
  return Builder(graph, source, lookup, number_dtype).value(expr);
}

}  // namespace weft::ir
