#include "tests/ir/import/onnx_model.hpp"

#include "ir/support/error.hpp"

namespace weft::test {
namespace {

int32_t data_type(ir::DType dtype) {
  using P = ::onnx::TensorProto;
  static constexpr int32_t kTypes[] = {P::BOOL,  P::UINT8, P::UINT16,  P::UINT32,   P::UINT64, P::INT8,  P::INT16,
                                       P::INT32, P::INT64, P::FLOAT16, P::BFLOAT16, P::FLOAT,  P::DOUBLE};
  return kTypes[static_cast<int>(dtype)];
}

::onnx::AttributeProto& attribute(::onnx::NodeProto& node, const std::string& name,
                                  ::onnx::AttributeProto::AttributeType type) {
  ::onnx::AttributeProto& a = *node.add_attribute();
  a.set_name(name);
  a.set_type(type);
  return a;
}

}  // namespace

OnnxModel::OnnxModel(int64_t opset) {
  proto.set_ir_version(8);
  auto* import = proto.add_opset_import();
  import->set_domain("");
  import->set_version(opset);
  proto.mutable_graph()->set_name("test");
}

OnnxModel& OnnxModel::input(const std::string& name, ir::DType dtype, const std::vector<TestDim>& dims) {
  auto* value = graph().add_input();
  value->set_name(name);
  auto* type = value->mutable_type()->mutable_tensor_type();
  type->set_elem_type(data_type(dtype));
  type->mutable_shape();
  for (const TestDim& dim : dims) {
    auto* d = type->mutable_shape()->add_dim();
    if (auto* number = std::get_if<int64_t>(&dim))
      d->set_dim_value(*number);
    else if (!std::get<std::string>(dim).empty())
      d->set_dim_param(std::get<std::string>(dim));
  }
  return *this;
}

OnnxModel& OnnxModel::output(const std::string& name) {
  graph().add_output()->set_name(name);
  return *this;
}

OnnxModel& OnnxModel::initializer(const std::string& name, const ir::Tensor& tensor) {
  *graph().add_initializer() = to_proto(tensor, name);
  return *this;
}

OnnxModel& OnnxModel::floats(const std::string& name, std::vector<int64_t> dims, const std::vector<float>& values) {
  return initializer(name, f32(std::move(dims), values));
}

OnnxModel& OnnxModel::ints(const std::string& name, const std::vector<int64_t>& values) {
  return initializer(name, ir::Tensor::from<int64_t>({static_cast<int64_t>(values.size())}, values));
}

::onnx::NodeProto& OnnxModel::node(const std::string& op, const std::vector<std::string>& inputs,
                                   const std::vector<std::string>& outputs, const std::string& name) {
  ::onnx::NodeProto& node = *graph().add_node();
  node.set_op_type(op);
  node.set_name(name);
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  return node;
}

ir::Graph OnnxModel::import(const ir::OnnxOptions& options) const { return import_text(bytes(), options); }

std::vector<ir::Tensor> OnnxModel::run(const ir::NamedTensors& inputs, const ir::OnnxOptions& options) const {
  return ir::run_reference(import(options), inputs);
}

void set_int(::onnx::NodeProto& node, const std::string& name, int64_t value) {
  attribute(node, name, ::onnx::AttributeProto::INT).set_i(value);
}
void set_real(::onnx::NodeProto& node, const std::string& name, float value) {
  attribute(node, name, ::onnx::AttributeProto::FLOAT).set_f(value);
}
void set_text(::onnx::NodeProto& node, const std::string& name, const std::string& value) {
  attribute(node, name, ::onnx::AttributeProto::STRING).set_s(value);
}
void set_ints(::onnx::NodeProto& node, const std::string& name, const std::vector<int64_t>& values) {
  auto& a = attribute(node, name, ::onnx::AttributeProto::INTS);
  for (int64_t v : values) a.add_ints(v);
}
void set_graph(::onnx::NodeProto& node, const std::string& name, const ::onnx::GraphProto& graph) {
  *attribute(node, name, ::onnx::AttributeProto::GRAPH).mutable_g() = graph;
}

::onnx::TensorProto to_proto(const ir::Tensor& tensor, const std::string& name) {
  ::onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(data_type(tensor.dtype()));
  for (int64_t d : to_ints(tensor.shape())) proto.add_dims(d);
  proto.set_raw_data(tensor.data(), tensor.bytes());
  return proto;
}

ir::Graph import_text(const std::string& bytes, const ir::OnnxOptions& options) {
  return ir::import_onnx_bytes(std::as_bytes(std::span(bytes.data(), bytes.size())), options);
}

ir::Tensor f32(std::vector<int64_t> dims, const std::vector<float>& values) {
  return ir::Tensor::from<float>(std::move(dims), values);
}

std::vector<double> values_of(const ir::Tensor& tensor) {
  std::vector<double> out;
  for (int64_t i = 0; i < tensor.elements(); ++i) out.push_back(tensor.at_double(i));
  return out;
}

std::vector<int64_t> dims_of(const ir::Tensor& tensor) { return to_ints(tensor.shape()); }

}  // namespace weft::test
