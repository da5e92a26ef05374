#include "tools/weft/find_node.hpp"

#include "ir/support/error.hpp"
#include "ir/support/nearest.hpp"
#include "ir/text.hpp"

namespace weft::tools {

ir::NodeId find_node(const ir::Graph& graph, const std::string& name) {
  const std::vector<ir::NodeId> live = graph.live_nodes();
  const std::vector<std::string> printed = ir::printed_names(graph);
  for (ir::NodeId id : live)
    if (printed[id.value] == name) return id;
  for (ir::NodeId id : live)
    if (graph.node(id).name == name) return id;
  for (const ir::Output& output : graph.outputs())
    if (output.name == name) return output.value.node;
  std::vector<std::string_view> known;
  for (ir::NodeId id : live) known.push_back(printed[id.value]);
  for (const ir::Output& output : graph.outputs()) known.push_back(output.name);
  fail(ErrorCode::invalid_argument, "the graph has no node '{}'{} (weft inspect --text prints all of them)", name,
       suggest(name, known));
}

}  // namespace weft::tools
