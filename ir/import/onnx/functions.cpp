// Functions of the model that call one another must not call themselves.
#include <functional>

#include "ir/import/onnx/lower.hpp"
#include "ir/support/error.hpp"

namespace weft::ir::onnx_import {
namespace {

using Key = std::pair<std::string, std::string>;

/// Adds the functions called by these nodes and by their subgraphs (whose nesting the parser bounds).
void collect_calls(const google::protobuf::RepeatedPtrField<::onnx::NodeProto>& nodes,
                   const std::map<Key, size_t>& index, std::vector<size_t>& calls) {
  for (const auto& node : nodes) {
    auto it = index.find({canonical_domain(node.domain()), node.op_type()});
    if (it != index.end()) calls.push_back(it->second);
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) collect_calls(attribute.g().node(), index, calls);
      for (const auto& graph : attribute.graphs()) collect_calls(graph.node(), index, calls);
    }
  }
}

}  // namespace

void Lowering::check_function_calls() const {
  std::map<Key, size_t> index;
  std::vector<const ::onnx::FunctionProto*> functions;
  for (const auto& [key, function] : functions_) {
    index.emplace(key, functions.size());
    functions.push_back(function);
  }
  std::vector<std::vector<size_t>> calls(functions.size());
  for (size_t i = 0; i < functions.size(); ++i) collect_calls(functions[i]->node(), index, calls[i]);
  enum : char { fresh, open, closed };
  std::vector<char> state(functions.size(), fresh);
  for (size_t root = 0; root < functions.size(); ++root) {
    std::vector<std::pair<size_t, size_t>> path;  // function, next call to follow
    if (state[root] == fresh) path.emplace_back(root, 0);
    while (!path.empty()) {
      auto& [at, next] = path.back();
      state[at] = open;
      if (next == calls[at].size()) {
        state[at] = closed;
        path.pop_back();
        continue;
      }
      size_t callee = calls[at][next++];
      if (state[callee] == open) {
        std::string cycle;
        for (const auto& [step, unused] : path)
          if (!cycle.empty() || step == callee) cycle += functions[step]->name() + " -> ";
        fail(ErrorCode::parse, "functions call themselves: {}{}", cycle, functions[callee]->name());
      }
      if (state[callee] == fresh) path.emplace_back(callee, 0);
    }
  }
}

}  // namespace weft::ir::onnx_import
