#pragma once
// Names and order of the nodes of one graph: who produces what, sorted, each node once.
#include <onnx/onnx_pb.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::ir::onnx_import {

using Nodes = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

/// "node 3 'name' (Conv)", for messages; the index where the name is empty too.
std::string node_place(const ::onnx::NodeProto& node, int index);

/// Names that a graph takes from outside: used in it or in its subgraphs, but not defined there.
std::vector<std::string> free_names(const ::onnx::GraphProto& graph);

struct GraphNames {
  /// Names defined before the first node runs (inputs, initializers), each with what it is, for messages.
  std::vector<std::pair<std::string, std::string_view>> given;
  std::vector<std::string> wanted;  ///< names that must come out
  /// Whether an enclosing graph defines a name.
  std::function<bool(const std::string&)> is_outer;
};

/// Indices of the nodes that the wanted names depend on, in an order where producers come first (the file's own order
/// where it is one). Checks all nodes: throws Error(parse) on a name defined twice (naming both producers), a name that
/// nobody defines (naming node and input), a cycle (naming an edge).
std::vector<int> order_nodes(const Nodes& nodes, const GraphNames& names);

}  // namespace weft::ir::onnx_import
