#pragma once
// Saturation in phases: search all rules on one frozen graph, apply, rebuild; limits, backoff, report.
#include <cstdint>
#include <string>
#include <vector>

#include "egraph/rule.hpp"

namespace weft::egraph {

/// 0 = no limit. All but `milliseconds` are reproducible.
struct Limits {
  size_t nodes = 0;  ///< live e-nodes; never exceeded
  size_t bytes = 0;  ///< memory of the e-graph's pools and of one iteration's matches
  size_t iterations = 0;
  uint64_t fuel = 0;          ///< bindings tried + nodes made
  uint64_t milliseconds = 0;  ///< wall time of the phase
};

/// A rule with more than `match_limit << times banned` new matches in an iteration applies none of them and sits out
/// `ban_length << times banned` iterations. match_limit 0 = no backoff.
struct Backoff {
  size_t match_limit = 0, ban_length = 5;
};

struct Phase {
  std::string name;
  std::vector<uint32_t> rules;  ///< indices into the runner's rules, in order of application
  Limits limits;
  Backoff backoff;  ///< for all rules of the phase but those in rule_backoff
  std::vector<std::pair<uint32_t, Backoff>> rule_backoff;
};

/// `saturated` only if no rule was skipped, cut or banned in the last iteration.
enum class StopReason { saturated, nodes, bytes, iterations, fuel, time };
std::string_view to_string(StopReason reason);

struct IterationReport {
  size_t nodes = 0, classes = 0, bytes = 0;  ///< after the iteration
  size_t matches = 0, merges = 0, congruences = 0;
  uint64_t fuel = 0;
  double search_seconds = 0, apply_seconds = 0, rebuild_seconds = 0;
  size_t id_bound = 0, merge_records = 0;  ///< after the iteration: what came later has a larger number
};

/// Nodes [first, end) were made in an iteration of the phase while a rule (by its number in the runner) was applied, or
/// by the analysis (Reason::kAnalysis) while it was repaired.
struct Growth {
  uint32_t iteration = 0, rule = 0, first = 0, end = 0;
};

struct RuleReport {
  std::string name, origin;
  uint64_t matches = 0;      ///< new ones found, guard passed (also those whose right side already stood)
  uint64_t applied = 0;      ///< that made a node or merged two classes
  uint64_t refused = 0;      ///< by the applier, a builder, or can_merge
  uint64_t nodes_grown = 0;  ///< nodes made while it was applied
  uint64_t bindings = 0;     ///< tried while searching: its cost
  uint32_t times_banned = 0;
  bool cut = false;                   ///< a limit stopped it halfway
  std::vector<std::string> refusals;  ///< the first few different reasons
};

struct PhaseReport {
  std::string name;
  StopReason stop = StopReason::saturated;
  std::vector<IterationReport> iterations;
  std::vector<RuleReport> rules;  ///< in the order of Phase::rules
  std::vector<Growth> growth;     ///< which rule made which node, in order of the nodes
  uint64_t fuel = 0;
  double seconds = 0;
  /// The rule that made most nodes, or nullptr where none made any.
  const RuleReport* grower() const;
  std::string text() const;  ///< several lines; begins with the stop reason and names the grower
};

struct Report {
  std::vector<PhaseReport> phases;
  std::string text() const;
};

struct CompiledRule;

/// Runs phases over an e-graph. The result is the same at any number of threads (tbb's arena of the caller is used).
class Runner {
 public:
  /// `rules` are validated; `host` may be null where no rule has matchers or builders.
  Runner(EGraph& graph, std::vector<Rule> rules, RuleHost* host = nullptr);
  ~Runner();

  /// Runs one phase until it saturates or stops. The graph is rebuilt before and after. A rule that throws Error passes
  /// it on, with the rule's name and origin in `where`.
  PhaseReport run(const Phase& phase);
  Report run(const std::vector<Phase>& phases);
  const std::vector<Rule>& rules() const { return rules_; }

 private:
  EGraph& graph_;
  std::vector<Rule> rules_;
  std::vector<CompiledRule> compiled_;
  RuleHost* host_;
  struct NoHost : RuleHost {
    bool may_refuse() const override { return false; }
  } default_host_;
};

}  // namespace weft::egraph
