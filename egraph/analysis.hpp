#pragma once
// Facts about classes (types, constants, layouts), kept by the host in vectors indexed by class id.
#include "egraph/symbol.hpp"

namespace weft::egraph {

class EGraph;

/// The host's analysis: a join semilattice over classes, maintained as classes grow and merge. All calls come from the
/// thread that changes the e-graph. A method may throw Error (for instance two types in one class): the call that
/// caused it (add, merge, rebuild) throws it on, and the e-graph must then be restored from a copy or dropped.
class Analysis {
 public:
  virtual ~Analysis() = default;

  /// A node was added in the fresh class `id`: compute the facts of `id` from the node's symbol and its children's
  /// facts.
  virtual void make(EGraph& graph, NodeId node, ClassId id) = 0;

  /// Class `from` is about to become a part of `into` (both canonical): join its facts into those of `into`. Returns
  /// whether the joined facts differ from those that either had; the users of both are then updated.
  virtual bool join(EGraph& graph, ClassId into, ClassId from) = 0;

  /// The facts of a child of `node` changed: compute the node's facts again and join them into those of its class
  /// `id`. Returns whether the class's facts changed. Default: facts never grow.
  virtual bool update(EGraph& graph, NodeId node, ClassId id) {
    (void)graph, (void)node, (void)id;
    return false;
  }

  /// Called for a new class, and during rebuild for a class that was merged or whose facts changed. May add nodes and
  /// merge them into the class (constant folding) or prune it. Must do nothing the second time.
  virtual void modify(EGraph& graph, ClassId id) { (void)graph, (void)id; }
};

}  // namespace weft::egraph
