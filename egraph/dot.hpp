#pragma once
// Pictures in Graphviz's language: classes are clusters, nodes are records with one port an operand.
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "egraph/extract.hpp"
#include "egraph/frozen.hpp"

namespace weft::egraph {

/// What to show. Whatever is left out by a bound is told by a "+N more" node.
struct DotOptions {
  std::vector<ClassId> roots;                 ///< start here; empty = all classes
  uint32_t depth = kNone;                     ///< classes further from the roots are left out
  std::vector<ClassId> only;                  ///< only these classes; empty = all
  size_t max_nodes = 500;                     ///< at most so many e-nodes
  const ExtractResult* extraction = nullptr;  ///< marks the chosen nodes
  bool only_extracted = false;                ///< shows nothing but them
  NodeCost cost;                              ///< printed with each node, where given
  std::function<std::string(ClassId)> facts;  ///< printed with each class, where given
};

/// Throws Error(out_of_range) for a class that does not exist.
std::string write_dot(const FrozenGraph& graph, const DotOptions& options = {});

/// `text` as it may stand inside a quoted record label: quotes, braces, bars, angles, backslashes and control
/// characters escaped.
std::string escape_dot_label(std::string_view text);

}  // namespace weft::egraph
