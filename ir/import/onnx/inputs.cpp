// Types of the model's inputs: symbols of their dimensions, and what the options bind.
#include <algorithm>
#include <cctype>
#include <set>

#include "ir/import/onnx/lower.hpp"
#include "ir/support/error.hpp"

namespace weft::ir::onnx_import {
namespace {

/// Names of symbols are identifiers: other characters become `_`; two names that would fall together stay apart.
class SymbolNames {
 public:
  std::string name(const std::string& original) {
    if (auto it = names_.find(original); it != names_.end()) return it->second;
    std::string base;
    for (unsigned char c : original) base += std::isalnum(c) || c == '_' ? static_cast<char>(c) : '_';
    if (base.empty() || std::isdigit(static_cast<unsigned char>(base[0]))) base = "d" + base;
    std::string unique = base;
    for (int i = 1; used_.contains(unique); ++i) unique = base + "_" + std::to_string(i);
    used_.insert(unique);
    return names_[original] = unique;
  }
  const std::map<std::string, std::string>& names() const { return names_; }

 private:
  std::map<std::string, std::string> names_;
  std::set<std::string> used_;
};

struct Declared {
  std::string name;
  DType dtype;
  std::vector<Dim> shape;
  bool has_shape;
};

Dim declared_dim(const ::onnx::TensorShapeProto::Dimension& dim, const std::string& input, int axis,
                 SymbolNames& symbols) {
  if (dim.has_dim_value() && dim.dim_value() >= 0) return dim.dim_value();
  if (dim.has_dim_value() && dim.dim_value() < -1)
    fail(ErrorCode::parse, "axis {} has dimension {}, expected 0 or more (or -1: unknown)", axis, dim.dim_value());
  bool named = dim.has_dim_param() && !dim.dim_param().empty();
  return Dim::symbol(symbols.name(named ? dim.dim_param() : input + "_" + std::to_string(axis)));
}

Declared declared_input(const ::onnx::ValueInfoProto& input, SymbolNames& symbols) try {
  if (input.name().empty()) fail(ErrorCode::parse, "a graph input has no name");
  if (!input.type().has_tensor_type())
    fail(ErrorCode::unsupported, "it is not a tensor (sequence, optional, map or sparse tensor)");
  const auto& type = input.type().tensor_type();
  Declared d{input.name(), dtype_of(type.elem_type()), {}, type.has_shape()};
  for (int axis = 0; axis < type.shape().dim_size(); ++axis)
    d.shape.push_back(declared_dim(type.shape().dim(axis), input.name(), axis, symbols));
  return d;
} catch (const Error& e) {
  throw e.within("graph input '" + input.name() + "'");
}

/// Binds the symbols of a declared shape to the sizes given; a declared number must be met.
void bind_shape(Declared& d, const std::vector<int64_t>& given, std::string_view source, DimBindings& bindings) {
  if (!d.has_shape) {
    d.shape = to_shape(given);
    d.has_shape = true;
  }
  std::string both = to_string(to_shape(given)) + " against " + to_string(d.shape);
  if (given.size() != d.shape.size())
    fail(ErrorCode::invalid_argument, "{} of input '{}' has rank {}, expected {}: {}", source, d.name, given.size(),
         d.shape.size(), both);
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] < 0)
      fail(ErrorCode::invalid_argument, "{} of input '{}' has the dimension {}", source, d.name, given[i]);
    if (d.shape[i].is_constant()) {
      if (!d.shape[i].is(given[i]))
        fail(ErrorCode::invalid_argument, "{} of input '{}' contradicts the model: {}", source, d.name, both);
      continue;
    }
    auto [it, fresh] = bindings.emplace(d.shape[i].text(), given[i]);
    if (!fresh && it->second != given[i])
      fail(ErrorCode::invalid_argument, "{} of input '{}' makes dimension {} {}, but it is already {}", source, d.name,
           d.shape[i].text(), given[i], it->second);
  }
}

std::string list_names(const std::vector<Declared>& inputs) {
  std::string out;
  for (const Declared& d : inputs) out += (out.empty() ? "'" : ", '") + d.name + "'";
  return out.empty() ? "none" : out;
}

DimBindings bind_options(std::vector<Declared>& inputs, const OnnxOptions& options, const SymbolNames& symbols,
                         const std::set<std::string>& initializers) {
  DimBindings bindings;
  for (const auto& [name, size] : options.dims) {
    auto symbol = symbols.names().find(name);
    std::string target = symbol != symbols.names().end() ? symbol->second : name;
    bool exists =
        std::any_of(symbols.names().begin(), symbols.names().end(), [&](const auto& s) { return s.second == target; });
    if (!exists) {
      std::string known;
      for (const auto& s : symbols.names()) known += (known.empty() ? "" : ", ") + s.second;  // as types show them
      fail(ErrorCode::invalid_argument, "no input has a dimension '{}'; there are: {}", name,
           known.empty() ? "none" : known);
    }
    if (size < 0) fail(ErrorCode::invalid_argument, "dimension '{}' cannot be {}", name, size);
    bindings[target] = size;
  }
  auto input_named = [&](const std::string& name, std::string_view what) -> Declared& {
    auto it = std::find_if(inputs.begin(), inputs.end(), [&](const Declared& d) { return d.name == name; });
    if (it == inputs.end())
      fail(ErrorCode::invalid_argument, "{} for '{}', which is not an input; the inputs are {}", what, name,
           list_names(inputs));
    return *it;
  };
  for (const auto& [name, shape] : options.shapes)
    bind_shape(input_named(name, "a shape"), shape, "the shape", bindings);
  for (const auto& [name, tensor] : options.binds) {
    if (initializers.contains(name)) continue;
    Declared& d = input_named(name, "a value");
    if (d.dtype != tensor.dtype())
      fail(ErrorCode::invalid_argument, "input '{}' is of {}, bound to {}", name, to_string(d.dtype),
           to_string(tensor.type()));
    bind_shape(d, to_ints(tensor.shape()), "the value", bindings);
  }
  return bindings;
}

}  // namespace

std::vector<std::pair<std::string, TensorType>> input_types(const ::onnx::GraphProto& graph,
                                                            const OnnxOptions& options) {
  std::set<std::string> initializers;
  for (const auto& tensor : graph.initializer()) initializers.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) initializers.insert(tensor.values().name());
  SymbolNames symbols;
  std::vector<Declared> inputs;
  for (const auto& input : graph.input())
    if (!initializers.contains(input.name())) inputs.push_back(declared_input(input, symbols));
  DimBindings bindings = bind_options(inputs, options, symbols, initializers);
  std::vector<std::pair<std::string, TensorType>> out;
  for (Declared& d : inputs) {
    if (!d.has_shape)
      fail(ErrorCode::invalid_argument,
           "input '{}' has no shape in the model; give one (for example --shape {}=1x3x224x224)", d.name, d.name);
    for (Dim& dim : d.shape) dim = dim.substitute(bindings);
    out.emplace_back(d.name, TensorType{d.dtype, std::move(d.shape)});
  }
  return out;
}

}  // namespace weft::ir::onnx_import
