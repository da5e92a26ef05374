#include "tests/runtime/graphs.hpp"

#include <stdlib.h>

#include "ir/support/error.hpp"
#include "runtime/compare.hpp"

namespace weft::runtime::test {

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "weft-test-XXXXXX").string();
  if (!mkdtemp(name.data())) fail(ErrorCode::io, "no temporary directory {}", name);
  path_ = name;
}
TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

ir::Graph with_weights(ir::Graph graph, uint64_t seed) {
  for (ir::NodeId id : std::vector<ir::NodeId>(graph.parameters().begin(), graph.parameters().end()))
    graph.mutable_node(id).tensor = random_tensor(graph.node(id).types[0], seed * 1000 + id.value);
  return graph;
}

}  // namespace weft::runtime::test
