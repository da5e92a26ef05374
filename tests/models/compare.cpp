#include "tests/models/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::models {
namespace {

/// How many times over the tolerance one element is off.
double excess(double actual, double expected, double rtol, double atol) {
  if (actual == expected || (std::isnan(actual) && std::isnan(expected))) return 0;
  if (!std::isfinite(actual) || !std::isfinite(expected)) return std::numeric_limits<double>::infinity();
  return std::abs(actual - expected) / (atol + rtol * std::abs(expected));
}

void compare_tensor(const std::string& name, const ir::Tensor& actual, const ir::Tensor& expected, double rtol,
                    double atol, Comparison& result) {
  for (int64_t i = 0; i < expected.elements(); ++i) {
    double a = actual.at_double(i), e = expected.at_double(i), over = excess(a, e, rtol, atol);
    if (std::isfinite(a) && std::isfinite(e)) result.max_difference = std::max(result.max_difference, std::abs(a - e));
    if (over > 1 && result.agrees) {
      result.agrees = false;
      result.detail = fmt::format("'{}' element {}: {} where {} is expected", name, i, a, e);
    }
    result.worst_excess = std::max(result.worst_excess, over);
  }
}

}  // namespace

std::string Comparison::text() const {
  if (agrees) return fmt::format("yes, {:.1e}", max_difference);
  return fmt::format("NO: {} ({:.1f} times the tolerance at worst)", detail, worst_excess);
}

Comparison compare(const ir::NamedTensors& actual, const ir::NamedTensors& expected, double rtol, double atol) {
  Comparison result;
  for (const auto& [name, tensor] : expected) {
    auto found = actual.find(name);
    std::string trouble;
    if (found == actual.end())
      trouble = fmt::format("output '{}' is missing", name);
    else if (found->second.type() != tensor.type())
      trouble = fmt::format("'{}' is {} where {} is expected", name, ir::to_string(found->second.type()),
                            ir::to_string(tensor.type()));
    if (trouble.empty())
      compare_tensor(name, found->second, tensor, rtol, atol, result);
    else if (result.agrees)
      result = {false, std::numeric_limits<double>::infinity(), result.max_difference, trouble};
  }
  return result;
}

}  // namespace weft::models
