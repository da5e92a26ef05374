#include "egraph/json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "ir/support/error.hpp"

namespace weft::egraph {

using Json = nlohmann::json;

uint32_t NamedSymbols::op_number(const std::string& name) {
  const auto [at, fresh] = numbers_.try_emplace(name, static_cast<uint32_t>(names_.size()));
  if (fresh) names_.push_back(name);
  return at->second;
}

namespace {

[[noreturn]] void malformed(const std::string& where, const std::string& what) {
  throw Error(ErrorCode::parse, what, "e-graph JSON, " + where);
}

std::string id_text(const Json& value, const std::string& where) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return value.dump();
  malformed(where, "expected an id (a string)");
}

const Json& field(const Json& object, const char* name, const std::string& where) {
  const auto at = object.find(name);
  if (at == object.end()) malformed(where, fmt::format("expected a field '{}'", name));
  return *at;
}

class Reader {
 public:
  explicit Reader(bool congruent) : congruent_(congruent) {
    result_.symbols = std::make_unique<NamedSymbols>();
    result_.graph = std::make_unique<EGraph>(*result_.symbols);
    stand_in_ = result_.symbols->op_number("(class)");
  }

  JsonGraph read(const Json& file) {
    if (!file.is_object()) malformed("top", "expected an object");
    const Json& nodes = field(file, "nodes", "top");
    if (!nodes.is_object()) malformed("nodes", "expected an object of nodes by id");
    for (const auto& [id, node] : nodes.items()) declare(id, node);
    for (const auto& [id, node] : nodes.items()) add(id, node);
    if (const auto roots = file.find("root_eclasses"); roots != file.end()) {
      if (!roots->is_array()) malformed("root_eclasses", "expected an array");
      for (const Json& root : *roots)
        result_.roots.push_back(find_class(id_text(root, "root_eclasses"), "root_eclasses"));
    }
    return finish();
  }

 private:
  /// Each class begins as a leaf that only stands for it, so that cycles can be written down.
  void declare(const std::string& id, const Json& node) {
    const std::string where = fmt::format("node '{}'", id);
    if (!node.is_object()) malformed(where, "expected an object");
    const std::string owner = id_text(field(node, "eclass", where), where);
    const auto [at, fresh] = result_.classes.try_emplace(owner);
    if (fresh)
      at->second =
          result_.graph->add(result_.symbols->intern(stand_in_, static_cast<uint32_t>(result_.classes.size())));
    class_of_node_[id] = at->second;
  }

  void add(const std::string& id, const Json& node) {
    const std::string where = fmt::format("node '{}'", id);
    const Json& op = field(node, "op", where);
    if (!op.is_string()) malformed(where, "expected a text 'op'");
    std::vector<ClassId> children;
    if (const auto list = node.find("children"); list != node.end()) {
      if (!list->is_array()) malformed(where, "expected an array 'children'");
      for (const Json& child : *list) {
        const std::string name = id_text(child, where);
        const auto at = class_of_node_.find(name);
        if (at == class_of_node_.end()) malformed(where, fmt::format("child '{}' is not a node of the file", name));
        children.push_back(at->second);
      }
    }
    double cost = 1;
    if (const auto at = node.find("cost"); at != node.end()) {
      if (!at->is_number()) malformed(where, "expected a number 'cost'");
      cost = at->get<double>();
    }
    const uint32_t distinct = congruent_ ? 0 : ++ordinal_;
    const NodeId made = result_.graph->add_node(
        result_.symbols->intern(result_.symbols->op_number(op.get<std::string>()), distinct), children);
    if (made.value >= result_.cost.size())
      result_.cost.resize(made.value + 1, 0), result_.node_names.resize(made.value + 1);
    result_.cost[made.value] = cost, result_.node_names[made.value] = id;
    result_.graph->merge(EGraph::class_alias(made), class_of_node_[id]);
  }

  ClassId find_class(const std::string& name, const std::string& where) {
    const auto at = result_.classes.find(name);
    if (at == result_.classes.end()) malformed(where, fmt::format("class '{}' has no node", name));
    return at->second;
  }

  JsonGraph finish() {
    EGraph& graph = *result_.graph;
    graph.rebuild();
    for (auto& [name, id] : result_.classes) {
      id = graph.find(id);
      graph.prune(id, [&](NodeId node) { return graph.op(node) != stand_in_; });
    }
    for (ClassId& root : result_.roots) root = graph.find(root);
    result_.cost.resize(graph.id_bound()), result_.node_names.resize(graph.id_bound());
    return std::move(result_);
  }

  const bool congruent_;
  uint32_t stand_in_ = 0, ordinal_ = 0;
  JsonGraph result_;
  std::map<std::string, ClassId> class_of_node_;
};

}  // namespace

JsonGraph read_json(std::string_view text, bool congruent) {
  Json file;
  try {
    file = Json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::parse, error.what(), "e-graph JSON");
  }
  return Reader(congruent).read(file);
}

std::string write_json(const FrozenGraph& graph, std::span<const ClassId> roots, const NodeCost& cost) {
  const auto id = [&](ClassId owner, size_t index) { return fmt::format("{}.{}", owner.value, index); };
  Json nodes = Json::object();
  for (ClassId owner : graph.classes()) {
    for (size_t i = 0; i < graph.nodes(owner).size(); ++i) {
      const NodeId node = graph.nodes(owner)[i];
      const std::optional<uint64_t> own = cost ? cost(node) : uint64_t{1};
      Json children = Json::array();
      for (ClassId child : graph.children(node)) children.push_back(id(child, 0));
      Json& out = nodes[id(owner, i)] = {{"op", graph.symbols().name(graph.symbol(node))},
                                         {"children", std::move(children)},
                                         {"eclass", std::to_string(owner.value)}};
      out["cost"] = own ? static_cast<double>(*own) : 1e300;
    }
  }
  Json root_list = Json::array();
  for (ClassId root : roots) root_list.push_back(std::to_string(graph.find(root).value));
  return Json{{"nodes", std::move(nodes)}, {"root_eclasses", std::move(root_list)}}.dump(
      1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace weft::egraph
