#pragma once
// The rules as text: passes/rules/*.rules and what the targets ship.
#include <span>
#include <string>
#include <vector>

#include "ir/target.hpp"
#include "passes/options.hpp"

namespace weft::passes {

/// The texts embedded in this build, sorted by file name.
std::vector<ir::RuleText> embedded_rules();
/// All texts that a compile for these targets reads: the embedded ones, then each target's.
std::vector<ir::RuleText> rule_texts(std::span<const ir::Target* const> targets);

}  // namespace weft::passes
