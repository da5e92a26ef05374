#pragma once
// Why two classes are one: the shortest chain of merges, with the congruences in it explained by those of the children.
#include <string>
#include <vector>

#include "egraph/egraph.hpp"
#include "egraph/rule.hpp"

namespace weft::egraph {

/// `left` and `right` (nodes; print them with term_text) were merged for `reason`. A congruence is followed by the
/// explanation of its children, one level deeper.
struct ExplainStep {
  NodeId left, right;
  Reason reason;
  uint32_t depth = 0;
  uint32_t record = 0;  ///< index into EGraph::merge_records: when
};

/// The chain from `a` to `b`, given as nodes or classes (EGraph::class_alias). Needs EGraph::record_merges. Throws
/// Error(invalid_argument) where they are not in one class, Error(limit) where the chain takes more than max_steps.
/// A step speaks of e-nodes: equalities that stood already when a term was added are not told again.
std::vector<ExplainStep> explain(const EGraph& graph, ClassId a, ClassId b, size_t max_steps = 10'000);

/// The term with which a node was made, written out to `depth` levels.
std::string term_text(const EGraph& graph, NodeId node, uint32_t depth = 6);

/// One line per step: terms, rule and its origin.
std::string explanation_text(const EGraph& graph, const std::vector<ExplainStep>& steps,
                             const std::vector<Rule>& rules);

}  // namespace weft::egraph
