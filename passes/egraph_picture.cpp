#include "passes/egraph_picture.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "egraph/dot.hpp"
#include "egraph/selection.hpp"
#include "ir/support/error.hpp"

namespace weft::passes {

using egraph::ClassId;
using egraph::NodeId;

namespace {

void set_bounds(egraph::Bounds& bounds, const RecordedSearch& search, const PictureOptions& options) {
  for (ir::NodeId root : options.roots) {
    const NodeId node = search.e_node(root);
    if (!node.valid())
      fail(ErrorCode::invalid_argument, "node {} does not reach an output: it is not in the e-graph", root.value);
    bounds.roots.push_back(search.run().graph().class_of(node));
  }
  if (bounds.roots.empty()) bounds.roots = search.run().roots();
  bounds.depth = options.depth;
  bounds.only = options.classes;
  bounds.max_nodes = options.max_nodes;
  bounds.extraction = &search.run().choice();
  bounds.only_extracted = options.only_extracted;
  bounds.preferred = [&](NodeId node) { return search.birth(node).stage == 0; };
}

/// When the rows of each class became one: the merges of the whole run replayed, and kept where two sets of rows meet.
class Replay {
 public:
  Replay(const RecordedSearch& search, EGraphPicture& picture)
      : search_(search),
        picture_(picture),
        parent_(search.run().graph().id_bound()),
        row_(parent_.size(), egraph::kNone) {
    std::iota(parent_.begin(), parent_.end(), 0u);
    for (const PictureClass& c : picture.classes)
      for (uint32_t i = 0; i < c.nodes.size(); ++i) row_[c.nodes[i].id] = i;
    for (uint32_t i = 0; i < picture.classes.size(); ++i) position_[picture.classes[i].id] = i;
  }

  void run() {
    const std::vector<egraph::MergeRecord>& records = search_.run().graph().merge_records();
    for (uint32_t i = 0; i < records.size(); ++i) {
      const uint32_t a = find(records[i].left.value), b = find(records[i].right.value);
      if (a == b) continue;
      if (row_[a] != egraph::kNone && row_[b] != egraph::kNone)
        picture_.classes[position_.at(search_.run().graph().find(ClassId(a)).value)].merges.push_back(
            {row_[a], row_[b], search_.reason(records[i].reason, i)});
      parent_[b] = a;
      if (row_[a] == egraph::kNone) row_[a] = row_[b];
    }
  }

 private:
  uint32_t find(uint32_t id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }
  const RecordedSearch& search_;
  EGraphPicture& picture_;
  std::vector<uint32_t> parent_, row_;  // by node id; a row that stands for the set
  std::unordered_map<uint32_t, uint32_t> position_;
};

PictureNode picture_node(const RecordedSearch& search, NodeId node) {
  const SearchRun& run = search.run();
  PictureNode out;
  out.id = node.value;
  out.label = search.label(node);
  out.text = search.full_label(node);
  out.cost = run.cost_once(node);
  out.chosen = run.choice()[run.frozen().class_of(node)] == node;
  out.made = search.birth(node);
  out.kernel = run.frozen().op(node) == op_number(ir::Op::kernel);
  if (run.fusion().kernels.count(node)) out.computes = search.provenance(node);
  for (ClassId child : run.frozen().children(node)) out.operands.push_back(run.frozen().find(child).value);
  return out;
}

}  // namespace

std::string egraph_dot(const RecordedSearch& search, const PictureOptions& options) {
  egraph::DotOptions dot;
  set_bounds(dot, search, options);
  dot.label = [&](NodeId node) { return search.label(node); };
  if (options.costs) dot.cost = [&](NodeId node) { return search.run().cost_once(node); };
  dot.facts = [&](ClassId id) {
    const std::string name = search.name_of(id), facts = options.facts ? search.facts(id) : std::string();
    return name + (name.empty() || facts.empty() ? "" : ": ") + facts;
  };
  return egraph::write_dot(search.run().frozen(), dot);
}

EGraphPicture egraph_picture(const RecordedSearch& search, const PictureOptions& options) {
  egraph::Bounds bounds;
  set_bounds(bounds, search, options);
  const SearchRun& run = search.run();
  const egraph::Selection selection = egraph::select(run.frozen(), bounds);
  EGraphPicture picture;
  picture.stages = run.stages();
  picture.hidden_classes = selection.hidden_classes;
  picture.cost = run.choice().cost, picture.lower_bound = run.choice().lower_bound,
  picture.proven = run.choice().proven;
  std::unordered_map<uint32_t, std::vector<std::string>> names;
  for (uint32_t n = 0; n < run.searched().size(); ++n)
    if (const NodeId node = run.inserted().e_node[n]; node.valid() && !run.searched().node(ir::NodeId(n)).name.empty())
      names[run.graph().class_of(node).value].push_back(run.searched().node(ir::NodeId(n)).name);
  const std::vector<ClassId> outputs = run.roots();
  for (size_t i = 0; i < selection.classes.size(); ++i) {
    PictureClass c;
    c.id = selection.classes[i].value;
    c.facts = search.facts(selection.classes[i]);
    c.names = names[c.id];
    if (const std::string name = search.name_of(selection.classes[i]); c.names.empty() && !name.empty())
      c.names.push_back(name);
    c.hidden = selection.hidden[i];
    c.output = std::binary_search(outputs.begin(), outputs.end(), selection.classes[i]);
    for (NodeId node : selection.nodes[i]) c.nodes.push_back(picture_node(search, node));
    picture.classes.push_back(std::move(c));
  }
  Replay(search, picture).run();
  return picture;
}

}  // namespace weft::passes
