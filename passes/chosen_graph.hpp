#pragma once
// From a choice in the e-graph back to a graph: leaves, kernels, reshapes, and ops on parameters alone.
#include "egraph/extract.hpp"
#include "passes/fuse.hpp"
#include "passes/language.hpp"
#include "passes/unroll.hpp"

namespace weft::passes {

/// What was chosen, and all that is needed to read it.
struct Chosen {
  const ir::Graph& source;  ///< what the user's graph became before it was rolled up
  const Rolled& rolled;     ///< without rolls: the e-graph is of the source itself
  const TensorLanguage& language;
  const egraph::FrozenGraph& frozen;
  const egraph::ExtractResult& choice;
  const Inserted& inserted;
  const FusionResult& fusion;
  bool mark = false;  ///< names end in kNodeMark and the number of their e-node
};

inline constexpr char kNodeMark = '\x1f';

/// The lowered graph of the chosen nodes (`order`: operands first), with the inputs, parameters and outputs of the
/// source in its order; a second block is laid out once for every block left out (`unroll` is null where nothing was
/// rolled up, and has no obstacle otherwise). Names of nodes list the user's nodes that are computed inside, with a
/// prime where in another layout.
ir::Graph chosen_graph(const Chosen& chosen, std::span<const egraph::NodeId> order, Unroll* unroll);

}  // namespace weft::passes
