#include "egraph/search/instantiate.hpp"

#include <algorithm>

#include "ir/support/error.hpp"

namespace weft::egraph {

using Kind = Template::Node::Kind;
using Part = Template::Part;

TemplateProgram::TemplateProgram(const Template& source, uint32_t registers) : source_(source), registers_(registers) {
  const std::vector<Template::Node>& parts = source_.parts();
  body_.resize(parts.size()), lists_.resize(parts.size()), values_.resize(parts.size());
  for (Part part = 0; part < parts.size(); ++part) {
    const Template::Node& node = parts[part];
    if (!node.varies) once_.push_back(part);
    if (node.kind != Kind::map) continue;
    std::vector<char> needed(parts.size());
    needed[node.children[0]] = 1;
    for (Part p = node.children[0] + 1; p-- > 0;) {
      if (!needed[p] || !parts[p].varies) continue;
      body_[part].push_back(p);
      for (Part child : parts[p].children) needed[child] = 1;
    }
    std::reverse(body_[part].begin(), body_[part].end());
  }
  plan_plain();
}

void TemplateProgram::plan_plain() {
  std::vector<uint32_t> value_of;  // per part
  for (const Template::Node& node : source_.parts()) {
    if (node.kind == Kind::variable) {
      value_of.push_back(node.number);
      continue;
    }
    if (node.kind != Kind::apply || node.children.size() > kMaxArity || steps_.size() == kMaxSteps) return;
    value_of.push_back(registers_ + static_cast<uint32_t>(steps_.size()));
    Step step{SymbolId(node.number),
              static_cast<uint32_t>(node.children.size()),
              static_cast<uint32_t>(operands_.size()),
              {},
              {}};
    for (size_t i = 0; i < std::min<size_t>(step.count, 2); ++i)
      step.operand[i] = value_of[node.children[i]], step.mask[i] = ~0u;
    for (Part child : node.children) operands_.push_back(value_of[child]);
    steps_.push_back(step);
  }
  for (Part root : source_.roots()) root_values_.push_back(value_of[root]);
  plain_ = true;
  single_ = root_values_.size() == 1 && (steps_.empty() || root_values_[0] + 1 == value_count());
}

std::span<const ClassId> TemplateProgram::children_of(const Step& step, const ClassId* values, Children& room) const {
  for (uint32_t i = 0; i < step.count; ++i) room.at[i] = values[operands_[step.first + i]];
  return {room.at, step.count};
}

NodeId TemplateProgram::lookup_wide(const EGraph& graph, const Step& step, const ClassId* values) const {
  Children room;
  const std::span<const ClassId> children = children_of(step, values, room);
  return graph.lookup_canonical(NodeKey(step.symbol, children), children);
}

ClassId TemplateProgram::add(EGraph& graph, const Step& step, const ClassId* values) const {
  Children room;
  const std::span<const ClassId> children = children_of(step, values, room);
  return graph.find(EGraph::class_alias(graph.add_canonical(NodeKey(step.symbol, children), children)));
}

/// Adds what the last step stands for to the class of the root.
bool TemplateProgram::append(EGraph& graph, const ClassId* values, ClassId root, Reason reason) const {
  Children room;
  const std::span<const ClassId> children = children_of(steps_.back(), values, room);
  return graph.add_to_class(root, NodeKey(steps_.back().symbol, children), children, reason);
}

void TemplateProgram::build_plain(EGraph& graph, ClassId* values, std::vector<ClassId>& made) const {
  ClassId* value = values + registers_;
  Children room;
  for (const Step& step : steps_)
    *value++ = EGraph::class_alias(graph.add_node(step.symbol, children_of(step, values, room)));
  made.clear();
  for (uint32_t root : root_values_) made.push_back(values[root]);
}

std::optional<Refusal> TemplateProgram::build(EGraph& graph, RuleHost* host, const Substitution& match,
                                              std::vector<ClassId>& made) {
  for (Part part : once_) {
    std::optional<Refusal> refusal = source_.parts()[part].kind == Kind::map
                                         ? evaluate_map(part, graph, host, match)
                                         : evaluate(part, graph, host, match, kNone, ClassId());
    if (refusal) return refusal;
  }
  made.clear();
  for (Part root : source_.roots()) made.push_back(values_[root]);
  return std::nullopt;
}

std::optional<Refusal> TemplateProgram::evaluate_map(Part map, EGraph& graph, RuleHost* host,
                                                     const Substitution& match) {
  const Template::Node& node = source_.parts()[map];
  lists_[map].clear();
  const std::span<const ClassId> elements = match.sequence(node.number);
  for (uint32_t i = 0; i < elements.size(); ++i) {
    for (Part part : body_[map])
      if (auto refusal = evaluate(part, graph, host, match, i, elements[i])) return refusal;
    lists_[map].push_back(values_[node.children[0]]);
  }
  return std::nullopt;
}

void TemplateProgram::gather_children(const Template::Node& node, const Substitution& match,
                                      std::vector<ClassId>& children) const {
  children.clear();
  for (Part child : node.children) {
    const Template::Node& c = source_.parts()[child];
    if (c.kind == Kind::map) {
      children.insert(children.end(), lists_[child].begin(), lists_[child].end());
    } else if (c.kind == Kind::splice) {
      const std::span<const ClassId> all = match.sequence(c.number);
      children.insert(children.end(), all.begin(), all.end());
    } else {
      children.push_back(values_[child]);
    }
  }
}

std::optional<Refusal> TemplateProgram::evaluate(Part part, EGraph& graph, RuleHost* host, const Substitution& match,
                                                 uint32_t element, ClassId element_class) {
  const Template::Node& node = source_.parts()[part];
  switch (node.kind) {
    case Kind::variable:
      values_[part] = match.classes[node.number];
      break;
    case Kind::element:
      values_[part] = element_class;
      break;
    case Kind::splice:
    case Kind::map:
      break;
    case Kind::apply:
      gather_children(node, match, children_);
      values_[part] = EGraph::class_alias(graph.add_node(SymbolId(node.number), children_));
      break;
    case Kind::build: {
      gather_children(node, match, children_);
      BuildResult symbol = host->build(node.number, graph, match, {children_, element});
      if (Refusal* refusal = std::get_if<Refusal>(&symbol)) return std::move(*refusal);
      values_[part] = EGraph::class_alias(graph.add_node(std::get<SymbolId>(symbol), children_));
      break;
    }
  }
  return std::nullopt;
}

}  // namespace weft::egraph
