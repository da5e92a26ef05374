#pragma once
// One page of HTML that shows a graph, an e-graph or a plan and can be explored: no network, no other files.
#include <string>

#include "ir/graph.hpp"
#include "ir/plan.hpp"
#include "passes/egraph_picture.hpp"
#include "tools/weft/drawing.hpp"

namespace weft::tools {

/// All forms of all values, the chosen ones marked, and how they came about.
std::string egraph_page(const std::string& title, const passes::EGraphPicture& picture);
/// The graph's ops (up to options.max_nodes) and what they read.
std::string graph_page(const ir::Graph& graph, const DrawOptions& options);
/// The plan's steps and what they read.
std::string plan_page(const ir::Plan& plan, const DrawOptions& options);

}  // namespace weft::tools
