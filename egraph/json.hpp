#pragma once
// E-graphs in the JSON form of egraph-serialize (nodes by id with op, children, eclass, cost; root_eclasses).
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "egraph/extract.hpp"
#include "egraph/frozen.hpp"

namespace weft::egraph {

/// Symbols whose ops are texts.
class NamedSymbols : public SymbolTable {
 public:
  uint32_t op_number(const std::string& name);
  std::string name(SymbolId id) const override { return names_[op(id)]; }

 private:
  std::vector<std::string> names_;
  std::map<std::string, uint32_t, std::less<>> numbers_;
};

/// An e-graph that was read, with what the file says of its nodes and classes.
struct JsonGraph {
  std::unique_ptr<NamedSymbols> symbols;
  std::unique_ptr<EGraph> graph;
  std::vector<double> cost;  ///< by node id
  std::vector<std::string>
      node_names;  ///< by node id: the key in the file; empty for nodes that stand for a class only
  std::map<std::string, ClassId> classes;
  std::vector<ClassId> roots;
};

/// Reads an e-graph. `congruent`: equal nodes are one (classes may merge); otherwise every node of the file stays a
/// node of its own. Throws Error(parse) naming the node and what was expected.
JsonGraph read_json(std::string_view text, bool congruent = false);

/// Writes live nodes and roots; `cost` may be empty (each node then costs 1). A node's id is "class.index".
std::string write_json(const FrozenGraph& graph, std::span<const ClassId> roots, const NodeCost& cost = {});

}  // namespace weft::egraph
