// The key of a plan, and the form in which plans are stored: in the order of the key, whatever the graph's own order
// and names.
#include <atomic>
#include <unordered_map>

#include "ir/support/error.hpp"
#include "passes/pipeline.hpp"
#include "runtime/plan_cache.hpp"
#include "runtime/plan_codec.hpp"
#include "runtime/version.hpp"

namespace weft::runtime {
namespace {

std::atomic<bool> constant_hash = false;

/// For each leaf of the graph in its own order, its place in the key; -1 where nothing reads it.
std::vector<int> places_in_key(std::span<const ir::NodeId> leaves, const std::vector<ir::NodeId>& key_order) {
  std::unordered_map<ir::NodeId, int> place_of;
  for (size_t i = 0; i < key_order.size(); ++i) place_of[key_order[i]] = static_cast<int>(i);
  std::vector<int> places;
  for (ir::NodeId leaf : leaves) {
    auto at = place_of.find(leaf);
    places.push_back(at == place_of.end() ? -1 : at->second);
  }
  return places;
}

/// Moves values (and the buffers that hold them) to new places; those without one are dropped, their buffers emptied.
void reorder(ir::Plan& plan, std::vector<ir::PlanValue>& values, ir::Placement placement,
             const std::vector<int>& places, size_t count) {
  WEFT_CHECK(places.size() == values.size(), "{} places for {} values", places.size(), values.size());
  std::vector<ir::PlanValue> moved(count);
  for (size_t i = 0; i < values.size(); ++i)
    if (places[i] >= 0) moved[static_cast<size_t>(places[i])] = values[i];
  for (ir::Buffer& buffer : plan.buffers) {
    if (buffer.placement != placement) continue;
    WEFT_CHECK(buffer.index < places.size());
    if (places[buffer.index] >= 0)
      buffer.index = static_cast<uint32_t>(places[buffer.index]);
    else
      buffer = {ir::Placement::bound, buffer.dtype, 0, 0, 0};
  }
  values = std::move(moved);
}

/// The reverse of places_in_key for `count` places; values that nothing reads get a type and name, and no buffer.
void spread(ir::Plan& plan, std::vector<ir::PlanValue>& values, ir::Placement placement, const ir::Graph& graph,
            std::span<const ir::NodeId> leaves, const std::vector<int>& places) {
  std::vector<ir::PlanValue> moved(leaves.size());
  std::vector<uint32_t> index_of(values.size(), 0);
  size_t used = 0;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const ir::Node& node = graph.node(leaves[i]);
    if (places[i] >= 0) {
      auto place = static_cast<size_t>(places[i]);
      if (place >= values.size() || values[place].type != node.types[0])
        fail(ErrorCode::parse, "the stored plan does not fit '{}' of {}", node.name, to_string(node.types[0]));
      moved[i].buffer = values[place].buffer;
      index_of[place] = static_cast<uint32_t>(i);
      ++used;
    }
    moved[i].name = node.name;
    moved[i].type = node.types[0];
  }
  if (used != values.size()) fail(ErrorCode::parse, "the stored plan has {} leaves, the graph {}", values.size(), used);
  for (ir::Buffer& buffer : plan.buffers)
    if (buffer.placement == placement) buffer.index = index_of.at(buffer.index);
  values = std::move(moved);
}

}  // namespace

void force_constant_key_hash(bool on) { constant_hash = on; }

PlanKey plan_key(const ir::Graph& graph, std::span<const ir::Target* const> targets, const passes::Options& options) {
  ir::StructuralKey structure = ir::structural_key(graph);
  PlanKey key;
  key.text = fmt::format("weft {} format {}\noptions {}\nrules {}\n", version(), kPlanFormat, options.key_text(),
                         passes::rule_set_hash(targets, options).hex());
  for (const ir::Target* target : targets)
    key.text += fmt::format("backend {}: {}; cpu {}\n", target->name(), target->version(), target->machine().cpu);
  Hasher h;
  h.text(key.text).hash(structure.hash);
  key.hash = constant_hash ? Hash128{1, 1} : h.finish();
  key.text += "structure " + structure.canonical;
  return key;
}

ir::Plan canonical_plan(const ir::Plan& plan, const ir::Graph& graph) {
  ir::Plan canonical = plan;
  auto inputs = ir::inputs_in_key_order(graph), parameters = ir::parameters_in_key_order(graph);
  reorder(canonical, canonical.inputs, ir::Placement::input, places_in_key(graph.inputs(), inputs), inputs.size());
  reorder(canonical, canonical.parameters, ir::Placement::parameter, places_in_key(graph.parameters(), parameters),
          parameters.size());
  return canonical;
}

ir::Plan plan_for_graph(const ir::Plan& canonical, const ir::Graph& graph) {
  ir::Plan plan = canonical;
  plan.graph_name = graph.name();
  spread(plan, plan.inputs, ir::Placement::input, graph, graph.inputs(),
         places_in_key(graph.inputs(), ir::inputs_in_key_order(graph)));
  spread(plan, plan.parameters, ir::Placement::parameter, graph, graph.parameters(),
         places_in_key(graph.parameters(), ir::parameters_in_key_order(graph)));
  if (plan.outputs.size() != graph.outputs().size())
    fail(ErrorCode::parse, "the stored plan has {} outputs, the graph {}", plan.outputs.size(), graph.outputs().size());
  for (size_t o = 0; o < plan.outputs.size(); ++o) {
    if (plan.outputs[o].type != graph.type(graph.outputs()[o].value))
      fail(ErrorCode::parse, "output {} of the stored plan is {}, of the graph {}", o, to_string(plan.outputs[o].type),
           to_string(graph.type(graph.outputs()[o].value)));
    plan.outputs[o].name = graph.outputs()[o].name;
  }
  return plan;
}

}  // namespace weft::runtime
