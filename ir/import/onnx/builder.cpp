#include "ir/import/onnx/builder.hpp"

#include <algorithm>

#include "ir/support/error.hpp"

namespace weft::ir::onnx_import {
namespace {

/// Results and operands up to this many elements are folded at import.
constexpr int64_t kFoldElements = 4096;
/// No machine holds more; sizes up to here cannot overflow when they are multiplied by an element size.
constexpr int64_t kMaxBytes = int64_t{1} << 47;

void check_size(const TensorType& type) {
  if (!is_static(type.shape)) return;
  if (element_count(type.shape) > kMaxBytes / static_cast<int64_t>(size_of(type.dtype)))
    fail(ErrorCode::limit, "a result of {} has more than 2^47 bytes", to_string(type));
}

}  // namespace

const Builder::Item& Builder::item(Ref ref) const {
  WEFT_CHECK(ref.value < items_.size(), "absent operand used");
  return items_[ref.value];
}

Ref Builder::push(Item item) {
  items_.push_back(std::move(item));
  return Ref(items_.size() - 1);
}

std::string Builder::unique_name(std::string_view wanted) {
  std::string base(wanted.empty() ? "constant" : wanted), name = base;
  for (int& count = names_[base]; count > 0;) {
    name = base + "_" + std::to_string(count);
    ++count;
    if (!names_.contains(name)) break;
  }
  names_[name] = 1;
  return name;
}

Ref Builder::input(std::string_view name, TensorType type) {
  names_[std::string(name)] = 1;
  Value value = graph_.input(name, type);
  return push({.type = std::move(type), .value = value, .name = std::string(name)});
}

Ref Builder::constant(Tensor tensor, std::string_view name) {
  return push({.type = tensor.type(), .tensor = tensor, .name = std::string(name)});
}

Ref Builder::scalar(DType dtype, double value) { return constant(filled({dtype, {}}, value)); }

Ref Builder::ints(const std::vector<int64_t>& values) {
  return constant(Tensor::from<int64_t>({static_cast<int64_t>(values.size())}, values));
}

Ref Builder::dims(std::vector<Dim> contents, bool scalar) {
  Shape shape = scalar ? Shape{} : Shape{static_cast<int64_t>(contents.size())};
  return push_contents({{DType::i64, std::move(shape)}}, {std::move(contents)})[0];
}

Refs Builder::push_contents(const std::vector<TensorType>& types, std::vector<std::vector<Dim>> contents) {
  Refs out;
  for (size_t i = 0; i < types.size(); ++i) {
    Item item{.type = types[i]};
    if (is_static(contents[i])) {
      item.tensor = Tensor::allocate(types[i]);
      for (size_t k = 0; k < contents[i].size(); ++k) {
        if (types[i].dtype == DType::i64)
          item.tensor.mutable_as<int64_t>()[k] = contents[i][k].value();
        else
          set_from_double(item.tensor, static_cast<int64_t>(k), static_cast<double>(contents[i][k].value()));
      }
    } else {
      item.dims = std::move(contents[i]);
      item.symbolic = true;
    }
    out.push_back(push(std::move(item)));
  }
  return out;
}

const Tensor* Builder::known(Ref ref) const {
  const Tensor& tensor = item(ref).tensor;
  return tensor.defined() ? &tensor : nullptr;
}

std::optional<std::vector<Dim>> Builder::contents(Ref ref) const {
  const Item& i = item(ref);
  if (i.symbolic) return i.dims;
  if (!i.tensor.defined() || i.tensor.elements() > kFoldElements) return std::nullopt;
  std::vector<Dim> out;
  for (int64_t k = 0; k < i.tensor.elements(); ++k) {
    int64_t value = 0;
    if (is_float(i.type.dtype)) {
      double real = i.tensor.at_double(k);
      if (!(real >= -0x1p53 && real <= 0x1p53) || real != static_cast<double>(static_cast<int64_t>(real)))
        return std::nullopt;
      value = static_cast<int64_t>(real);
    } else {
      value = i.tensor.at_int(k);
    }
    out.emplace_back(value);
  }
  return out;
}

std::string Builder::describe(Ref ref) const {
  const Item& i = item(ref);
  return (i.name.empty() ? "" : "'" + i.name + "' ") + to_string(i.type);
}

std::optional<std::vector<Tensor>> Builder::evaluate_known(Op op, const Refs& operands,
                                                           const Attributes& complete) const {
  std::vector<Tensor> tensors;
  std::vector<TensorType> types;
  for (Ref r : operands) {
    const Item& i = item(r);
    if (!i.tensor.defined() || i.tensor.elements() > kFoldElements) return std::nullopt;
    tensors.push_back(i.tensor);
    types.push_back(i.type);
  }
  for (const TensorType& t : infer(op, types, complete))
    if (!is_static(t.shape) || element_count(t.shape) > kFoldElements) return std::nullopt;
  try {
    return evaluate(op, tensors, complete);
  } catch (const Error&) {
    return std::nullopt;  // 1/0 on integers, an index out of range: an error of the run, if it is run at all
  }
}

Ref Builder::add(Op op, Refs operands, const Attributes& attributes, std::string_view name) {
  Refs results = add_all(op, std::move(operands), attributes, name);
  WEFT_CHECK(results.size() == 1, "{} has {} outputs", to_string(op), results.size());
  return results[0];
}

Refs Builder::add_all(Op op, Refs operands, const Attributes& attributes, std::string_view name) {
  Attributes full = complete(op, attributes);
  if (std::any_of(operands.begin(), operands.end(), [&](Ref r) { return item(r).symbolic; }))
    if (auto folded = fold_symbolic(op, operands, full)) return *folded;
  auto values = evaluate_known(op, operands, full);
  bool pure =
      values && std::all_of(values->begin(), values->end(), [](const Tensor& t) { return is_structural(t.type()); });
  if (pure) {
    Refs out;
    for (Tensor& t : *values) out.push_back(constant(std::move(t), name));
    return out;
  }
  equate_symbols(op, full, operands);
  std::vector<Value> graph_operands;
  for (Ref r : operands) graph_operands.push_back(value(r));
  return push_results(graph_.add(op, std::move(graph_operands), attributes, name), values ? &*values : nullptr, name);
}

Refs Builder::push_results(NodeId node, const std::vector<Tensor>* values, std::string_view name) {
  Refs out;
  for (uint32_t k = 0; k < graph_.node(node).types.size(); ++k) {
    const TensorType& type = graph_.node(node).types[k];
    check_size(type);
    Item result{.type = type, .value = {node, k}, .name = std::string(name)};
    if (values) result.tensor = (*values)[k];
    out.push_back(push(std::move(result)));
  }
  return out;
}

/// Different expressions for one dimension that meet in an elementwise op or a concat must be equal when the model runs
/// (only the importer of a symbolic model sees them apart): a reshape says so, and fails where they are not.
void Builder::equate_symbols(Op op, const Attributes& complete, Refs& operands) {
  bool elementwise = info(op).has(kElementwise);
  if (operands.size() < 2 || (!elementwise && op != Op::concat)) return;
  size_t most = 0;
  for (Ref r : operands) most = std::max(most, shape(r).size());
  Shape agreed(most, Dim(1));
  auto better = [](const Dim& a, const Dim& b) {  // numbers, then short expressions
    if (a.is_constant() || b.is_constant()) return a.is_constant();
    return a.text().size() < b.text().size();
  };
  for (Ref r : operands) {
    const Shape& s = shape(r);
    for (size_t i = 0; i < s.size(); ++i)
      if (Dim& best = agreed[most - s.size() + i]; !s[i].is(1) && (best.is(1) || better(s[i], best))) best = s[i];
  }
  for (Ref& r : operands) {
    Shape s = shape(r);
    for (size_t i = 0; i < s.size(); ++i) {
      bool joined =
          op == Op::concat && static_cast<int64_t>(i) ==
                                  (complete.integer("axis") + static_cast<int64_t>(most)) % static_cast<int64_t>(most);
      if (!joined && !s[i].is_constant()) s[i] = agreed[most - s.size() + i];
    }
    if (s != shape(r)) r = add(Op::reshape, {r}, {{"shape", s}});
  }
}

Value Builder::value(Ref ref) {
  if (Value v = item(ref).value; v.node.valid()) return v;
  Value v;
  if (item(ref).symbolic) {
    v = materialise_dims(Item(item(ref)));
  } else {
    const Item& i = item(ref);
    std::string name = is_structural(i.type) ? i.name : unique_name(i.name);
    v = graph_.constant(i.tensor, name);
  }
  items_[ref.value].value = v;
  return v;
}

void Builder::output(std::string_view name, Ref ref) {
  Value v = value(ref);
  graph_.output(name, v);
}

Graph Builder::finish() {
  return graph_.live_nodes().size() == graph_.size() ? std::move(graph_) : specialize(graph_, {});
}

}  // namespace weft::ir::onnx_import
