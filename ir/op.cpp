#include "ir/op.hpp"

#include <algorithm>
#include <unordered_map>

#include "ir/ops/indexing.hpp"
#include "ir/ops/record.hpp"
#include "ir/support/error.hpp"

namespace weft::ir {
namespace {

OpInfo leaf(std::string_view summary) {
  OpInfo record;
  record.summary = summary;
  record.traits = kLeaf;
  return record;
}

std::vector<OpInfo> make_table() {
  std::vector<OpInfo> table;
  table.push_back(leaf("a value that the caller gives at every run"));
  table.push_back(leaf("a value bound once, before runs: a weight"));
  table.push_back(leaf("a value that belongs to the program's structure"));
  for (OpInfo& record : ops::elementwise_records()) table.push_back(std::move(record));
#define WEFT_STRUCTURED(name) table.push_back(ops::name##_record());
#include "ir/ops/structured.inc"
#undef WEFT_STRUCTURED
  static constexpr std::string_view kNames[] = {
#define WEFT_OP(name) #name,
#include "ir/ops/list.inc"
#undef WEFT_OP
  };
  WEFT_CHECK(table.size() == kOpCount);
  for (size_t i = 0; i < kOpCount; ++i) {
    table[i].op = static_cast<Op>(i);
    table[i].name = kNames[i];
  }
  return table;
}

const std::vector<OpInfo>& table() {
  static const std::vector<OpInfo> records = make_table();
  return records;
}

std::string call_text(const OpInfo& record, std::span<const TensorType> operands) {
  std::string out = std::string(record.name) + "(";
  for (size_t i = 0; i < operands.size(); ++i) {
    if (i == 8) return fmt::format("{}, ... {} more)", out, operands.size() - i);
    out += (i ? ", " : "") + to_string(operands[i]);
  }
  return out + ")";
}

const AttributeSpec* find_spec(const OpInfo& record, std::string_view name) {
  for (const AttributeSpec& spec : record.attributes)
    if (spec.name == name) return &spec;
  return nullptr;
}

std::string known_attributes(const OpInfo& record) {
  std::string out;
  for (const AttributeSpec& spec : record.attributes) out += (out.empty() ? "" : ", ") + std::string(spec.name);
  return out.empty() ? "it has none" : "it has " + out;
}

/// The value in the kind of the schema, where it has one meaning there; nothing else.
std::optional<AttributeValue> as_kind(const AttributeValue& value, AttributeKind kind) {
  if (kind_of(value) == kind) return value;
  const auto* integer = std::get_if<int64_t>(&value);
  const auto* ints = std::get_if<std::vector<int64_t>>(&value);
  const auto* shape = std::get_if<Shape>(&value);
  if (kind == AttributeKind::real && integer) return static_cast<double>(*integer);
  if (kind == AttributeKind::shape && ints) return to_shape(*ints);
  if (kind == AttributeKind::reals && ints) return std::vector<double>(ints->begin(), ints->end());
  if (kind == AttributeKind::ints && shape && is_static(*shape)) return to_ints(*shape);
  const auto* reals = std::get_if<std::vector<double>>(&value);
  if (reals && reals->empty() && kind == AttributeKind::ints) return std::vector<int64_t>{};
  if (reals && reals->empty() && kind == AttributeKind::shape) return Shape{};
  return std::nullopt;
}

AttributeValue checked(const AttributeSpec& spec, const AttributeValue& value) {
  std::optional<AttributeValue> typed = as_kind(value, spec.kind);
  if (!typed)
    fail(ErrorCode::invalid_argument, "attribute '{}' is of kind {}, expected {}", spec.name, to_string(kind_of(value)),
         to_string(spec.kind));
  if (spec.kind == AttributeKind::text && !spec.choices.empty()) {
    const std::string& found = std::get<std::string>(*typed);
    if (std::find(spec.choices.begin(), spec.choices.end(), found) == spec.choices.end())
      fail(ErrorCode::invalid_argument, "attribute '{}' is \"{}\", expected one of {}", spec.name, found,
           fmt::join(spec.choices, ", "));
  }
  if (spec.kind == AttributeKind::program && !std::get<ProgramRef>(*typed))
    fail(ErrorCode::invalid_argument, "attribute '{}' is an empty program", spec.name);
  return std::move(*typed);
}

void check_arity(const OpInfo& record, size_t found) {
  bool variadic = !record.operands.empty() && record.operands.back().variadic;
  size_t expected = record.operands.size();
  if (variadic ? found < expected : found != expected)
    fail(ErrorCode::invalid_argument, "{} operands, expected {}{}", found, variadic ? "at least " : "", expected);
}

/// Calls f; an Error gets the op and its operand types as its place.
template <typename F>
auto in_call(const OpInfo& record, std::span<const TensorType> operands, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    throw error.within(call_text(record, operands));
  }
}

}  // namespace

const OpInfo& info(Op op) {
  WEFT_CHECK(static_cast<size_t>(op) < kOpCount);
  return table()[static_cast<size_t>(op)];
}

std::optional<Op> op_from_string(std::string_view name) {
  static const std::unordered_map<std::string_view, Op> by_name = [] {
    std::unordered_map<std::string_view, Op> out;
    for (const OpInfo& record : table()) out.emplace(record.name, record.op);
    return out;
  }();
  auto it = by_name.find(name);
  if (it == by_name.end()) return std::nullopt;
  return it->second;
}

std::span<const OpInfo> all_ops() { return table(); }

Attributes complete(Op op, const Attributes& given) {
  const OpInfo& record = info(op);
  return in_call(record, {}, [&] {
    Attributes out;
    for (const Attributes::Entry& entry : given.entries()) {
      const AttributeSpec* spec = find_spec(record, entry.first);
      if (!spec) fail(ErrorCode::invalid_argument, "unknown attribute '{}': {}", entry.first, known_attributes(record));
      out.set(entry.first, checked(*spec, entry.second));
    }
    for (const AttributeSpec& spec : record.attributes) {
      if (out.find(spec.name)) continue;
      if (!spec.fallback)
        fail(ErrorCode::invalid_argument, "attribute '{}' ({}) is missing", spec.name, to_string(spec.kind));
      out.set(spec.name, *spec.fallback);
    }
    return out;
  });
}

Attributes complete(Op op, const Attributes& given, std::span<const TensorType> operands) {
  const OpInfo& record = info(op);
  Attributes out = complete(op, given);
  in_call(record, operands, [&] {
    check_arity(record, operands.size());
    if (record.normalize) record.normalize(out, operands);
  });
  return out;
}

bool is_default(Op op, const Attributes& attributes, std::string_view name, std::span<const TensorType> operands) {
  const OpInfo& record = info(op);
  const AttributeSpec* spec = find_spec(record, name);
  const AttributeValue* value = attributes.find(name);
  if (!spec || !spec->fallback || !value) return false;
  if (same_bits(*value, *spec->fallback)) return true;
  if (!record.normalize || operands.size() < record.operands.size()) return false;
  Attributes without = attributes;
  without.set(name, *spec->fallback);
  try {  // without this attribute the others may not hold: an output padding of 1 needs the stride of 2
    record.normalize(without, operands);
  } catch (const Error&) {
    return false;
  }
  return same_bits(*value, *without.find(name));
}

std::vector<TensorType> infer(Op op, std::span<const TensorType> operands, const Attributes& attributes) {
  const OpInfo& record = info(op);
  WEFT_CHECK(record.infer, "'{}' is a leaf: its type is given", record.name);
  return in_call(record, operands, [&] {
    check_arity(record, operands.size());
    return record.infer(operands, attributes);
  });
}

std::vector<Tensor> evaluate(Op op, std::span<const Tensor> operands, const Attributes& attributes) {
  const OpInfo& record = info(op);
  std::vector<TensorType> types;
  for (const Tensor& operand : operands) types.push_back(operand.type());
  std::vector<Tensor> outputs;
  for (TensorType& type : infer(op, types, attributes)) outputs.push_back(Tensor::allocate(std::move(type)));
  in_call(record, types, [&] { record.eval(operands, attributes, outputs); });
  return outputs;
}

Work work(Op op, std::span<const TensorType> operands, const Attributes& attributes,
          std::span<const TensorType> outputs) {
  const OpInfo& record = info(op);
  if (record.has(kLeaf)) return {};
  return record.work ? record.work(operands, attributes, outputs) : ops::bytes_moved(operands, outputs);
}

}  // namespace weft::ir
