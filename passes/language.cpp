#include "passes/language.hpp"

#include <fmt/format.h>

#include "ir/program.hpp"
#include "ir/support/error.hpp"
#include "ir/text.hpp"

namespace weft::passes {

using egraph::ClassId;
using egraph::EGraph;
using egraph::SymbolId;

TensorLanguage::TensorLanguage(const ir::Graph& source) : source_(source) { intern_attributes({}); }

uint32_t TensorLanguage::intern_value(const ir::AttributeValue& value) {
  auto [it, fresh] = value_ids_.try_emplace(fmt::format("{}:{}", value.index(), ir::print_attribute(value)),
                                            static_cast<uint32_t>(values_.size()));
  if (fresh) values_.push_back(value);
  return it->second;
}

uint32_t TensorLanguage::intern_attributes(const ir::Attributes& attributes) {
  Record record;
  std::string key;
  for (const auto& [name, value] : attributes.entries()) {
    uint32_t id = intern_value(value);
    record.values.emplace_back(name, id);
    key += fmt::format("{}={};", name, id);
  }
  auto [it, fresh] = record_ids_.try_emplace(std::move(key), static_cast<uint32_t>(records_.size()));
  if (fresh) {
    record.attributes = std::make_shared<const ir::Attributes>(attributes);
    records_.push_back(std::move(record));
  }
  return it->second;
}

SymbolId TensorLanguage::symbol(ir::Op op, const ir::Attributes& complete) {
  return intern(op_number(op), intern_attributes(complete));
}
SymbolId TensorLanguage::leaf(ir::NodeId node) { return intern(op_number(source_.node(node).op), node.value); }
SymbolId TensorLanguage::get(uint32_t index) { return intern(kGetOp, index); }

SymbolId TensorLanguage::constant(const ir::Tensor& tensor) {
  auto [it, fresh] = constant_ids_.try_emplace(ir::print_tensor(tensor), static_cast<uint32_t>(constants_.size()));
  if (fresh) constants_.push_back(tensor);
  return intern(op_number(ir::Op::constant), it->second);
}

uint32_t TensorLanguage::attribute_value(SymbolId id, std::string_view attribute) const {
  for (const auto& [name, value] : attribute_values(id))
    if (name == attribute) return value;
  return egraph::kNone;
}

std::string TensorLanguage::name(SymbolId id) const {
  uint32_t number = op(id);
  if (number == kGetOp) return fmt::format("get[{}]", attributes(id));
  switch (static_cast<ir::Op>(number)) {
    case ir::Op::input:
    case ir::Op::parameter: {
      const ir::Node& node = source_.node(ir::NodeId(attributes(id)));
      return fmt::format("{} {}", to_string(node.op), node.name);
    }
    case ir::Op::constant:
      return ir::print_tensor(constant_of(id));
    case ir::Op::kernel: {
      const ir::Attributes& a = *attributes_of(id);
      return fmt::format("{}.{} {}", a.text("backend"), a.text("kernel"), a.program("program")->text());
    }
    default:
      break;
  }
  const ir::Attributes& a = *attributes_of(id);
  return a.empty() ? std::string(to_string(op_of(id)))
                   : fmt::format("{}{{{}}}", to_string(op_of(id)), ir::print_attributes(a));
}

ClassId add_op(EGraph& graph, TensorLanguage& language, ir::Op op, std::span<const ClassId> children,
               const ir::Attributes& attributes) {
  return graph.add(language.symbol(op, ir::complete(op, attributes)), children);
}

Inserted insert(const ir::Graph& source, EGraph& graph, TensorLanguage& language) {
  Inserted inserted;
  inserted.class_of_node.resize(source.size());
  inserted.e_node.resize(source.size());
  auto class_of = [&](ir::Value v) {
    ClassId id = inserted.class_of_node[v.node.value];
    return source.node(v.node).types.size() == 1 ? id : graph.add(language.get(v.index), std::span(&id, 1));
  };
  std::vector<ClassId> children;
  for (ir::NodeId id : source.live_nodes()) {
    const ir::Node& node = source.node(id);
    children.clear();
    for (ir::Value v : node.operands) children.push_back(class_of(v));
    SymbolId symbol;
    if (node.op == ir::Op::input || node.op == ir::Op::parameter)
      symbol = language.leaf(id);
    else if (node.op == ir::Op::constant)
      symbol = language.constant(node.tensor);
    else
      symbol = language.symbol(node.op, *node.attributes);
    const egraph::NodeId made = graph.add_node(symbol, children);
    inserted.e_node[id.value] = made;
    inserted.class_of_node[id.value] = graph.class_of(made);
  }
  for (const ir::Output& output : source.outputs()) inserted.outputs.push_back(class_of(output.value));
  return inserted;
}

}  // namespace weft::passes
