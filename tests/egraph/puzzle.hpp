#pragma once
// Small e-graphs given node by node for tests of extraction, with an oracle that shares nothing with the engine.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "egraph/json.hpp"

namespace weft::egraph::test {

/// A graph given node by node, cycles and all, with a cost per node (nullopt: may not be chosen).
struct Puzzle {
  struct Node {
    uint32_t owner;
    std::vector<uint32_t> children;
    std::optional<uint64_t> cost;
  };
  uint32_t classes = 0;
  std::vector<Node> nodes;
  std::vector<uint32_t> roots;

  struct Oracle {
    bool complete = true;  // false: out of steps
    std::optional<uint64_t> best;
  };
  /// The cheapest acyclic choice by trying all nodes of each class that is needed; gives up after so many steps.
  Oracle oracle(uint64_t steps = UINT64_MAX) const;
  /// The cost of a choice; nullopt where it is cyclic or lacks a class.
  std::optional<uint64_t> cost_of(const std::vector<uint32_t>& choice) const;
  JsonGraph graph() const;
};

inline Puzzle::Oracle Puzzle::oracle(uint64_t steps) const {
  std::vector<std::vector<uint32_t>> members(classes);
  for (uint32_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].cost) members[nodes[i].owner].push_back(i);
  Oracle found;
  std::vector<uint32_t> choice(classes, kNone), needed;
  std::vector<char> seen(classes);
  const auto need = [&](uint32_t id) {
    if (!seen[id]) seen[id] = 1, needed.push_back(id);
  };
  const std::function<void(size_t, uint64_t)> decide = [&](size_t next, uint64_t cost) {
    if (!steps || !--steps) return void(found.complete = false);
    if (found.best && cost >= *found.best) return;
    if (next == needed.size()) {
      if (cost_of(choice)) found.best = cost;
      return;
    }
    const uint32_t id = needed[next];
    const size_t before = needed.size();
    for (uint32_t node : members[id]) {
      choice[id] = node;
      for (uint32_t child : nodes[node].children) need(child);
      decide(next + 1, cost + *nodes[node].cost);
      for (; needed.size() > before; needed.pop_back()) seen[needed.back()] = 0;
    }
    choice[id] = kNone;
  };
  for (uint32_t root : roots) need(root);
  decide(0, 0);
  return found;
}

inline std::optional<uint64_t> Puzzle::cost_of(const std::vector<uint32_t>& choice) const {
  std::vector<int> state(classes);
  uint64_t cost = 0;
  const std::function<bool(uint32_t)> visit = [&](uint32_t id) {
    if (state[id] == 2) return true;
    if (state[id] == 1 || choice[id] == kNone) return false;
    state[id] = 1;
    for (uint32_t child : nodes[choice[id]].children)
      if (!visit(child)) return false;
    state[id] = 2;
    cost += *nodes[choice[id]].cost;
    return true;
  };
  for (uint32_t root : roots)
    if (!visit(root)) return std::nullopt;
  return cost;
}

inline JsonGraph Puzzle::graph() const {
  std::vector<uint32_t> first(classes, kNone);
  for (uint32_t i = 0; i < nodes.size(); ++i)
    if (first[nodes[i].owner] == kNone) first[nodes[i].owner] = i;
  std::string text = "{\"nodes\":{";
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    std::string children;
    for (uint32_t child : nodes[i].children)
      children += fmt::format("{}\"n{}\"", children.empty() ? "" : ",", first[child]);
    text += fmt::format("{}\"n{}\":{{\"op\":\"f\",\"eclass\":\"{}\",\"cost\":{},\"children\":[{}]}}", i ? "," : "", i,
                        nodes[i].owner, nodes[i].cost ? static_cast<double>(*nodes[i].cost) : -1.0, children);
  }
  text += "},\"root_eclasses\":[";
  for (size_t i = 0; i < roots.size(); ++i) text += fmt::format("{}\"{}\"", i ? "," : "", roots[i]);
  return read_json(text + "]}");
}

inline NodeCost costs_of(const JsonGraph& graph, double scale = 1) {
  return [&graph, scale](NodeId node) -> std::optional<uint64_t> {
    if (graph.cost[node.value] < 0) return std::nullopt;
    return static_cast<uint64_t>(std::llround(graph.cost[node.value] * scale));
  };
}

}  // namespace weft::egraph::test
