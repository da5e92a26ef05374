#pragma once
// Searches many rules on one frozen graph in parallel, in waves of blocks, with the same result at any number of
// threads.
#include <memory>
#include <vector>

#include "egraph/runner.hpp"
#include "egraph/search/instantiate.hpp"
#include "egraph/search/matcher.hpp"

namespace weft::egraph {

/// A rule made ready to run.
struct CompiledRule {
  const Rule* rule = nullptr;
  Program program;
  std::unique_ptr<TemplateProgram> right;  ///< where the applier is a template
  /// Whether its matches are rows of the right side.
  bool plain() const { return right && right->plain(); }
  uint32_t width() const { return plain() ? right->width() : program.width(); }
  bool native() const { return std::holds_alternative<NativeFunction>(rule->applier); }
};

/// One rule's part in one search.
struct RuleSearch {
  const CompiledRule* rule = nullptr;
  uint32_t since = 0;
  uint64_t max_matches = UINT64_MAX;  ///< beyond: too_many, and the matches are dropped
  // results
  std::vector<MatchBlock> blocks;
  uint64_t count = 0, found = 0, bindings = 0;
  bool too_many = false;
  bool cut = false;  ///< fuel, memory or time ended the search before it was complete
};

struct SearchLimits {
  uint64_t fuel = UINT64_MAX, bytes = UINT64_MAX;
};

/// Fills in the results. Returns the limit that cut the search, or StopReason::saturated where it is complete.
StopReason search_rules(std::vector<RuleSearch>& searches, const SearchContext& context, const SearchLimits& limits);

}  // namespace weft::egraph
