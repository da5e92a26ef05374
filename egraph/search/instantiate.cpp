#include "egraph/search/instantiate.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "ir/support/error.hpp"

namespace weft::egraph {

using Kind = Template::Node::Kind;
using Part = Template::Part;

TemplateProgram::TemplateProgram(const Template& source, uint32_t variables) : source_(source), variables_(variables) {
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
    if (node.kind != Kind::apply || node.children.size() > kMaxArity || first_root_ >= kMaxValues) return;
    value_of.push_back(first_root_);
    Step step{SymbolId(node.number),
              first_root_++,
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
  single_ = root_values_.size() == 1 && (steps_.empty() || root_values_[0] + 1 == first_root_);
}

// --- rows -----------------------------------------------------------------------------------------------------

/// Looks a step up for each of the rows and writes down what was found. Rows without go; returns how many are left.
/// First all keys, then all look-ups: the memory that they need is fetched at once.
size_t TemplateProgram::look_up(const Step& step, const EGraph& graph, const FrozenGraph& frozen, uint32_t** rows,
                                size_t count) const {
  if (step.count > 2) return look_up_wide(step, graph, frozen, rows, count);
  const Step s = step;
  HashCons::Probe probes[kBatch];
  for (size_t i = 0; i < count; ++i) probes[i] = graph.begin_lookup(s.key(rows[i]));
  uint32_t** left = rows;
  for (size_t i = 0; i < count; ++i) {
    const NodeId node = graph.end_lookup(s.symbol, probes[i]);
    uint32_t* const row = rows[i];
    if (!node.valid()) continue;
    row[s.place] = frozen.class_of(node).value;
    *left++ = row;
  }
  return left - rows;
}

size_t TemplateProgram::look_up_wide(const Step& step, const EGraph& graph, const FrozenGraph& frozen, uint32_t** rows,
                                     size_t count) const {
  uint32_t** left = rows;
  for (size_t i = 0; i < count; ++i) {
    Children room;
    for (uint32_t c = 0; c < step.count; ++c) room[c] = ClassId(rows[i][operands_[step.first + c]]);
    const std::span<const ClassId> children(room.data(), step.count);
    const NodeId node = graph.lookup_canonical(NodeKey(step.symbol, children), children);
    uint32_t* const row = rows[i];
    if (!node.valid()) continue;
    row[step.place] = frozen.class_of(node).value;
    *left++ = row;
  }
  return left - rows;
}

/// Takes the root from rows all of whose steps stand, and in the classes of the roots.
void TemplateProgram::mark_standing(const FrozenGraph& frozen, uint32_t* const* rows, size_t count) const {
  const size_t roots = root_values_.size();
  const uint32_t first_value = root_values_[0];
  for (size_t i = 0; i < count; ++i) {
    uint32_t *const row = rows[i], *const root = row + first_root_;
    bool stands = row[first_value] == frozen.class_of(NodeId(*root)).value;
    for (size_t r = 1; r < roots; ++r) stands &= row[root_values_[r]] == frozen.class_of(NodeId(root[r])).value;
    if (stands) *root = kNone;
  }
}

size_t TemplateProgram::sift(const EGraph& graph, const FrozenGraph& frozen, uint32_t* rows, size_t count,
                             Rows& kept) const {
  const uint32_t row_width = width(), root = first_root_;
  uint32_t* open[kBatch];  // the rows of which all that was looked up was found
  for (size_t i = 0; i < count; ++i) open[i] = rows + i * row_width;
  size_t left = count;
  for (const Step& step : steps_) left = look_up(step, graph, frozen, open, left);
  mark_standing(frozen, open, left);
  uint32_t* const first = kept.room(count * row_width);
  uint32_t* at = first;
  for (const uint32_t *row = rows, *const end = rows + count * row_width; row != end; row += row_width) {
    copy_row(at, row, row_width);
    at += row[root] != kNone ? row_width : 0;
  }
  kept.use(at - first);
  return (at - first) / row_width;
}

/// As look_up, where classes were merged and not rebuilt: ids are looked up too, and some parts are known.
size_t TemplateProgram::look_up_now(const Step& step, const EGraph& graph, uint32_t** rows, size_t count) const {
  const Step s = step;
  const auto now = [&](uint32_t value) { return graph.find(ClassId(value)).value; };
  HashCons::Probe probes[kBatch];
  if (s.count <= 2)
    for (size_t i = 0; i < count; ++i)
      if (const uint32_t* row = rows[i]; row[s.place] == kNone)
        probes[i] = graph.begin_lookup({s.symbol, now(row[s.operand[0]] & s.mask[0]) & s.mask[0],
                                        now(row[s.operand[1]] & s.mask[1]) & s.mask[1], s.count});
  uint32_t** left = rows;
  for (size_t i = 0; i < count; ++i) {
    uint32_t* const row = rows[i];
    if (row[s.place] == kNone)
      row[s.place] = (s.count <= 2 ? graph.end_lookup(s.symbol, probes[i]) : find_now(s, graph, row)).value;
    if (row[s.place] != kNone) *left++ = row;
  }
  return left - rows;
}

NodeId TemplateProgram::find_now(const Step& step, const EGraph& graph, const uint32_t* row) const {
  Children room;
  for (uint32_t c = 0; c < step.count; ++c) room[c] = graph.find(ClassId(row[operands_[step.first + c]]));
  const std::span<const ClassId> children(room.data(), step.count);
  return graph.lookup_canonical(NodeKey(step.symbol, children), children);
}

void TemplateProgram::mark_idle(const EGraph& graph, std::span<uint32_t* const> rows) const {
  uint32_t* open[kBatch];
  std::copy(rows.begin(), rows.end(), open);
  size_t left = rows.size();
  for (const Step& step : steps_) left = look_up_now(step, graph, open, left);
  for (size_t i = 0; i < left; ++i) {
    uint32_t* const row = open[i];
    if (graph.find(ClassId(row[root_values_[0]])) == graph.find(ClassId(row[first_root_]))) row[first_root_] = kNone;
  }
}

void TemplateProgram::build_row(EGraph& graph, const uint32_t* row, std::vector<ClassId>& made) const {
  uint32_t values[kMaxValues + kRowSlack];
  copy_row(values, row, first_root_);
  Children children;
  for (const Step& step : steps_) {
    const NodeKey key = key_now(graph, step, values, children);
    values[step.place] = graph.add_canonical(key, {children.data(), step.count}).value;
  }
  made.clear();
  for (uint32_t root : root_values_) made.push_back(ClassId(values[root]));
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
