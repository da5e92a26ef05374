#pragma once
// Deep networks repeat themselves: of a long run of equal blocks ("layers") three are kept for the search, and what was
// chosen for the one in the middle is laid out again for all that were left out (unroll.hpp).
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.hpp"

namespace weft::passes {

/// One run of equal blocks. A *role* is a node of a block, or a leaf or fixed node that it reads; roles stand in step
/// in all lists. Where the three kept blocks have one and the same node in a role, all blocks share it.
struct Roll {
  size_t copies = 0;                              ///< blocks in the source, those left out too
  std::array<std::vector<ir::NodeId>, 3> blocks;  ///< [block][role]: nodes of the rolled graph; the first, second, last
  std::vector<std::vector<ir::NodeId>> left_out;  ///< [block left out][role]: nodes of the source
  std::vector<ir::NodeId> bypass;                 ///< nodes of the rolled graph before the run that are read after it
};

/// Where an output of the source is: output `index` of the rolled graph, of the block that was left out where one is
/// named (then `index` is the second block's output in that role).
struct RolledOutput {
  size_t index = 0;
  std::optional<std::pair<size_t, size_t>> left_out;  ///< roll, block of `Roll::left_out`
};

struct Rolled {
  ir::Graph graph;                    ///< what the search sees
  std::vector<Roll> rolls;            ///< in the order of the graph; empty: nothing worth it, `graph` is empty
  std::vector<ir::NodeId> source_of;  ///< node of the source, by node of `graph`
  std::vector<RolledOutput> outputs;  ///< in the order of the source's
};

/// Finds runs of equal blocks by structure alone: ops, attributes, types and where operands come from; parameters and
/// inputs count by type, like in the Merkle key, constants by bits. Blocks may read the block before them and what
/// stands before the run, may have parameters, inputs and outputs of their own, but no parameter may belong to two of
/// several blocks, and what is left out is read by the next block alone. Rolls up only where at least a quarter of the
/// graph goes away. Linear in the graph but for a dozen trial periods.
Rolled roll(const ir::Graph& graph);

}  // namespace weft::passes
