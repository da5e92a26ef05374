#pragma once
// Runs a program through a backend's kernel and through the reference interpreter, and compares.
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "backends/registry.hpp"
#include "ir/eval.hpp"
#include "ir/program.hpp"
#include "tests/catch.hpp"

namespace weft::test {

using ir::Attributes;
using ir::Op;
using ir::OperandKind;
using ir::Value;

/// A program under construction: operands are told apart as values and parameters.
struct Case {
  ir::Graph graph;
  std::vector<OperandKind> kinds;
  std::vector<ir::Tensor> data;
  std::mt19937 random{7};

  Value add(const std::vector<int64_t>& dims, OperandKind kind) {
    ir::Tensor t = ir::Tensor::allocate({ir::DType::f32, ir::to_shape(dims)});
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (float& f : t.mutable_as<float>()) f = uniform(random);
    data.push_back(t);
    kinds.push_back(kind);
    return graph.input("i" + std::to_string(kinds.size()), t.type());
  }
  Value value(const std::vector<int64_t>& dims) { return add(dims, OperandKind::value); }
  Value parameter(const std::vector<int64_t>& dims) { return add(dims, OperandKind::parameter); }
  Value number(float f) { return graph.constant(ir::Tensor::scalar<float>(f)); }
  Value op(Op o, const std::vector<Value>& operands, const Attributes& attributes = {}) {
    return graph.value(o, operands, attributes);
  }
  Value transpose(Value x, const std::vector<int64_t>& perm) { return op(Op::transpose, {x}, {{"perm", perm}}); }
  Value reshape(Value x, const std::vector<int64_t>& dims) {
    return op(Op::reshape, {x}, {{"shape", ir::to_shape(dims)}});
  }
  Value conv(Value x, Value w, const Attributes& attributes) { return op(Op::conv, {x, w}, attributes); }
  ir::KernelRequest request(Value result, int threads, bool contract = false) {
    graph.set_outputs({{"y", result}});
    return {ir::make_program(graph), kinds, threads, contract};
  }
};

struct Buffer {
  explicit Buffer(size_t size) : bytes(size + 64) {}
  void* data() { return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(bytes.data()) + 63) / 64 * 64); }
  std::vector<char> bytes;
};

/// `in_place`: the output takes over the first operand that the kernel names; `backwards`: parts from last to first.
inline ir::Tensor run_kernel(const backends::Kernel& kernel, const ir::Program& program,
                             const std::vector<OperandKind>& kinds, const std::vector<ir::Tensor>& data,
                             bool in_place = false, bool backwards = false,
                             const backends::PackedParameters* packed = nullptr) {
  std::vector<ir::Tensor> parameters(data.size());
  for (size_t i = 0; i < data.size(); ++i)
    if (kinds[i] == OperandKind::parameter) parameters[i] = data[i];
  std::unique_ptr<backends::PackedParameters> own;
  if (!packed) own = kernel.pack(parameters), packed = own.get();
  ir::Tensor result = ir::Tensor::allocate(program.graph().type(program.graph().outputs()[0].value));
  for (float& f : result.mutable_as<float>()) f = 12345.0f;
  std::vector<const void*> inputs;
  for (const ir::Tensor& t : data) inputs.push_back(t.data());
  if (in_place) {
    REQUIRE(!kernel.resources().in_place.empty());
    const auto taken = static_cast<size_t>(kernel.resources().in_place[0]);
    std::memcpy(result.mutable_data(), data[taken].data(), data[taken].bytes());
    inputs[taken] = result.data();
  }
  void* outputs[] = {result.mutable_data()};
  Buffer scratch(static_cast<size_t>(kernel.resources().scratch_bytes));
  const int parts = kernel.resources().parts;
  for (int i = 0; i < parts; ++i) {
    std::memset(scratch.data(), 0xff, static_cast<size_t>(kernel.resources().scratch_bytes));  // NaN
    kernel.run({inputs, outputs, scratch.data(), packed}, backwards ? parts - 1 - i : i);
  }
  return result;
}

/// Largest |found - expected| / (absolute + relative * |expected|); NaN and infinities must agree. At most 1 is a pass.
inline double mismatch(const ir::Tensor& found, const ir::Tensor& expected, double absolute, double relative) {
  double worst = 0;
  const auto a = found.as<float>(), b = expected.as<float>();
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(b[i]) || std::isinf(b[i])) {
      if (!(std::isnan(a[i]) && std::isnan(b[i])) && a[i] != b[i]) return HUGE_VAL;
    } else {
      const double error = std::fabs(static_cast<double>(a[i]) - b[i]) / (absolute + relative * std::fabs(b[i]));
      if (!(error <= worst)) worst = error;
    }
  }
  return worst;
}

}  // namespace weft::test
