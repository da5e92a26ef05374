#pragma once
// Explanations and differences as text for people (long terms cut to `most` letters) and as JSON.
#include <string>

#include "passes/explain.hpp"
#include "tools/weft/plan_diff.hpp"

namespace weft::tools {

std::string explanation_text(const passes::Explanation& explanation, size_t most);
std::string explanation_json(const passes::Explanation& explanation);
std::string diff_text(const PlanDiff& diff, const std::string& before, const std::string& after, size_t most);
std::string diff_json(const PlanDiff& diff);

}  // namespace weft::tools
