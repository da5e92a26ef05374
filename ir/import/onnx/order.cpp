#include "ir/import/onnx/order.hpp"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "ir/support/error.hpp"

namespace weft::ir::onnx_import {
namespace {

constexpr int kGiven = -1;

struct Producers {
  std::unordered_map<std::string_view, int> by_name;  // node index, or kGiven
};

Producers find_producers(const Nodes& nodes, const GraphNames& names) {
  Producers p;
  std::unordered_map<std::string_view, std::string_view> kinds;
  for (const auto& [name, kind] : names.given) {
    auto [it, fresh] = kinds.emplace(name, kind);
    if (!fresh) fail(ErrorCode::parse, "the name '{}' is defined twice: by {} and by {}", name, it->second, kind);
    p.by_name.emplace(name, kGiven);
  }
  for (int i = 0; i < nodes.size(); ++i)
    for (const std::string& name : nodes[i].output()) {
      if (name.empty()) continue;
      auto [it, fresh] = p.by_name.emplace(name, i);
      if (fresh) continue;
      std::string first =
          it->second == kGiven ? std::string(kinds.at(name)) : node_place(nodes[it->second], it->second);
      fail(ErrorCode::parse, "the name '{}' is defined twice: by {} and by {}", name, first, node_place(nodes[i], i));
    }
  return p;
}

/// Calls f(name) for every name that a node reads: inputs, and what its subgraphs take from outside.
template <typename F>
void for_each_use(const ::onnx::NodeProto& node, F f) {
  for (const std::string& name : node.input())
    if (!name.empty()) f(name);
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g())
      for (const std::string& name : free_names(attribute.g())) f(name);
    for (const auto& graph : attribute.graphs())
      for (const std::string& name : free_names(graph)) f(name);
  }
}

[[noreturn]] void report_missing(const Nodes& nodes, int index, const std::string& name) {
  const auto& node = nodes[index];
  for (int k = 0; k < node.input_size(); ++k)
    if (node.input(k) == name)
      fail(ErrorCode::parse, "{}: input {} '{}' is produced by no node, graph input or initializer",
           node_place(node, index), k, name);
  fail(ErrorCode::parse, "{}: '{}', used in a subgraph, is produced by no node, graph input or initializer",
       node_place(node, index), name);
}

/// Walks from one blocked node to a blocked producer until a node comes again: that edge closes a cycle.
[[noreturn]] void report_cycle(const Nodes& nodes, const std::vector<std::vector<int>>& needs,
                               const std::vector<char>& done) {
  int at = static_cast<int>(std::find(done.begin(), done.end(), 0) - done.begin());
  std::vector<char> seen(done.size());
  while (true) {
    seen[static_cast<size_t>(at)] = 1;
    int next = kGiven;
    for (int p : needs[static_cast<size_t>(at)])
      if (!done[static_cast<size_t>(p)]) next = p;
    WEFT_CHECK(next != kGiven, "a node without producers is not ordered");
    if (seen[static_cast<size_t>(next)]) {
      std::string through;
      for (const std::string& name : nodes[at].input())
        if (std::find(nodes[next].output().begin(), nodes[next].output().end(), name) != nodes[next].output().end())
          through = name;
      fail(ErrorCode::parse, "the graph has a cycle: {} needs '{}' of {}, which depends on it",
           node_place(nodes[at], at), through, node_place(nodes[next], next));
    }
    at = next;
  }
}

/// Kahn's algorithm; of the nodes that are ready the first in the file comes first.
std::vector<int> sort_nodes(const Nodes& nodes, const std::vector<std::vector<int>>& needs) {
  size_t count = needs.size();
  std::vector<std::vector<int>> users(count);
  std::vector<size_t> missing(count);
  for (size_t i = 0; i < count; ++i) {
    missing[i] = needs[i].size();
    for (int p : needs[i]) users[static_cast<size_t>(p)].push_back(static_cast<int>(i));
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (size_t i = 0; i < count; ++i)
    if (missing[i] == 0) ready.push(static_cast<int>(i));
  std::vector<int> order;
  std::vector<char> done(count);
  while (!ready.empty()) {
    int at = ready.top();
    ready.pop();
    order.push_back(at);
    done[static_cast<size_t>(at)] = 1;
    for (int user : users[static_cast<size_t>(at)])
      if (--missing[static_cast<size_t>(user)] == 0) ready.push(user);
  }
  if (order.size() != count) report_cycle(nodes, needs, done);
  return order;
}

}  // namespace

std::string node_place(const ::onnx::NodeProto& node, int index) {
  std::string place = "node " + std::to_string(index);
  if (!node.name().empty()) place += " '" + node.name() + "'";
  return place + " (" + node.op_type() + ")";
}

std::vector<std::string> free_names(const ::onnx::GraphProto& graph) {
  std::unordered_set<std::string_view> defined, seen;
  for (const auto& input : graph.input()) defined.insert(input.name());
  for (const auto& tensor : graph.initializer()) defined.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) defined.insert(tensor.values().name());
  for (const auto& node : graph.node())
    for (const std::string& name : node.output()) defined.insert(name);
  std::vector<std::string> inner, out;  // inner keeps nested names alive while views point at them
  auto use = [&](const std::string& name) {
    if (!name.empty() && !defined.contains(name)) inner.push_back(name);
  };
  for (const auto& node : graph.node()) for_each_use(node, use);
  for (const auto& output : graph.output()) use(output.name());
  for (const std::string& name : inner)
    if (seen.insert(name).second) out.push_back(name);
  return out;
}

std::vector<int> order_nodes(const Nodes& nodes, const GraphNames& names) {
  Producers producers = find_producers(nodes, names);
  std::vector<std::vector<int>> needs(static_cast<size_t>(nodes.size()));
  for (int i = 0; i < nodes.size(); ++i) {
    auto& mine = needs[static_cast<size_t>(i)];
    for_each_use(nodes[i], [&](const std::string& name) {
      auto it = producers.by_name.find(name);
      if (it == producers.by_name.end()) {
        if (!names.is_outer(name)) report_missing(nodes, i, name);
      } else if (it->second != kGiven) {
        mine.push_back(it->second);
      }
    });
    std::sort(mine.begin(), mine.end());
    mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
  }
  std::vector<int> order = sort_nodes(nodes, needs);
  std::vector<char> live(needs.size());
  for (const std::string& name : names.wanted)
    if (auto it = producers.by_name.find(name); it != producers.by_name.end() && it->second != kGiven)
      live[static_cast<size_t>(it->second)] = 1;
  for (size_t k = order.size(); k-- > 0;) {
    size_t at = static_cast<size_t>(order[k]);
    if (!live[at]) continue;
    for (int p : needs[at]) live[static_cast<size_t>(p)] = 1;
  }
  std::erase_if(order, [&](int i) { return !live[static_cast<size_t>(i)]; });
  return order;
}

}  // namespace weft::ir::onnx_import
