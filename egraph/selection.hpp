#pragma once
// What of an e-graph a picture shows. Whatever a bound leaves out is counted.
#include <functional>
#include <vector>

#include "egraph/extract.hpp"
#include "egraph/frozen.hpp"

namespace weft::egraph {

struct Bounds {
  std::vector<ClassId> roots;                 ///< start here; empty = all
  uint32_t depth = kNone;                     ///< classes further from the roots are left out
  std::vector<ClassId> only;                  ///< only these classes; empty = all
  size_t max_nodes = 500;                     ///< at most so many e-nodes
  const ExtractResult* extraction = nullptr;  ///< whose nodes come first
  bool only_extracted = false;                ///< nothing but them
  std::function<bool(NodeId)> preferred;      ///< nodes that come next, where given: what was there before any rule
};

struct Selection {
  std::vector<ClassId> classes;            ///< breadth first from the roots
  std::vector<std::vector<NodeId>> nodes;  ///< beside classes: those shown, the chosen one first
  std::vector<size_t> hidden;              ///< beside classes: members not shown
  size_t hidden_classes = 0;               ///< classes not shown at all that are reached from the roots
  std::vector<char> shown;                 ///< by class id
};

/// Where there are more nodes than may be shown: the extracted ones, then those preferred, then the other members of
/// the classes that are in the picture by then, one of each class after the other, those whose operands it has before
/// those that lead out of it; then, the same way, the other classes. Throws Error(out_of_range) for a class that does
/// not exist.
Selection select(const FrozenGraph& graph, const Bounds& bounds);

}  // namespace weft::egraph
