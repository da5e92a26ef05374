#include "tools/weft/explanation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "ir/support/utf8.hpp"

namespace weft::tools {
namespace {

using nlohmann::json;

std::string time_text(int64_t ns) { return fmt::format("{:.1f} us", static_cast<double>(ns) / 1e3); }
std::string change_text(int64_t ns) { return (ns < 0 ? "" : "+") + time_text(ns); }

// --- one node, as text

class ExplanationText {
 public:
  ExplanationText(const passes::Explanation& explanation, size_t most) : explanation_(explanation), most_(most) {}

  std::string run() {
    for (const passes::ValueStory& value : explanation_.values) {
      story(value);
      out_ += '\n';
    }
    line("the whole plan: {}{}", time_text(static_cast<int64_t>(explanation_.plan_cost)),
         explanation_.proven ? ", proven to be the cheapest of this e-graph" : "");
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }
  std::string cut(const std::string& text) const { return printable(text, most_); }

  void story(const passes::ValueStory& value) {
    line("{}", cut(value.written));
    line("  {}: {}", value.type, value.fate);
    if (!value.rewrites.empty()) line("rewritten");
    for (const passes::Rewrite& rewrite : value.rewrites) this->rewrite(rewrite);
    if (value.rewrites_left_out) line("  +{} more", value.rewrites_left_out);
    for (const passes::KernelStory& kernel : value.runs) {
      line("runs as {}", where(kernel));
      line("  {}  {}", kernel.kernel, time_text(static_cast<int64_t>(kernel.nanoseconds)));
      detail(kernel);
    }
    if (!value.rejected.empty()) line("not taken");
    for (const passes::RejectedKernel& kernel : value.rejected) {
      line("  {}  {}: {}", kernel.kernel, time_text(static_cast<int64_t>(kernel.nanoseconds)), lost(kernel));
      detail(kernel);
    }
    if (value.rejected_left_out) line("  +{} more", value.rejected_left_out);
    if (!value.refused.empty()) line("refused");
    for (const passes::RefusedKernels& refused : value.refused) {
      line("  {} ({}): {}", refused.backend, refused.count == 1 ? "once" : fmt::format("{} times", refused.count),
           refused.reason);
      line("    {}", cut(refused.program));
    }
  }

  void rewrite(const passes::Rewrite& rewrite) {
    const std::string indent(2 + 2 * rewrite.depth, ' ');
    line("{}{}", indent, cut(rewrite.from));
    line("{}  = {}", indent, cut(rewrite.to));
    line("{}    {}{}", indent, rewrite.why.rule, rewrite.why.origin.empty() ? "" : " (" + rewrite.why.origin + ")");
  }

  void detail(const passes::KernelStory& kernel) {
    if (!kernel.computes.empty()) line("    computes {}", cut(kernel.computes));
    if (!kernel.reads.empty()) line("    from {}", cut(fmt::format("{}", fmt::join(kernel.reads, ", "))));
    line("    {}", cut(kernel.program));
  }

  static std::string where(const passes::KernelStory& kernel) {
    if (kernel.steps.empty()) return "a step";
    std::string text;
    for (size_t step : kernel.steps) text += fmt::format("{}{}", text.empty() ? "step " : ", ", step);
    return text + (kernel.in_prologue ? " of the prologue" : "");
  }

  std::string lost(const passes::RejectedKernel& kernel) const {
    if (!kernel.more) return "no plan can hold it";
    const int64_t more = *kernel.more, least = std::max<int64_t>(kernel.at_least, 0);
    if (more == 0) return "the plan would take as long with it";
    if (more < 0)
      return fmt::format("a plan with it takes {} less; the search ended before it found that", time_text(-more));
    if (least == 0) return fmt::format("the best plan found with it takes {}", change_text(more));
    if (least == more) return fmt::format("the plan would take {} with it", change_text(more));
    return fmt::format("the plan would take {} with it, at least {}", change_text(more), change_text(least));
  }

  const passes::Explanation& explanation_;
  const size_t most_;
  std::string out_;
};

// --- one node, as JSON

json to_json(const passes::KernelStory& kernel) {
  return {{"kernel", kernel.kernel},
          {"program", kernel.program},
          {"computes", kernel.computes},
          {"ns", kernel.nanoseconds},
          {"e_node", kernel.e_node}};
}

json to_json(const passes::ValueStory& value) {
  json out{{"name", value.name}, {"written", value.written}, {"type", value.type}, {"fate", value.fate}};
  out["rewrites"] = json::array();
  for (const passes::Rewrite& r : value.rewrites)
    out["rewrites"].push_back(
        {{"from", r.from}, {"to", r.to}, {"rule", r.why.rule}, {"origin", r.why.origin}, {"depth", r.depth}});
  out["rewrites_left_out"] = value.rewrites_left_out;
  out["runs"] = json::array();
  for (const passes::KernelStory& kernel : value.runs) {
    json run = to_json(kernel);
    run["steps"] = kernel.steps, run["reads"] = kernel.reads, run["prologue"] = kernel.in_prologue;
    out["runs"].push_back(std::move(run));
  }
  out["rejected"] = json::array();
  for (const passes::RejectedKernel& kernel : value.rejected) {
    json rejected = to_json(kernel);
    rejected["more_ns"] = kernel.more ? json(*kernel.more) : json(nullptr);
    rejected["at_least_ns"] = kernel.at_least;
    out["rejected"].push_back(std::move(rejected));
  }
  out["rejected_left_out"] = value.rejected_left_out;
  out["refused"] = json::array();
  for (const passes::RefusedKernels& r : value.refused)
    out["refused"].push_back(
        {{"backend", r.backend}, {"reason", r.reason}, {"count", r.count}, {"program", r.program}});
  return out;
}

std::string lines(const json& value) { return value.dump(2, ' ', false, json::error_handler_t::replace) + "\n"; }

// --- two plans

json to_json(const std::vector<DiffStep>& steps) {
  json out = json::array();
  for (const DiffStep& s : steps)
    out.push_back({{"step", s.step},
                   {"kernel", s.kernel},
                   {"ops", s.ops},
                   {"program", s.program},
                   {"computes", s.source},
                   {"ns", s.nanoseconds}});
  return out;
}

json to_json(const PlanDiff& diff) {
  json out{{"steps", {diff.before_steps, diff.after_steps}},
           {"ns", {diff.before_nanoseconds, diff.after_nanoseconds}},
           {"change_ns", static_cast<int64_t>(diff.after_nanoseconds - diff.before_nanoseconds)},
           {"equal_steps", diff.equal_steps},
           {"price_changes", diff.price_changes},
           {"price_change_ns", diff.price_change}};
  out["groups"] = json::array();
  for (const DiffGroup& group : diff.groups)
    out["groups"].push_back({{"before", to_json(group.before)},
                             {"after", to_json(group.after)},
                             {"count", group.count},
                             {"change_ns", group.change}});
  return out;
}

}  // namespace

std::string explanation_text(const passes::Explanation& explanation, size_t most) {
  return ExplanationText(explanation, most).run();
}

std::string explanation_json(const passes::Explanation& explanation) {
  json out{{"plan_ns", explanation.plan_cost}, {"proven", explanation.proven}, {"values", json::array()}};
  for (const passes::ValueStory& value : explanation.values) out["values"].push_back(to_json(value));
  return lines(out);
}

std::string diff_json(const PlanDiff& diff) { return lines(to_json(diff)); }

std::string diff_text(const PlanDiff& diff, const std::string& before, const std::string& after, size_t most) {
  std::string out = fmt::format("- {}: {} steps, {}\n+ {}: {} steps, {}\n{} steps are equal", before, diff.before_steps,
                                time_text(static_cast<int64_t>(diff.before_nanoseconds)), after, diff.after_steps,
                                time_text(static_cast<int64_t>(diff.after_nanoseconds)), diff.equal_steps);
  if (diff.price_changes)
    out += fmt::format(", {} of them at another price ({})", diff.price_changes, change_text(diff.price_change));
  out += '\n';
  for (const DiffGroup& group : diff.groups) {
    out += fmt::format("\n{}{}\n", change_text(group.change),
                       group.count == 1 ? "" : fmt::format(", {} times", group.count));
    const auto side = [&](char sign, const std::vector<DiffStep>& steps) {
      for (const DiffStep& s : steps)
        out += fmt::format("  {} step {}: {}  {}  {}\n      computes {}\n", sign, s.step, s.kernel,
                           time_text(static_cast<int64_t>(s.nanoseconds)), printable(s.ops, most),
                           s.source.empty() ? "what has no name" : printable(s.source, most));
    };
    side('-', group.before);
    side('+', group.after);
  }
  const auto change = static_cast<int64_t>(diff.after_nanoseconds - diff.before_nanoseconds);
  out += fmt::format("\ntogether {}", change_text(change));
  if (diff.before_nanoseconds)
    out +=
        fmt::format(" ({:+.1f} %)", 100.0 * static_cast<double>(change) / static_cast<double>(diff.before_nanoseconds));
  return out + '\n';
}

}  // namespace weft::tools
