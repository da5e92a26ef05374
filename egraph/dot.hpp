#pragma once
// Pictures in Graphviz's language, written through Boost.Graph: a class is a table whose rows are its nodes, an edge
// leads from a row to the class of an operand.
#include <functional>
#include <string>

#include "egraph/selection.hpp"

namespace weft::egraph {

struct DotOptions : Bounds {
  NodeCost cost;                              ///< printed with each node, where given
  std::function<std::string(ClassId)> facts;  ///< printed with each class, where given
  std::function<std::string(NodeId)> label;   ///< of a node; the symbol's name where absent
};

/// Nodes whose class the picture leaves out point to one that counts them: "+N more classes". Throws
/// Error(out_of_range) for a class that does not exist.
std::string write_dot(const FrozenGraph& graph, const DotOptions& options = {});

}  // namespace weft::egraph
