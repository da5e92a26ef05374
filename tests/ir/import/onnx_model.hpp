#pragma once
// Small ONNX models for tests, built through the protobuf classes.
#include <onnx/onnx_pb.h>

#include <string>
#include <variant>
#include <vector>

#include "ir/eval.hpp"
#include "ir/import/onnx.hpp"

namespace weft::test {

/// A dimension of a test input: a number, or a name ("" is unknown).
using TestDim = std::variant<int64_t, std::string>;

class OnnxModel {
 public:
  explicit OnnxModel(int64_t opset = 17);
  OnnxModel& input(const std::string& name, ir::DType dtype, const std::vector<TestDim>& dims);
  OnnxModel& output(const std::string& name);
  OnnxModel& initializer(const std::string& name, const ir::Tensor& tensor);
  OnnxModel& floats(const std::string& name, std::vector<int64_t> dims, const std::vector<float>& values);
  OnnxModel& ints(const std::string& name, const std::vector<int64_t>& values);
  /// Appends a node; returns it for attributes.
  ::onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs, const std::string& name = "");

  ::onnx::GraphProto& graph() { return *proto.mutable_graph(); }
  std::string bytes() const { return proto.SerializeAsString(); }
  ir::Graph import(const ir::OnnxOptions& options = {}) const;
  /// Imports and runs the reference interpreter.
  std::vector<ir::Tensor> run(const ir::NamedTensors& inputs = {}, const ir::OnnxOptions& options = {}) const;

  ::onnx::ModelProto proto;
};

void set_int(::onnx::NodeProto& node, const std::string& name, int64_t value);
void set_real(::onnx::NodeProto& node, const std::string& name, float value);
void set_text(::onnx::NodeProto& node, const std::string& name, const std::string& value);
void set_ints(::onnx::NodeProto& node, const std::string& name, const std::vector<int64_t>& values);
void set_graph(::onnx::NodeProto& node, const std::string& name, const ::onnx::GraphProto& graph);
::onnx::TensorProto to_proto(const ir::Tensor& tensor, const std::string& name);

ir::Graph import_text(const std::string& bytes, const ir::OnnxOptions& options = {});
ir::Tensor f32(std::vector<int64_t> dims, const std::vector<float>& values);
std::vector<double> values_of(const ir::Tensor& tensor);
std::vector<int64_t> dims_of(const ir::Tensor& tensor);

}  // namespace weft::test
