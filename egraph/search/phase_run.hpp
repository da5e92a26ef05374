#pragma once
// One phase of a runner: the loop search, apply, rebuild, and who is banned.
#include <chrono>
#include <optional>
#include <vector>

#include "egraph/search/search.hpp"
#include "egraph/search/waves.hpp"

namespace weft::egraph {

class PhaseRun {
 public:
  PhaseRun(EGraph& graph, std::vector<CompiledRule>& rules, RuleHost& host, const Phase& phase);
  PhaseReport run();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kStepsBetweenClockReads = 256;
  struct RuleState {
    CompiledRule* rule;
    uint32_t index;  // in the runner
    Backoff backoff;
    uint32_t since = 0;        // epoch of the last complete search
    size_t banned_until = 0;   // first iteration in which it runs again
    bool mostly_idle = false;  // most of the matches applied last changed nothing
  };
  class Native;

  bool iterate();  // false: stop
  std::vector<RuleSearch> make_searches();
  void settle_searches(std::vector<RuleSearch>& searches);
  void apply_all(const FrozenGraph& frozen, std::vector<RuleSearch>& searches);
  void apply_rule(size_t slot, const FrozenGraph& frozen, const RuleSearch& search);
  template <typename Apply>
  void for_each_match(size_t slot, const RuleSearch& search, Apply&& apply);
  void apply_plain(size_t slot, const RuleSearch& search);
  template <typename Apply>
  void apply_in_waves(size_t slot, const RuleSearch& search, Apply&& apply);
  bool merges_directly() const;
  bool merge_unless_refused(size_t slot, ClassId root, ClassId made);
  void apply_match(size_t slot, MatchReader& reader, std::span<const uint32_t> match);
  void apply_native(size_t slot, const FrozenGraph& frozen);
  std::optional<Refusal> make(RuleState& state, MatchReader& reader, std::span<const uint32_t> match);
  void merge_made(size_t slot, size_t nodes_before);
  bool merge_roots(size_t slot);
  void note_growth(uint32_t rule, size_t before);
  void refuse(size_t slot, std::string reason);
  /// Whether to stop applying.
  bool over_limit() {
    if (!applying_ends_ && (phase_.limits.fuel || ++steps_ % kStepsBetweenClockReads == 0)) check_limits();
    return applying_ends_;
  }
  /// Whether a limit ends the rule's turn, which is noted.
  bool ends_here(size_t slot) { return over_limit() && (report_.rules[slot].cut = held_back_ = true); }
  void check_limits();
  void hit_room_limit();
  bool lift_bans();
  void stop_by(StopReason reason) { stop_ = stop_ ? stop_ : reason; }
  static double seconds_since(Clock::time_point start);

  EGraph& graph_;
  RuleHost& host_;
  const Phase& phase_;
  std::vector<RuleState> states_;
  PhaseReport report_;
  IterationReport now_;
  std::optional<StopReason> stop_;
  std::vector<ClassId> made_;  // per root of the match at hand
  std::vector<NodeId> roots_;
  FrozenGraph frozen_;
  bool needs_uses_ = false;
  RowPool rows_;
  SearchContext context_;
  uint64_t nodes_made_at_start_ = 0;  // of the iteration
  size_t steps_ = 0;
  bool applying_ends_ = false;
  bool held_back_ = false;  // a rule was banned or cut in this iteration
};

}  // namespace weft::egraph
