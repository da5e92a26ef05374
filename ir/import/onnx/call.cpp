#include "ir/import/onnx/call.hpp"

#include <algorithm>
#include <set>

#include "ir/support/error.hpp"

namespace weft::ir::onnx_import {
namespace {

using Attribute = ::onnx::AttributeProto;

/// The type of an attribute; files of IR version 1 leave it out, so it is guessed from the field in use.
Attribute::AttributeType type_of(const Attribute& a) {
  if (a.has_type() && a.type() != Attribute::UNDEFINED) return a.type();
  if (a.has_f()) return Attribute::FLOAT;
  if (a.has_i()) return Attribute::INT;
  if (a.has_s()) return Attribute::STRING;
  if (a.has_t()) return Attribute::TENSOR;
  if (a.has_g()) return Attribute::GRAPH;
  if (a.floats_size()) return Attribute::FLOATS;
  if (a.ints_size()) return Attribute::INTS;
  if (a.strings_size()) return Attribute::STRINGS;
  return Attribute::UNDEFINED;
}

std::string type_name(Attribute::AttributeType type) {
  return Attribute::AttributeType_IsValid(type) ? Attribute::AttributeType_Name(type) : std::to_string(type);
}

bool is_list(Attribute::AttributeType type) {
  return type == Attribute::INTS || type == Attribute::FLOATS || type == Attribute::STRINGS;
}

}  // namespace

Ref Call::in(size_t index) const {
  if (!has(index)) fail(ErrorCode::parse, "input {} is missing; the node has {} inputs", index, operands_.size());
  return operands_[index];
}

void Call::expect_inputs(size_t least, size_t most) const {
  if (operands_.size() < least || operands_.size() > most)
    fail(ErrorCode::parse, "{} inputs, expected {}", operands_.size(),
         least == most ? std::to_string(least) : fmt::format("{} to {}", least, most));
  for (size_t i = 0; i < least; ++i) in(i);
}

const Attribute* Call::find(std::string_view name) const {
  for (const Attribute& a : node_.attribute())
    if (a.name() == name) return &a;
  return nullptr;
}

const Attribute* Call::read(std::string_view name, Attribute::AttributeType type) {
  const Attribute* found = nullptr;
  for (int i = 0; i < node_.attribute_size(); ++i) {
    if (node_.attribute(i).name() != name) continue;
    if (found) fail(ErrorCode::parse, "attribute '{}' is given twice", name);
    found = &node_.attribute(i);
    read_[static_cast<size_t>(i)] = 1;
  }
  for (const AttributeScope* scope = scope_; found && !found->ref_attr_name().empty(); scope = scope->outer) {
    if (!scope)
      fail(ErrorCode::parse, "attribute '{}' refers to '{}' outside of a function", name, found->ref_attr_name());
    const std::string& wanted = found->ref_attr_name();
    found = nullptr;
    for (const Attribute& a : scope->caller->attribute())
      if (a.name() == wanted) found = &a;
  }
  if (!found) return nullptr;
  bool empty_list = is_list(type) && type_of(*found) == Attribute::UNDEFINED;
  if (type_of(*found) != type && !empty_list)
    fail(ErrorCode::parse, "attribute '{}' is of type {}, expected {}", name, type_name(type_of(*found)),
         type_name(type));
  return found;
}

int64_t Call::integer(std::string_view name, int64_t fallback) {
  const Attribute* a = read(name, Attribute::INT);
  return a ? a->i() : fallback;
}

int64_t Call::integer(std::string_view name) {
  const Attribute* a = read(name, Attribute::INT);
  if (!a) fail(ErrorCode::parse, "attribute '{}' is missing", name);
  return a->i();
}

double Call::real(std::string_view name, double fallback) {
  const Attribute* a = read(name, Attribute::FLOAT);
  return a ? a->f() : fallback;
}

std::string Call::text(std::string_view name, std::string_view fallback) {
  const Attribute* a = read(name, Attribute::STRING);
  return a ? a->s() : std::string(fallback);
}

std::optional<std::vector<int64_t>> Call::ints(std::string_view name) {
  const Attribute* a = read(name, Attribute::INTS);
  if (!a) return std::nullopt;
  return std::vector<int64_t>(a->ints().begin(), a->ints().end());
}

std::optional<std::vector<float>> Call::reals(std::string_view name) {
  const Attribute* a = read(name, Attribute::FLOATS);
  if (!a) return std::nullopt;
  return std::vector<float>(a->floats().begin(), a->floats().end());
}

std::optional<std::vector<std::string>> Call::texts(std::string_view name) {
  const Attribute* a = read(name, Attribute::STRINGS);
  if (!a) return std::nullopt;
  return std::vector<std::string>(a->strings().begin(), a->strings().end());
}

std::optional<Tensor> Call::tensor(std::string_view name) {
  const Attribute* a = read(name, Attribute::TENSOR);
  if (!a) return std::nullopt;
  return reader_.read(a->t());
}

std::optional<Tensor> Call::sparse_tensor(std::string_view name) {
  const Attribute* a = read(name, Attribute::SPARSE_TENSOR);
  if (!a) return std::nullopt;
  return reader_.read(a->sparse_tensor());
}

const ::onnx::GraphProto& Call::graph(std::string_view name) {
  const Attribute* a = read(name, Attribute::GRAPH);
  if (!a) fail(ErrorCode::parse, "attribute '{}' (a graph) is missing", name);
  return a->g();
}

void Call::ignore(std::initializer_list<std::string_view> names) {
  for (int i = 0; i < node_.attribute_size(); ++i)
    if (std::find(names.begin(), names.end(), node_.attribute(i).name()) != names.end())
      read_[static_cast<size_t>(i)] = 1;
}

void Call::expect_all_read() const {
  std::string unknown;
  for (int i = 0; i < node_.attribute_size(); ++i)
    if (!read_[static_cast<size_t>(i)]) unknown += (unknown.empty() ? "'" : ", '") + node_.attribute(i).name() + "'";
  if (!unknown.empty()) fail(ErrorCode::unsupported, "unknown attribute {}", unknown);
}

const Tensor& Call::known(size_t input) const {
  const Tensor* tensor = b.known(in(input));
  if (tensor) return *tensor;
  std::set<std::string> symbols;
  if (auto dims = b.contents(in(input)))
    for (const Dim& d : *dims)
      for (const std::string& s : d.symbols()) symbols.insert(s);
  std::string wanted;
  for (const std::string& s : symbols) wanted += (wanted.empty() ? "" : ", ") + s;
  if (!wanted.empty())
    fail(ErrorCode::unsupported, "input {} ({}) depends on the dimension {}; bind it to a number", input,
         b.describe(in(input)), wanted);
  fail(ErrorCode::unsupported,
       "input {} ({}) is computed at run time; it must be known at import (bind the graph input that it comes from)",
       input, b.describe(in(input)));
}

std::vector<int64_t> Call::known_ints(size_t input) const {
  const Tensor& t = known(input);
  if (!is_integer(t.dtype()) || t.type().rank() > 1)
    fail(ErrorCode::type_mismatch, "input {} is {}, expected integers of rank 0 or 1", input, to_string(t.type()));
  std::vector<int64_t> out;
  for (int64_t i = 0; i < t.elements(); ++i) out.push_back(t.at_int(i));
  return out;
}

std::vector<Dim> Call::known_dims(size_t input) const {
  if (b.rank(in(input)) > 1 || !is_integer(b.dtype(in(input))))
    fail(ErrorCode::type_mismatch, "input {} is {}, expected integers of rank 0 or 1", input, b.describe(in(input)));
  if (auto dims = b.contents(in(input))) return *dims;
  known(input);  // throws where not known at all
  fail(ErrorCode::limit, "input {} ({}) is too long for a list of dimensions", input, b.describe(in(input)));
}

std::vector<double> Call::known_reals(size_t input) const {
  const Tensor& t = known(input);
  std::vector<double> out;
  for (int64_t i = 0; i < t.elements(); ++i) out.push_back(t.at_double(i));
  return out;
}

std::optional<std::vector<int64_t>> Call::ints_of(std::string_view attribute, size_t input) {
  auto given = ints(attribute);
  if (!has(input)) return given;
  if (given) fail(ErrorCode::parse, "both the attribute '{}' and input {}", attribute, input);
  return known_ints(input);
}

int64_t normalise_axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    fail(ErrorCode::out_of_range, "axis {} outside [{},{}] of rank {}", axis, -rank, rank - 1, rank);
  return axis < 0 ? axis + rank : axis;
}

std::vector<int64_t> normalise_axes(std::vector<int64_t> axes, int64_t rank) {
  for (int64_t& axis : axes) axis = normalise_axis(axis, rank);
  std::sort(axes.begin(), axes.end());
  auto twice = std::adjacent_find(axes.begin(), axes.end());
  if (twice != axes.end()) fail(ErrorCode::parse, "axis {} is given twice", *twice);
  return axes;
}

}  // namespace weft::ir::onnx_import
