#pragma once
// From a parsed model to a graph: scopes of names, nodes in order, handlers, and one report of all that is unsupported.
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "ir/import/onnx.hpp"
#include "ir/import/onnx/builder.hpp"
#include "ir/import/onnx/call.hpp"
#include "ir/import/onnx/model.hpp"
#include "ir/import/onnx/order.hpp"

namespace weft::ir::onnx_import {

/// What cannot be translated, collected over the whole model. One entry an op and reason; the first node stands for
/// all.
class UnsupportedOps {
 public:
  void add(const std::string& domain, const std::string& op, int64_t opset, const std::string& place,
           const std::string& reason);
  bool empty() const { return entries_.empty(); }
  [[noreturn]] void report() const;

 private:
  struct Entry {
    int64_t opset;
    std::string place;
    size_t count, order;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Entry> entries_;  // domain, op, reason
};

class Lowering {
 public:
  Lowering(const Model& model, const OnnxOptions& options, const std::filesystem::path& base_dir);
  Graph run();

 private:
  struct Scope {
    const Scope* outer = nullptr;
    std::unordered_map<std::string, Ref> names;  // an invalid Ref: could not be translated
    std::set<std::string> absent = {};           // optional function inputs that the caller left out
    const Ref* find(const std::string& name) const;
  };
  /// Where nodes stand: the opsets that hold there and the function call that their attributes may refer to.
  struct Frame {
    const Opsets* opsets;
    const AttributeScope* attributes = nullptr;
    int depth = 0;
  };

  void declare_inputs(const ::onnx::GraphProto& graph, Scope& scope);
  void declare_initializers(const ::onnx::GraphProto& graph, Scope& scope);
  void lower_nodes(const Nodes& nodes, const std::vector<int>& order, Scope& scope, const Frame& frame);
  void lower_node(const ::onnx::NodeProto& node, const std::string& place, Scope& scope, const Frame& frame);
  Refs call_handler(const ::onnx::NodeProto& node, Handler handler, int64_t opset, const Refs& operands, Scope& scope,
                    const Frame& frame);
  Refs lower_if(Call& call);
  Refs choose_branch(Ref condition, const Refs& yes, const Refs& no);
  Refs lower_subgraph(const ::onnx::GraphProto& graph, const Scope& outer, const Frame& frame);
  Refs lower_function(const ::onnx::FunctionProto& function, const ::onnx::NodeProto& node, const Refs& operands,
                      const Frame& frame);
  void check_dead_nodes(const Nodes& nodes, const std::vector<int>& order, const Frame& frame);
  const ::onnx::FunctionProto* find_function(const ::onnx::NodeProto& node) const;
  void check_function_calls() const;

  const Model& model_;
  const OnnxOptions& options_;
  TensorReader reader_;
  Builder builder_;
  UnsupportedOps unsupported_;
  std::map<std::pair<std::string, std::string>, const ::onnx::FunctionProto*> functions_;
  size_t lowered_ = 0;
};

/// Types of the graph's inputs after the options: symbols for unknown dimensions, bound where options say so.
/// Checks that every name in the options exists.
std::vector<std::pair<std::string, TensorType>> input_types(const ::onnx::GraphProto& graph,
                                                            const OnnxOptions& options);

}  // namespace weft::ir::onnx_import
