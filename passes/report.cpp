#include <fmt/format.h>

#include "passes/pipeline.hpp"

namespace weft::passes {

std::string CompileReport::to_text() const {
  std::string out = fmt::format("{:<16} {:>10} {:>8}\n", "pass", "ms", "nodes");
  double total = 0;
  for (const PassReport& p : passes) {
    out += fmt::format("{:<16} {:>10.2f} {:>8}  {}\n", p.name, p.milliseconds, p.nodes, p.detail);
    total += p.milliseconds;
  }
  out += fmt::format("{:<16} {:>10.2f}\n", "total", total);
  if (!stop_reason.empty()) out += fmt::format("search stopped: {}\n", stop_reason);
  if (!rules.empty())
    out += fmt::format("\n{:<32} {:>8} {:>8} {:>8}  {}\n", "rule", "matches", "applied", "refused", "origin");
  for (const RuleCount& r : rules)
    out += fmt::format("{:<32} {:>8} {:>8} {:>8}  {}\n", r.name, r.matches, r.applied, r.refused, r.origin);
  if (!kernels.empty()) out += fmt::format("\n{:<32} {:>8}\n", "kernel", "steps");
  for (const auto& [name, count] : kernels) out += fmt::format("{:<32} {:>8}\n", name, count);
  return out;
}

}  // namespace weft::passes
