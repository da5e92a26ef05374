#include "egraph/search/matcher.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

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

namespace {
constexpr uint32_t kFewVariables = 4;  // are copied without counting
}

Matcher::Matcher(const Program& program, const SearchContext& context, const Rule& rule, const TemplateProgram* right,
                 uint32_t since)
    : program_(program),
      frozen_(*context.frozen),
      context_(context),
      rule_(rule),
      since_(since),
      right_(right && right->plain() ? right : nullptr),
      registers_(std::max(program.registers, kFewVariables)),
      nodes_(program.applications),
      slots_(program.slots) {
  if (rule.guard) reader_.emplace(program, frozen_), match_.resize(program.width());
  if (!right_) return;
  for (size_t i = 0; i < program.root_register.size(); ++i)
    roots_.push_back(program.root_register[i] != kNone ? &registers_[program.root_register[i]].value
                                                       : &nodes_[program.root_application[i]].value);
  by_form_ = program.root_may_move && !rule.guard && !context.host->may_refuse();
  width_ = right_->width(), first_root_ = right_->first_root();
  batch_ = std::make_unique_for_overwrite<uint32_t[]>(width_ * TemplateProgram::kBatch + kRowSlack);
  const Step& last = program.steps.back();
  const auto roots_at_last =
      std::count(program.root_application.begin(), program.root_application.end(), last.application);
  const bool pairs = !rule.guard && width_ <= kRowSlack && last.free_pair;
  takes_pairs_ = pairs && roots_at_last == 0;
  takes_roots_ = pairs && roots_at_last == 1 && roots_.size() == 1 && program.steps.size() == 1;
}

size_t Matcher::candidate_count(const Program& program, const FrozenGraph& frozen) {
  const Step& first = program.steps.front();
  if (first.kind == Step::Kind::every_class) return frozen.class_count();
  return first.op == Pattern::kAnyOp ? frozen.node_count() : frozen.places_of_op(first.op).size();
}

[[gnu::always_inline]] inline bool Matcher::bind(const Step& step, std::span<const ClassId> children) {
  if (step.binary) return children.size() == 2 && bind(step.pair[0], children[0]) && bind(step.pair[1], children[1]);
  if (step.any_children) return true;
  if (children.size() != step.children.size()) return false;
  const ClassId* child = children.data();
  for (const Step::Child& wanted : step.children)
    if (!bind(wanted, *child++)) return false;
  return true;
}

[[gnu::always_inline]] inline void Matcher::go_deeper(size_t index, NodeId node, bool is_new) {
  const Step& step = program_.steps[index];
  nodes_[step.application] = node;
  fresh_ += is_new;
  if (index + 1 == program_.steps.size()) {
    yield();
  } else {
    const Step& below = program_.steps[index + 1];
    if (fresh_ != 0 || !below.ends_at_old || frozen_.newest(registers_[below.from]) > since_) scan(index + 1);
  }
  fresh_ -= is_new;
}

/// Binds the node at a place, if it fits, and goes on with the next step.
[[gnu::always_inline]] inline void Matcher::accept(size_t index, const Step& step, uint32_t place, bool is_new) {
  const NodeId node = frozen_.node_at(place);
  const std::span<const ClassId> children = frozen_.children_at(place);
  if (step.own != kNone) registers_[step.own] = frozen_.class_of(node);
  if (!bind(step, children)) return;
  if (!step.asks) return go_deeper(index, node, is_new);
  const size_t mark = slots_.mark();
  if (fits(step, node, children)) go_deeper(index, node, is_new);
  slots_.undo(mark);
}

MatchBlock Matcher::run(size_t begin, size_t end, uint64_t max_bindings, uint64_t max_matches) {
  block_ = {Rows(context_.rows)};
  max_bindings_ = max_bindings, max_matches_ = max_matches;
  budget_ = 0, fresh_ = 0;
  if (right_) begin_batch();
  const Step& first = program_.steps.front();
  if (first.kind == Step::Kind::every_class) {
    run_classes(frozen_.classes().subspan(begin, end - begin));
  } else {
    const bool any = first.op == Pattern::kAnyOp, only_new = must_be_new(first);
    const uint32_t* const places = any ? nullptr : frozen_.places_of_op(first.op).data();
    if (takes_roots_) scan_roots(first, {places + begin, places + end}), begin = end;
    for (size_t i = begin; i < end && go_on(); ++i) {
      const uint32_t place = any ? static_cast<uint32_t>(i) : places[i];
      const bool is_new = root_changed_at(place) > since_;
      if (!only_new || is_new) accept(0, first, place, is_new);
    }
  }
  if (right_) sift();
  block_.bindings -= budget_;
  return std::move(block_);
}

void Matcher::run_classes(std::span<const ClassId> candidates) {
  for (ClassId id : candidates) {
    if (!go_on()) return;
    fresh_ = frozen_.newest(id) > since_;
    registers_[program_.steps.front().own] = id;
    if (program_.steps.size() == 1)
      yield();
    else
      scan(1);
  }
}

/// Called when a binding finds the budget at its end.
bool Matcher::renew_budget() {
  constexpr uint64_t kBindingsBetweenLooks = 4096;
  budget_ = 0;
  if (!block_.cut && (block_.bindings >= max_bindings_ || context_.late())) block_.cut = true, ++block_.bindings;
  if (block_.cut) return false;
  const uint64_t granted = std::min(kBindingsBetweenLooks, max_bindings_ - block_.bindings);
  block_.bindings += granted;
  budget_ = static_cast<int64_t>(granted) - 1;
  return true;
}

void Matcher::cut() {
  block_.cut = true;
  block_.bindings -= std::exchange(budget_, 0);
}

/// Whether this step has to bind a new node because no earlier one did and no later one can.
bool Matcher::must_be_new(const Step& step) const {
  if (fresh_ != 0 || step.later_unknown) return false;
  for (uint32_t reg : step.later_known)
    if (frozen_.newest(registers_[reg]) > since_) return false;
  return true;
}

void Matcher::scan(size_t index) {
  const Step& step = program_.steps[index];
  const ClassId from = registers_[step.from];
  const bool only_new = must_be_new(step), any = step.op == Pattern::kAnyOp;
  if (step.kind == Step::Kind::up) return scan_up(index, from, only_new);
  const FrozenGraph::Range range = any ? frozen_.members(from) : frozen_.members(from, step.op);
  const auto [begin, end] = range;
  if (step.binary && !step.asks && !any && index + 1 == program_.steps.size()) return scan_last(step, range, only_new);
  for (uint32_t place = begin; place != end; ++place) {
    const bool is_new = frozen_.changed_at(place) > since_;
    if (only_new && !is_new) {
      if (any) continue;
      return;  // members of one op stand newest first
    }
    if (!go_on()) return;
    accept(index, step, place, is_new);
  }
}

/// The last step, of a node of two children about which nobody asks.
void Matcher::scan_last(const Step& step, FrozenGraph::Range range, bool only_new) {
  if (only_new) {  // members of one op stand newest first
    uint32_t end = range.begin;
    while (end != range.end && frozen_.changed_at(end) > since_) ++end;
    range.end = end;
  }
  while (range.begin != range.end) {
    if (!go_on()) return;
    const auto more = static_cast<uint32_t>(std::min<int64_t>(budget_, range.end - range.begin - 1));
    budget_ -= more;
    const FrozenGraph::Range part{range.begin, range.begin + 1 + more};
    const uint32_t not_tried = takes_pairs_ ? scan_pairs(step, part) : scan_part(step, part);
    if (block_.cut) {
      block_.bindings -= not_tried;
      return;
    }
    range.begin = part.end;
  }
}

/// Returns how many were not tried where the bound on matches ended the search.
uint32_t Matcher::scan_part(const Step& step, FrozenGraph::Range range) {
  const Step::Child first = step.pair[0], second = step.pair[1];
  ClassId *const left = &registers_[first.reg], *const right = &registers_[second.reg];
  for (uint32_t place = range.begin; place != range.end; ++place) {
    const std::span<const ClassId> children = frozen_.children_at(place);
    if (children.size() != 2) continue;
    if (!first.compare)
      *left = children[0];
    else if (*left != children[0])
      continue;
    if (!second.compare)
      *right = children[1];
    else if (*right != children[1])
      continue;
    nodes_[step.application] = frozen_.node_at(place);
    if (!take_match()) return range.end - place - 1;
  }
  return 0;
}

/// The loop that most searches spend their time in: rows that differ in the two children only.
uint32_t Matcher::scan_pairs(const Step& step, FrozenGraph::Range range) {
  const uint32_t left = step.pair[0].reg, right = step.pair[1].reg, width = width_;
  std::array<uint32_t, kRowSlack> row;
  fill_row(row.data());
  uint32_t *at = next_row_, *end = batch_end_;
  for (uint32_t place = range.begin; place != range.end; ++place) {
    const std::span<const ClassId> children = frozen_.children_at(place);
    if (children.size() != 2) continue;
    std::memcpy(at, row.data(), sizeof(row));
    at[left] = children[0].value, at[right] = children[1].value;
    at += width;
    if (at != end) continue;
    next_row_ = at;
    if (!sift()) return range.end - place - 1;
    at = next_row_, end = batch_end_;
  }
  next_row_ = at;
  return 0;
}

/// All of a pattern of one step: rows that differ in the node and its two children.
void Matcher::scan_roots(const Step& step, std::span<const uint32_t> places) {
  const uint32_t left = step.pair[0].reg, right = step.pair[1].reg;
  std::array<uint32_t, kRowSlack> row;
  fill_row(row.data());
  for (const uint32_t place : places) {
    if (!go_on()) return;
    const std::span<const ClassId> children = frozen_.children_at(place);
    if (root_changed_at(place) <= since_ || children.size() != 2) continue;
    uint32_t* const at = next_row_;
    std::memcpy(at, row.data(), sizeof(row));
    at[left] = children[0].value, at[right] = children[1].value;
    at[first_root_] = frozen_.node_at(place).value;
    next_row_ += width_;
    if (next_row_ == batch_end_ && !sift()) return;
  }
}

void Matcher::scan_up(size_t index, ClassId from, bool only_new) {
  const Step& step = program_.steps[index];
  for (NodeId node : step.op == Pattern::kAnyOp ? frozen_.uses(from) : frozen_.uses(from, step.op)) {
    if (!go_on()) return;
    const uint32_t place = frozen_.place_of(node);
    const bool is_new = frozen_.changed_at(place) > since_;
    if (only_new && !is_new) continue;
    const std::span<const ClassId> children = frozen_.children_at(place);
    if (step.position < children.size() && children[step.position] == from) accept(index, step, place, is_new);
  }
}

/// Whether a node passes what is more than children and op.
bool Matcher::fits(const Step& step, NodeId node, std::span<const ClassId> children) {
  if (step.equal_to != kNone) {
    const std::span<const ClassId> same = frozen_.children(nodes_[step.equal_to]);
    if (!std::equal(children.begin(), children.end(), same.begin(), same.end())) return false;
  }
  return step.matcher == kNone || context_.host->match(step.matcher, frozen_.symbol(node), slots_);
}

/// False where the bound on matches ends the search.
bool Matcher::take_match() {
  if (rule_.guard && !guard_passes()) return true;
  if (right_) {
    fill_row(next_row_);
    next_row_ += width_;
    return next_row_ != batch_end_ || sift();
  }
  ++block_.found;
  if (block_.count >= max_matches_) return cut(), false;
  ++block_.count;
  write(block_.matches.room(program_.width()));
  block_.matches.use(program_.width());
  return true;
}

bool Matcher::guard_passes() {
  write(match_.data());
  return rule_.guard(*context_.graph, reader_->read(match_));
}

/// The row of what is bound. May write some numbers more.
void Matcher::fill_row(uint32_t* row) const {
  const ClassId* const registers = registers_.data();
  static_assert(kFewVariables == 4);
  row[0] = registers[0].value, row[1] = registers[1].value, row[2] = registers[2].value, row[3] = registers[3].value;
  for (uint32_t v = kFewVariables; v < program_.variables; ++v) row[v] = registers[v].value;
  for (uint32_t i = program_.variables; i < first_root_; ++i) row[i] = kNone;
  uint32_t* at = row + first_root_;
  for (const uint32_t* root : roots_) *at++ = *root;
}

/// A batch ends where its last row may be one match too many.
void Matcher::begin_batch() {
  const uint64_t rows = std::min<uint64_t>(TemplateProgram::kBatch - 1, max_matches_ - block_.count) + 1;
  next_row_ = batch_.get(), batch_end_ = next_row_ + rows * width_;
}

/// Takes the rows of the batch whose right side does not stand. False where the bound on matches ends the search.
bool Matcher::sift() {
  const size_t rows = static_cast<size_t>(next_row_ - batch_.get()) / width_;
  block_.found += rows;
  block_.count += right_->sift(*context_.graph, frozen_, batch_.get(), rows, block_.matches);
  const bool too_many = block_.count > max_matches_;
  if (too_many) --block_.count, block_.matches.drop_last(width_), cut();
  begin_batch();
  return !too_many;
}

void Matcher::write(uint32_t* at) const {
  for (uint32_t v = 0; v < program_.variables; ++v) *at++ = registers_[v].value;
  for (NodeId node : nodes_) *at++ = node.value;
  for (uint32_t value : slots_.values()) *at++ = value;
}

}  // namespace weft::egraph
