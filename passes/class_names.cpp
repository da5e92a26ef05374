#include "passes/class_names.hpp"

#include <algorithm>

namespace weft::passes {

using egraph::ClassId;

std::unordered_map<ClassId, ClassName> name_classes(const TensorLanguage& language, const egraph::FrozenGraph& frozen,
                                                    const Inserted& inserted) {
  std::unordered_map<ClassId, ClassName> names;
  std::vector<std::pair<ClassId, ir::NodeId>> direct;
  const ir::Graph& graph = language.source();
  for (size_t n = 0; n < graph.size(); ++n) {
    const ClassId id = inserted.class_of_node[n];
    if (!id.valid() || graph.node(ir::NodeId(n)).name.empty()) continue;
    if (names.try_emplace(frozen.find(id), ClassName{ir::NodeId(n)}).second)
      direct.emplace_back(frozen.find(id), ir::NodeId(n));
  }
  for (const auto& [id, node] : direct)
    for (ir::Op op : {ir::Op::transpose, ir::Op::reshape}) {
      for (egraph::NodeId member : frozen.nodes(id, op_number(op)))
        names.try_emplace(frozen.find(frozen.children(member)[0]), ClassName{node, true});
      for (egraph::NodeId user : frozen.uses(id, op_number(op)))
        names.try_emplace(frozen.class_of(user), ClassName{node, true});
    }
  return names;
}

}  // namespace weft::passes
