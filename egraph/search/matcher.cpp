#include "egraph/search/matcher.hpp"

#include <algorithm>

namespace weft::egraph {

// --- MatchReader ----------------------------------------------------------------------------------------------

MatchReader::MatchReader(const Program& program, const FrozenGraph& frozen)
    : program_(program),
      frozen_(frozen),
      classes_(program.variables),
      root_classes_(program.root_register.size()),
      nodes_(program.applications),
      root_nodes_(program.root_register.size()),
      sequence_nodes_(program.sequence_application.size()) {
  substitution_ = {classes_, nodes_, {}, root_classes_, root_nodes_, sequence_nodes_, &frozen};
}

void MatchReader::roots(std::span<const uint32_t> match, std::vector<NodeId>& roots) const {
  roots.resize(root_nodes_.size());
  for (size_t i = 0; i < roots.size(); ++i)
    roots[i] = NodeId(program_.root_register[i] != kNone ? match[program_.root_register[i]]
                                                         : match[program_.variables + program_.root_application[i]]);
}

const Substitution& MatchReader::read(std::span<const uint32_t> match) {
  const uint32_t* at = match.data();
  for (ClassId& id : classes_) id = ClassId(*at++);
  for (NodeId& node : nodes_) node = NodeId(*at++);
  substitution_.attributes = {at, program_.slots};
  roots(match, root_nodes_);
  for (size_t i = 0; i < root_nodes_.size(); ++i) root_classes_[i] = frozen_.class_of(root_nodes_[i]);
  for (size_t i = 0; i < sequence_nodes_.size(); ++i) sequence_nodes_[i] = nodes_[program_.sequence_application[i]];
  return substitution_;
}

// --- Matcher --------------------------------------------------------------------------------------------------

Matcher::Matcher(const Program& program, const SearchContext& context, const Rule& rule, const TemplateProgram* right,
                 uint32_t since)
    : program_(program),
      frozen_(*context.frozen),
      context_(context),
      rule_(rule),
      since_(since),
      right_(right && right->plain() ? right : nullptr),
      registers_(program.registers),
      roots_(program.root_register.size()),
      nodes_(program.applications),
      slots_(program.slots),
      reader_(program, frozen_),
      match_(program.width()) {}

size_t Matcher::candidate_count(const Program& program, const FrozenGraph& frozen) {
  const Step& first = program.steps.front();
  if (first.kind == Step::Kind::every_class) return frozen.class_count();
  return first.op == Pattern::kAnyOp ? frozen.node_count() : frozen.nodes_of_op(first.op).size();
}

MatchBlock Matcher::run(size_t begin, size_t end, uint64_t max_bindings, uint64_t max_matches) {
  block_ = {};
  max_bindings_ = max_bindings, max_matches_ = max_matches;
  const Step& first = program_.steps.front();
  if (first.kind == Step::Kind::every_class) {
    for (ClassId id : frozen_.classes().subspan(begin, end - begin)) {
      if (stopped()) break;
      fresh_ = frozen_.newest(id) > since_;
      registers_[first.own] = id;
      next(0);
    }
    return std::move(block_);
  }
  const std::span<const NodeId> all = first.op == Pattern::kAnyOp ? frozen_.nodes() : frozen_.nodes_of_op(first.op);
  fresh_ = 0;
  const bool only_new = must_be_new(first);
  for (NodeId node : all.subspan(begin, end - begin)) {
    if (stopped()) break;
    if (only_new && frozen_.changed(node) <= since_) continue;
    try_node(0, node);
  }
  return std::move(block_);
}

bool Matcher::stopped() {
  if (++block_.bindings > max_bindings_) block_.cut = true;
  if ((block_.bindings & 4095) == 0 && context_.late()) block_.cut = true;
  return block_.cut;
}

void Matcher::next(size_t step) {
  if (++step == program_.steps.size())
    yield();
  else
    scan(step);
}

/// Whether this step has to bind a new node because no earlier one did and no later one can.
bool Matcher::must_be_new(const Step& step) const {
  return fresh_ == 0 && !step.later_unknown &&
         std::none_of(step.later_known.begin(), step.later_known.end(),
                      [&](uint32_t reg) { return frozen_.newest(registers_[reg]) > since_; });
}

void Matcher::scan(size_t index) {
  const Step& step = program_.steps[index];
  const ClassId from = registers_[step.from];
  const bool only_new = must_be_new(step);
  if (step.kind == Step::Kind::down) {
    if (only_new && frozen_.newest(from) <= since_) return;
    scan_list<false>(index, step.op == Pattern::kAnyOp ? frozen_.nodes(from) : frozen_.nodes(from, step.op), only_new);
  } else {
    scan_list<true>(index, step.op == Pattern::kAnyOp ? frozen_.uses(from) : frozen_.uses(from, step.op), only_new);
  }
}

template <bool kUp>
void Matcher::scan_list(size_t index, std::span<const NodeId> candidates, bool only_new) {
  const Step& step = program_.steps[index];
  for (NodeId node : candidates) {
    if (stopped()) return;
    if (only_new && frozen_.changed(node) <= since_) {
      if (kUp || step.op == Pattern::kAnyOp) continue;
      return;  // members of one op stand newest first
    }
    if constexpr (kUp) {
      const std::span<const ClassId> children = frozen_.children(node);
      if (step.position >= children.size() || children[step.position] != registers_[step.from]) continue;
    }
    try_node(index, node);
  }
}

void Matcher::try_node(size_t index, NodeId node) {
  const Step& step = program_.steps[index];
  const std::span<const ClassId> children = frozen_.children(node);
  if (!step.any_children && children.size() != step.children.size()) return;
  if (step.own != kNone) registers_[step.own] = frozen_.class_of(node);
  if (!bind_children(step, children)) return;
  if (step.equal_to != kNone) {
    const std::span<const ClassId> same = frozen_.children(nodes_[step.equal_to]);
    if (!std::equal(children.begin(), children.end(), same.begin(), same.end())) return;
  }
  const size_t mark = slots_.mark();
  if (step.matcher != kNone && !context_.host->match(step.matcher, frozen_.symbol(node), slots_)) {
    slots_.undo(mark);
    return;
  }
  nodes_[step.application] = node;
  const bool is_new = frozen_.changed(node) > since_;
  fresh_ += is_new;
  next(index);
  fresh_ -= is_new;
  slots_.undo(mark);
}

bool Matcher::bind_children(const Step& step, std::span<const ClassId> children) {
  for (size_t i = 0; i < step.children.size(); ++i) {
    const Step::Child& child = step.children[i];
    if (!child.compare)
      registers_[child.reg] = children[i];
    else if (registers_[child.reg] != children[i])
      return false;
  }
  return true;
}

void Matcher::yield() {
  if (fresh_ == 0 && since_ != 0) return;
  if (rule_.guard) {
    write(match_.data());
    if (!rule_.guard(*context_.graph, reader_.read(match_))) return;
  }
  ++block_.found;
  if (right_ && stands()) return;
  if (block_.count >= max_matches_) {
    block_.cut = true;
    return;
  }
  ++block_.count;
  const size_t end = block_.matches.size();
  block_.matches.resize(end + program_.width());
  write(block_.matches.data() + end);
}

bool Matcher::stands() {
  for (size_t i = 0; i < roots_.size(); ++i)
    roots_[i] = program_.root_register[i] != kNone ? registers_[program_.root_register[i]]
                                                   : frozen_.class_of(nodes_[program_.root_application[i]]);
  return right_->stands(*context_.graph, frozen_, registers_.data(), roots_.data());
}

void Matcher::write(uint32_t* at) const {
  for (uint32_t v = 0; v < program_.variables; ++v) *at++ = registers_[v].value;
  for (NodeId node : nodes_) *at++ = node.value;
  for (uint32_t value : slots_.values()) *at++ = value;
}

}  // namespace weft::egraph
