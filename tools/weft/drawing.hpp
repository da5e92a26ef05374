#pragma once
// Pictures for Graphviz, written through Boost.Graph.
#include <cstddef>
#include <string>
#include <string_view>

#include "ir/graph.hpp"
#include "ir/plan.hpp"

namespace weft::tools {

struct DrawOptions {
  size_t max_nodes = 1000;  ///< beyond, one node says how many are missing
  bool parameters = false;  ///< draw parameters too
};

/// One node a node of the graph, edges labelled with types.
std::string draw_graph(const ir::Graph& graph, const DrawOptions& options);
/// One node a step, edges labelled with buffers.
std::string draw_plan(const ir::Plan& plan, const DrawOptions& options);

/// Text inside double quotes of DOT: escaped, valid UTF-8 (U+FFFD for broken bytes), cut to `most` code points.
std::string dot_text(std::string_view text, size_t most = 80);

}  // namespace weft::tools
