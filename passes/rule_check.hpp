#pragma once
// Verification of rules: each is instantiated, fired in an e-graph of its own, and both sides are computed and
// compared.
#include <string>
#include <vector>

#include "passes/rule_book.hpp"

namespace weft::passes {

struct RuleVerdict {
  std::string name, origin;
  int instances = 0;                  ///< instantiations on which the rule fired and both sides were compared
  double worst = 0;                   ///< largest error relative to the tolerance of the rule's tags (0 = bit-equal)
  std::vector<std::string> problems;  ///< empty = verified
};

/// Instantiates the rule as its `try` clauses say (a variable not named there takes a default by its place: see
/// passes/README.md), fires it, and compares both sides through the reference interpreter on random and on nasty
/// operands
/// (-0, infinities, NaN, tiny, huge). Without a tag both sides must agree to the bit (any NaN equals any NaN); with a
/// tag, within 1e-5 relative, and on the nasty operands only as far as the tags allow. Seeded: the same verdict every
/// time.
RuleVerdict check_rule(const RuleSource& rule);

}  // namespace weft::passes
