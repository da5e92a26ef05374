#include "egraph/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "ir/support/error.hpp"

namespace weft::egraph {

namespace {

/// The graph of merges: vertices are nodes, edges are merge records in the order in which they were made. A congruence
/// was found when its children were already equal, so older records explain them, and the explanation ends.
class Explainer {
 public:
  Explainer(const EGraph& graph, size_t max_steps) : graph_(graph), max_steps_(max_steps), edges_(graph.id_bound()) {
    const std::vector<MergeRecord>& records = graph.merge_records();
    for (uint32_t i = 0; i < records.size(); ++i) {
      edges_[records[i].left.value].push_back(i);
      edges_[records[i].right.value].push_back(i);
    }
    from_.resize(graph.id_bound()), seen_.resize(graph.id_bound());
  }

  std::vector<ExplainStep> run(uint32_t a, uint32_t b) {
    std::vector<std::pair<ExplainStep, uint32_t>> pending;  // a stack: steps to put out, with their record
    std::set<std::pair<uint32_t, uint32_t>> told;
    push_path(pending, a, b, static_cast<uint32_t>(graph_.merge_records().size()), 0);
    std::vector<ExplainStep> steps;
    while (!pending.empty()) {
      const auto [step, record] = pending.back();
      pending.pop_back();
      if (steps.size() >= max_steps_) fail(ErrorCode::limit, "the explanation takes more than {} steps", max_steps_);
      steps.push_back(step);
      if (step.reason.rule != Reason::kCongruence ||
          !told.insert(std::minmax(step.left.value, step.right.value)).second)
        continue;
      const auto left = graph_.original_children(step.left), right = graph_.original_children(step.right);
      for (size_t i = left.size(); i-- > 0;)
        if (left[i] != right[i]) push_path(pending, left[i].value, right[i].value, record, step.depth + 1);
    }
    return steps;
  }

 private:
  /// Breadth first from a to b over records before `before`; pushes the path so that its first step is on top.
  void push_path(std::vector<std::pair<ExplainStep, uint32_t>>& pending, uint32_t a, uint32_t b, uint32_t before,
                 uint32_t depth) {
    ++round_;
    std::vector<uint32_t> queue{a};
    seen_[a] = round_, from_[a] = kNone;
    for (size_t i = 0; i < queue.size() && seen_[b] != round_; ++i)
      for (uint32_t record : edges_[queue[i]]) {
        if (record >= before) break;
        const uint32_t next = other_end(record, queue[i]);
        if (seen_[next] == round_) continue;
        seen_[next] = round_, from_[next] = record;
        queue.push_back(next);
      }
    WEFT_CHECK(seen_[b] == round_, "no chain of merges from node {} to node {}", a, b);
    for (uint32_t at = b; at != a;) {
      const uint32_t record = from_[at], previous = other_end(record, at);
      pending.push_back({{NodeId(previous), NodeId(at), graph_.merge_records()[record].reason, depth, record}, record});
      at = previous;
    }
  }

  uint32_t other_end(uint32_t record, uint32_t end) const {
    const MergeRecord& r = graph_.merge_records()[record];
    return r.left.value == end ? r.right.value : r.left.value;
  }

  const EGraph& graph_;
  const size_t max_steps_;
  std::vector<std::vector<uint32_t>> edges_;
  std::vector<uint32_t> from_, seen_;
  uint32_t round_ = 0;
};

}  // namespace

std::vector<ExplainStep> explain(const EGraph& graph, ClassId a, ClassId b, size_t max_steps) {
  if (!graph.records_merges()) fail(ErrorCode::invalid_argument, "explain needs EGraph::record_merges");
  if (a.value >= graph.id_bound() || b.value >= graph.id_bound() || graph.find(a) != graph.find(b))
    fail(ErrorCode::invalid_argument, "classes {} and {} are not one class: nothing to explain", a.value, b.value);
  return Explainer(graph, max_steps).run(a.value, b.value);
}

constexpr size_t kLongestTerm = 400;  // bytes per level; what follows is left out

std::string term_text(const EGraph& graph, NodeId node, uint32_t depth) {
  std::string text = graph.symbols().name(graph.symbol(node));
  const auto children = graph.records_merges() ? graph.original_children(node) : graph.children(node);
  if (children.empty()) return text;
  if (depth == 0) return text + "(...)";
  text += '(';
  for (size_t i = 0; i < children.size(); ++i) {
    if (i) text += ", ";
    if (text.size() > kLongestTerm) return text + "...)";
    text += term_text(graph, NodeId(children[i].value), depth - 1);
  }
  return text + ')';
}

std::string explanation_text(const EGraph& graph, const std::vector<ExplainStep>& steps,
                             const std::vector<Rule>& rules) {
  std::string out;
  for (const ExplainStep& step : steps) {
    std::string why;
    switch (step.reason.rule) {
      case Reason::kGiven:
        why = "given";
        break;
      case Reason::kCongruence:
        why = "equal operands";
        break;
      case Reason::kAnalysis:
        why = "analysis";
        break;
      default: {
        const bool known = step.reason.rule < rules.size();
        why = known ? fmt::format("{} ({})", rules[step.reason.rule].name, rules[step.reason.rule].origin)
                    : "a rule of another run";
      }
    }
    fmt::format_to(std::back_inserter(out), "{:{}}{} = {}  by {}\n", "", 2 * step.depth, term_text(graph, step.left),
                   term_text(graph, step.right), why);
  }
  return out;
}

}  // namespace weft::egraph
