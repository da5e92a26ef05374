#pragma once
// A node of a graph by what the user calls it.
#include <string>

#include "ir/graph.hpp"

namespace weft::tools {

/// By its name in the text of the graph (a value's name, or %N), by the source's name of it, or by the name of an
/// output. Throws Error(invalid_argument) that names near ones.
ir::NodeId find_node(const ir::Graph& graph, const std::string& name);

}  // namespace weft::tools
