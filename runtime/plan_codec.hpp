#pragma once
// A plan as bytes and back.
#include <string>
#include <string_view>

#include "ir/plan.hpp"

namespace weft::runtime {

/// Counts up with every change of the bytes or of what they mean; part of the plan key.
inline constexpr uint32_t kPlanFormat = 3;  // raised with the layout of plans and with the text of programs

std::string encode_plan(const ir::Plan& plan);
/// Throws Error(parse) with a place, whatever the bytes; what it returns has passed check_plan().
ir::Plan decode_plan(std::string_view bytes);

}  // namespace weft::runtime
