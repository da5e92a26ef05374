#include "egraph/search/phase_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ir/support/error.hpp"

namespace weft::egraph {

namespace {
constexpr size_t kReasonsKept = 4;

/// Sets the graph's limits for the life of a phase.
class LimitGuard {
 public:
  LimitGuard(EGraph& graph, const Limits& limits)
      : graph_(graph), nodes_(graph.node_limit()), bytes_(graph.byte_limit()) {
    graph.set_limits(limits.nodes ? limits.nodes : nodes_, limits.bytes ? limits.bytes : bytes_);
  }
  ~LimitGuard() { graph_.set_limits(nodes_, bytes_); }

 private:
  EGraph& graph_;
  const size_t nodes_, bytes_;
};
}  // namespace

PhaseRun::PhaseRun(EGraph& graph, std::vector<CompiledRule>& rules, RuleHost& host, const Phase& phase)
    : graph_(graph), host_(host), phase_(phase) {
  report_.name = phase.name;
  for (uint32_t index : phase.rules) {
    Backoff backoff = phase.backoff;
    for (const auto& [rule, own] : phase.rule_backoff)
      if (rule == index) backoff = own;
    states_.push_back({&rules[index], index, backoff});
    needs_uses_ |= !rules[index].plain() || rules[index].rule->guard || rules[index].program.climbs();
    RuleReport rule_report;
    rule_report.name = rules[index].rule->name, rule_report.origin = rules[index].rule->origin;
    report_.rules.push_back(std::move(rule_report));
  }
}

double PhaseRun::seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

PhaseReport PhaseRun::run() {
  const Clock::time_point start = Clock::now();
  if (phase_.limits.milliseconds) context_.deadline = start + std::chrono::milliseconds(phase_.limits.milliseconds);
  const LimitGuard guard(graph_, phase_.limits);
  graph_.rebuild();
  while (iterate()) {
  }
  report_.stop = stop_.value_or(StopReason::saturated);
  report_.seconds = seconds_since(start);
  return std::move(report_);
}

bool PhaseRun::iterate() {
  if (phase_.limits.iterations && report_.iterations.size() >= phase_.limits.iterations)
    return stop_by(StopReason::iterations), false;
  now_ = {};
  held_back_ = false;
  const uint64_t version = graph_.version();
  Clock::time_point start = Clock::now();
  frozen_.take(graph_, needs_uses_);
  graph_.next_epoch();
  context_.frozen = &frozen_, context_.graph = &graph_, context_.host = &host_, context_.rows = &rows_;
  std::vector<RuleSearch> searches = make_searches();
  SearchLimits limits;
  if (phase_.limits.fuel) limits.fuel = phase_.limits.fuel - std::min(report_.fuel, phase_.limits.fuel);
  if (phase_.limits.bytes) limits.bytes = phase_.limits.bytes - std::min(graph_.bytes(), phase_.limits.bytes);
  const StopReason cut = search_rules(searches, context_, limits);
  if (cut != StopReason::saturated) stop_by(cut);
  settle_searches(searches);
  now_.search_seconds = seconds_since(start), start = Clock::now();
  apply_all(frozen_, searches);
  now_.apply_seconds = seconds_since(start), start = Clock::now();
  const size_t nodes_made = graph_.id_bound();
  try {
    now_.congruences = graph_.rebuild();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::limit || !graph_.full())
      throw error.within(fmt::format("rebuild in phase {}", phase_.name));
    hit_room_limit();  // the analysis wanted to add a node
    graph_.set_limits(0, 0);
    graph_.rebuild();
  }
  now_.rebuild_seconds = seconds_since(start);
  note_growth(Reason::kAnalysis, nodes_made);
  now_.id_bound = graph_.id_bound(), now_.merge_records = graph_.merge_records().size();
  now_.nodes = graph_.node_count(), now_.classes = graph_.class_count(), now_.bytes = graph_.bytes();
  report_.iterations.push_back(now_);
  if (context_.late()) stop_by(StopReason::time);
  if (stop_) return false;
  return graph_.version() != version || (held_back_ && lift_bans());
}

std::vector<RuleSearch> PhaseRun::make_searches() {
  std::vector<RuleSearch> searches;
  for (RuleState& state : states_) {
    if (state.rule->native()) continue;
    if (report_.iterations.size() < state.banned_until) {
      held_back_ = true;
      continue;
    }
    RuleSearch search;
    search.rule = state.rule;
    search.since = state.rule->rule->incremental ? state.since : 0;
    const size_t banned = report_.rules[&state - states_.data()].times_banned;
    if (state.backoff.match_limit)
      search.max_matches = uint64_t{state.backoff.match_limit} << std::min<size_t>(banned, 32);
    searches.push_back(std::move(search));
  }
  return searches;
}

/// Counts what was found, bans who found too much, and notes up to where each rule has searched.
void PhaseRun::settle_searches(std::vector<RuleSearch>& searches) {
  for (const RuleSearch& search : searches) {
    size_t slot = 0;
    while (states_[slot].rule != search.rule) ++slot;
    RuleState& state = states_[slot];
    RuleReport& rule = report_.rules[slot];
    rule.bindings += search.bindings;
    now_.fuel += search.bindings;
    if (search.too_many) {
      const size_t length = state.backoff.ban_length << std::min<uint32_t>(rule.times_banned, 32);
      state.banned_until = report_.iterations.size() + 1 + length;
      ++rule.times_banned;
      held_back_ = true;
      continue;
    }
    rule.matches += search.found;
    now_.matches += search.found;
    if (search.cut)
      rule.cut = held_back_ = true;
    else
      state.since = context_.frozen->epoch();
  }
}

/// Lets the rules run again whose ban ends first; the iterations between would change nothing.
bool PhaseRun::lift_bans() {
  const size_t next = report_.iterations.size();
  size_t first = SIZE_MAX;
  for (const RuleState& state : states_)
    if (state.banned_until > next) first = std::min(first, state.banned_until);
  if (first == SIZE_MAX) return true;
  const size_t skip = first - next;
  for (RuleState& state : states_)
    if (state.banned_until > next) state.banned_until -= skip;
  return true;
}

// --- applying -------------------------------------------------------------------------------------------------

void PhaseRun::apply_all(const FrozenGraph& frozen, std::vector<RuleSearch>& searches) {
  nodes_made_at_start_ = graph_.id_bound();
  auto search = searches.begin();
  for (size_t slot = 0; slot < states_.size(); ++slot) {
    const RuleState& state = states_[slot];
    const size_t before = graph_.id_bound();
    try {
      if (state.rule->native()) {
        apply_native(slot, frozen);
      } else if (search != searches.end() && search->rule == state.rule) {
        if (!search->too_many) apply_rule(slot, frozen, *search);
        ++search;
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::limit || !graph_.full())
        throw error.within(fmt::format("rule {} ({})", state.rule->rule->name, state.rule->rule->origin));
      hit_room_limit();
      report_.rules[slot].cut = held_back_ = true;
    }
    report_.rules[slot].nodes_grown += graph_.id_bound() - before;
    note_growth(state.index, before);
  }
  now_.fuel += graph_.id_bound() - nodes_made_at_start_;
  report_.fuel += now_.fuel;
}

void PhaseRun::note_growth(uint32_t rule, size_t before) {
  if (graph_.id_bound() == before) return;
  report_.growth.push_back({static_cast<uint32_t>(report_.iterations.size()), rule, static_cast<uint32_t>(before),
                            static_cast<uint32_t>(graph_.id_bound())});
}

void PhaseRun::apply_rule(size_t slot, const FrozenGraph& frozen, const RuleSearch& search) {
  if (search.rule->plain()) return apply_plain(slot, search);
  MatchReader reader(search.rule->program, frozen);
  for_each_match(slot, search, [&](const uint32_t* match) {
    apply_match(slot, reader, {match, search.rule->width()});
  });
}

template <typename Apply>
void PhaseRun::for_each_match(size_t slot, const RuleSearch& search, Apply&& apply) {
  Waves waves(search.blocks, search.rule->width());
  for (std::span<uint32_t* const> wave = waves.next(); !wave.empty(); wave = waves.next())
    for (const uint32_t* row : wave) {
      if (ends_here(slot)) return;
      apply(row);
    }
}

/// Whether nobody has to be asked and nothing to be told before a right side becomes a member of the root's class.
bool PhaseRun::merges_directly() const { return !graph_.analysis() && !host_.may_refuse(); }

/// False where the host refused.
bool PhaseRun::merge_unless_refused(size_t slot, ClassId root, ClassId made) {
  if (host_.may_refuse())
    if (std::optional<Refusal> refusal = host_.can_merge(graph_, root, made))
      return refuse(slot, std::move(refusal->reason)), false;
  graph_.merge(root, made, {states_[slot].index});
  ++now_.merges;
  return true;
}

void PhaseRun::apply_plain(size_t slot, const RuleSearch& search) {
  const TemplateProgram& right = *search.rule->right;
  const Reason reason{states_[slot].index};
  if (!right.single() || graph_.records_merges()) {
    return for_each_match(slot, search, [&](const uint32_t* row) {
      const size_t nodes = graph_.id_bound();
      right.build_row(graph_, row, made_);
      roots_.clear();
      for (uint32_t i = right.first_root(); i < right.width(); ++i) roots_.push_back(NodeId(row[i]));
      merge_made(slot, nodes);
    });
  }
  if (merges_directly())
    apply_in_waves(slot, search, [&](const uint32_t* row) {
      now_.merges += right.merge_row(graph_, row, reason);
      return true;
    });
  else
    apply_in_waves(slot, search, [&](const uint32_t* row) {
      const ClassId root = graph_.find(ClassId(row[right.first_root()]));
      const ClassId made = graph_.find(right.complete_row(graph_, row));
      return root == made || merge_unless_refused(slot, root, made);
    });
}

/// Many matches of one iteration say what others said before them. Where most of a wave did, those of the next that
/// stand by now are told apart first, together.
template <typename Apply>
void PhaseRun::apply_in_waves(size_t slot, const RuleSearch& search, Apply&& apply) {
  const TemplateProgram& right = *search.rule->right;
  bool& mostly_idle = states_[slot].mostly_idle;
  uint64_t& applied = report_.rules[slot].applied;
  Waves waves(search.blocks, search.rule->width());
  for (std::span<uint32_t* const> wave = waves.next(); !wave.empty(); wave = waves.next()) {
    if (mostly_idle) right.mark_idle(graph_, wave);
    const uint64_t before = applied;
    for (const uint32_t* row : wave) {
      if (right.marked_idle(row)) continue;
      if (ends_here(slot)) return;
      const uint64_t version = graph_.version();
      applied += apply(row) && graph_.version() != version;
    }
    mostly_idle = 2 * (applied - before) < wave.size();
  }
}

void PhaseRun::apply_match(size_t slot, MatchReader& reader, std::span<const uint32_t> match) {
  const size_t nodes = graph_.id_bound();
  if (std::optional<Refusal> refusal = make(states_[slot], reader, match))
    return refuse(slot, std::move(refusal->reason));
  reader.roots(match, roots_);
  merge_made(slot, nodes);
}

/// Merges roots_ and made_.
void PhaseRun::merge_made(size_t slot, size_t nodes_before) {
  const size_t merges = now_.merges;
  if (!merge_roots(slot)) return;
  if (graph_.id_bound() != nodes_before || now_.merges != merges) ++report_.rules[slot].applied;
}

/// Builds the right sides into made_.
std::optional<Refusal> PhaseRun::make(RuleState& state, MatchReader& reader, std::span<const uint32_t> match) {
  if (TemplateProgram* right = state.rule->right.get()) return right->build(graph_, &host_, reader.read(match), made_);
  const Substitution& substitution = reader.read(match);
  ApplyResult result = std::get<ApplyFunction>(state.rule->rule->applier)(graph_, substitution);
  if (Refusal* refusal = std::get_if<Refusal>(&result)) return std::move(*refusal);
  made_ = std::move(std::get<std::vector<ClassId>>(result));
  if (made_.size() != substitution.root_classes.size())
    fail(ErrorCode::invalid_argument, "the applier gave {} classes for {} roots", made_.size(),
         substitution.root_classes.size());
  return std::nullopt;
}

/// False where the host refused.
bool PhaseRun::merge_roots(size_t slot) {
  for (size_t i = 0; i < made_.size(); ++i) {
    if (!made_[i].valid()) continue;
    const ClassId root = graph_.class_of(roots_[i]), made = graph_.find(made_[i]);
    if (root == made) continue;
    if (std::optional<Refusal> refusal = host_.can_merge(graph_, root, made)) {
      refuse(slot, std::move(refusal->reason));
      return false;
    }
  }
  for (size_t i = 0; i < made_.size(); ++i) {
    if (!made_[i].valid()) continue;
    const size_t classes = graph_.class_count();
    graph_.merge(EGraph::class_alias(roots_[i]), made_[i], {states_[slot].index});
    now_.merges += classes - graph_.class_count();
  }
  return true;
}

void PhaseRun::refuse(size_t slot, std::string reason) {
  RuleReport& rule = report_.rules[slot];
  ++rule.refused;
  if (rule.refusals.size() < kReasonsKept &&
      std::find(rule.refusals.begin(), rule.refusals.end(), reason) == rule.refusals.end())
    rule.refusals.push_back(std::move(reason));
}

class PhaseRun::Native : public NativeContext {
 public:
  Native(PhaseRun& run, size_t slot, const FrozenGraph& frozen) : run_(run), slot_(slot), frozen_(frozen) {}
  EGraph& graph() override { return run_.graph_; }
  const FrozenGraph& frozen() const override { return frozen_; }
  uint32_t since() const override { return run_.states_[slot_].since; }
  bool merge(ClassId root, ClassId made) override {
    EGraph& graph = run_.graph_;
    ++run_.report_.rules[slot_].matches, ++run_.now_.matches;
    const ClassId a = graph.find(root), b = graph.find(made);
    if (a == b) return true;
    if (std::optional<Refusal> refusal = run_.host_.can_merge(graph, a, b)) {
      refuse(std::move(refusal->reason));
      return false;
    }
    graph.merge(root, made, {run_.states_[slot_].index});
    ++run_.report_.rules[slot_].applied, ++run_.now_.merges;
    return true;
  }
  void refuse(std::string reason) override { run_.refuse(slot_, std::move(reason)); }
  bool proceed() override {
    ++run_.now_.fuel, ++run_.report_.rules[slot_].bindings;
    if (!run_.over_limit()) return true;
    run_.report_.rules[slot_].cut = run_.held_back_ = cut_ = true;
    return false;
  }
  bool cut() const { return cut_; }

 private:
  PhaseRun& run_;
  const size_t slot_;
  const FrozenGraph& frozen_;
  bool cut_ = false;
};

void PhaseRun::apply_native(size_t slot, const FrozenGraph& frozen) {
  Native native(*this, slot, frozen);
  if (over_limit()) {
    report_.rules[slot].cut = held_back_ = true;
    return;
  }
  std::get<NativeFunction>(states_[slot].rule->rule->applier)(native);
  if (!native.cut()) states_[slot].since = frozen.epoch();
}

// --- limits ---------------------------------------------------------------------------------------------------

/// Notes why applying ends. A search that was cut still has its matches applied, at no more fuel.
void PhaseRun::check_limits() {
  const uint64_t made = graph_.id_bound() - nodes_made_at_start_;
  if (phase_.limits.fuel && !stop_ && report_.fuel + now_.fuel + made > phase_.limits.fuel)
    applying_ends_ = true, stop_by(StopReason::fuel);
  if (phase_.limits.fuel && ++steps_ % kStepsBetweenClockReads) return;
  if (context_.late()) applying_ends_ = true, stop_by(StopReason::time);
}

/// The graph refused a node.
void PhaseRun::hit_room_limit() {
  const bool nodes = graph_.node_limit() && graph_.node_count() >= graph_.node_limit();
  applying_ends_ = true;
  stop_by(nodes ? StopReason::nodes : StopReason::bytes);
}

}  // namespace weft::egraph
