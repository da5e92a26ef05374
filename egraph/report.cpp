// Reports as text.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "egraph/runner.hpp"

namespace weft::egraph {

std::string_view to_string(StopReason reason) {
  switch (reason) {
    case StopReason::saturated:
      return "saturated";
    case StopReason::nodes:
      return "node limit";
    case StopReason::bytes:
      return "byte limit";
    case StopReason::iterations:
      return "iteration limit";
    case StopReason::fuel:
      return "fuel limit";
    case StopReason::time:
      return "time limit";
  }
  return "?";
}

const RuleReport* PhaseReport::grower() const {
  const auto most = std::max_element(rules.begin(), rules.end(), [](const RuleReport& a, const RuleReport& b) {
    return a.nodes_grown < b.nodes_grown;
  });
  return most == rules.end() || most->nodes_grown == 0 ? nullptr : &*most;
}

std::string PhaseReport::text() const {
  std::string out;
  auto line = std::back_inserter(out);
  const IterationReport last = iterations.empty() ? IterationReport{} : iterations.back();
  if (stop == StopReason::saturated)
    fmt::format_to(line, "phase {}: saturated", name);
  else
    fmt::format_to(line, "phase {}: stopped by {}", name, to_string(stop));
  fmt::format_to(line, " after {} iterations: {} nodes in {} classes, {} bytes, fuel {}, {:.3f} s\n", iterations.size(),
                 last.nodes, last.classes, last.bytes, fuel, seconds);
  if (const RuleReport* most = grower())
    fmt::format_to(line, "  grown most by {} ({}): {} nodes\n", most->name, most->origin, most->nodes_grown);
  for (size_t i = 0; i < iterations.size(); ++i) {
    const IterationReport& it = iterations[i];
    fmt::format_to(line,
                   "  iteration {}: {} nodes, {} classes, {} matches, {} merges, {} by congruence, search {:.3f} s, "
                   "apply {:.3f} s, rebuild {:.3f} s\n",
                   i + 1, it.nodes, it.classes, it.matches, it.merges, it.congruences, it.search_seconds,
                   it.apply_seconds, it.rebuild_seconds);
  }
  for (const RuleReport& rule : rules) {
    if (rule.matches == 0 && rule.refused == 0 && rule.times_banned == 0 && !rule.cut) continue;
    fmt::format_to(line, "  rule {}: {} matches, {} applied, {} refused, {} nodes made, {} bindings", rule.name,
                   rule.matches, rule.applied, rule.refused, rule.nodes_grown, rule.bindings);
    if (rule.times_banned) fmt::format_to(line, ", banned {} times", rule.times_banned);
    if (rule.cut) fmt::format_to(line, ", cut by a limit");
    *line++ = '\n';
    for (const std::string& reason : rule.refusals) fmt::format_to(line, "    refused: {}\n", reason);
  }
  return out;
}

std::string Report::text() const {
  std::string out;
  for (const PhaseReport& phase : phases) out += phase.text();
  return out;
}

}  // namespace weft::egraph
