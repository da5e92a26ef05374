// The facts of classes: types, constants, what is fixed.
#include <algorithm>

#include "ir/support/error.hpp"
#include "passes/language.hpp"

namespace weft::passes {

using egraph::ClassId;
using egraph::EGraph;
using egraph::NodeId;

namespace {

ir::Tensor uniform_element(const ir::Tensor& t) {
  if (!t.defined() || t.elements() == 0) return {};
  size_t size = ir::size_of(t.dtype());
  const char* bytes = static_cast<const char*>(t.data());
  for (int64_t i = 1; i < t.elements(); ++i)
    if (!std::equal(bytes, bytes + size, bytes + i * size)) return {};
  ir::Tensor element = ir::Tensor::allocate({t.dtype(), {}});
  std::copy(bytes, bytes + size, static_cast<char*>(element.mutable_data()));
  return element;
}

bool keeps_splat(ir::Op op) {
  return op == ir::Op::reshape || op == ir::Op::transpose || op == ir::Op::broadcast || op == ir::Op::slice;
}

}  // namespace

Facts TensorAnalysis::facts_of(const EGraph& graph, NodeId node) const {
  egraph::SymbolId symbol = graph.symbol(node);
  uint32_t number = graph.op(node);
  std::span<const ClassId> children = graph.children(node);
  Facts facts;
  if (number == kGetOp) {
    const Facts& tuple = facts_[graph.find(children[0]).value];
    facts.types = {tuple.types[language_.index_of(symbol)]};
    facts.fixed = tuple.fixed;
    return facts;
  }
  ir::Op op = static_cast<ir::Op>(number);
  if (op == ir::Op::input || op == ir::Op::parameter) {
    facts.types = language_.source().node(ir::NodeId(language_.attributes(symbol))).types;
    facts.fixed = op == ir::Op::parameter;
    return facts;
  }
  if (op == ir::Op::constant) {
    facts.constant = language_.constant_of(symbol);
    facts.types = {facts.constant.type()};
    facts.splat = uniform_element(facts.constant);
    facts.fixed = true;
    return facts;
  }
  std::vector<ir::TensorType> types;
  facts.fixed = !children.empty();
  for (ClassId child : children) {
    const Facts& f = facts_[graph.find(child).value];
    types.push_back(f.type());
    facts.fixed = facts.fixed && f.fixed;
  }
  facts.types = ir::infer(op, types, *language_.attributes_of(symbol));
  if (facts.fixed && facts.types.size() == 1) know_value(graph, node, facts);
  return facts;
}

/// Folds a node whose operands are known: on one element where all are uniform, on all where the result is structural.
void TensorAnalysis::know_value(const EGraph& graph, NodeId node, Facts& facts) const {
  ir::Op op = language_.op_of(graph.symbol(node));
  const ir::Attributes& attributes = *language_.attributes_of(graph.symbol(node));
  bool all_splat = true, all_constant = true;
  std::vector<ir::Tensor> splats, constants;
  for (ClassId child : graph.children(node)) {
    const Facts& f = facts_[graph.find(child).value];
    all_splat = all_splat && f.splat.defined();
    all_constant = all_constant && f.constant.defined();
    splats.push_back(f.splat);
    constants.push_back(f.constant);
  }
  if (op == ir::Op::kernel || facts.type().elements() == 0) return;
  try {  // a division by zero must not fail the compile: it stays a node and fails when (and if) it runs
    if (all_splat && keeps_splat(op))
      facts.splat = splats[0];
    else if (all_splat && ir::info(op).has(ir::kElementwise))
      facts.splat = ir::evaluate(op, splats, attributes)[0];
    else if (all_constant && ir::is_structural(facts.type()))
      facts.constant = ir::evaluate(op, constants, attributes)[0];
  } catch (const Error&) {
    return;
  }
  if (facts.constant.defined()) facts.splat = uniform_element(facts.constant);
  if (facts.splat.defined() && !facts.constant.defined() && facts.type().elements() == 1)
    facts.constant = facts.splat.reshaped(facts.type().shape);
}

void TensorAnalysis::make(EGraph& graph, NodeId node, ClassId id) {
  if (facts_.size() <= id.value) facts_.resize(std::max<size_t>(id.value + 1, facts_.size() * 2));
  facts_[id.value] = facts_of(graph, node);
}

bool TensorAnalysis::join(EGraph& graph, ClassId into, ClassId from) {
  Facts &a = facts_[into.value], &b = facts_[from.value];
  if (a.types != b.types)
    fail(ErrorCode::internal, "two types in one class: {} and {} (of {})", to_string(a.type()), to_string(b.type()),
         graph.symbols().name(graph.symbol(egraph::NodeId(from.value))));
  bool changed =
      a.fixed != b.fixed || a.constant.defined() != b.constant.defined() || a.splat.defined() != b.splat.defined();
  a.fixed = a.fixed || b.fixed;
  if (!a.constant.defined()) a.constant = b.constant;
  if (!a.splat.defined()) a.splat = b.splat;
  return changed;
}

bool TensorAnalysis::update(EGraph& graph, NodeId node, ClassId id) {
  Facts fresh = facts_of(graph, node);
  Facts& facts = facts_[id.value];
  bool changed = (fresh.fixed && !facts.fixed) || (fresh.constant.defined() && !facts.constant.defined()) ||
                 (fresh.splat.defined() && !facts.splat.defined());
  facts.fixed = facts.fixed || fresh.fixed;
  if (!facts.constant.defined()) facts.constant = fresh.constant;
  if (!facts.splat.defined()) facts.splat = fresh.splat;
  return changed;
}

/// A class of known value gets the constant as a member: whole where it is small, else one element broadcast.
void TensorAnalysis::modify(EGraph& graph, ClassId id) {
  const Facts facts = facts_[graph.find(id).value];
  if (facts.constant.defined()) {
    graph.merge(id, graph.add(language_.constant(facts.constant)), {egraph::Reason::kAnalysis});
  } else if (facts.splat.defined() && facts.type().rank() > 0) {
    ir::Tensor one = facts.splat.reshaped(ir::Shape(facts.type().rank(), ir::Dim(1)));
    ClassId element = graph.add(language_.constant(one));
    graph.merge(id,
                add_op(graph, language_, ir::Op::broadcast, std::span(&element, 1), {{"shape", facts.type().shape}}),
                {egraph::Reason::kAnalysis});
  }
}

}  // namespace weft::passes
