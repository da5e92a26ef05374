// Shape arithmetic of ONNX models: symbolic contents, Reshape, Slice, axes; forms of attributes over the opsets.
#include "tests/ir/import/onnx_error.hpp"
#include "tests/ir/import/onnx_model.hpp"

using namespace weft;
using namespace weft::test;
using Catch::Matchers::Contains;
using ir::DType;
using Values = std::vector<double>;
using Dims = std::vector<int64_t>;

namespace {

std::string output_type(const ir::Graph& g) { return to_string(g.type(g.outputs()[0].value)); }

OnnxModel reshape(const Dims& from, const Dims& to, bool allow_zero) {
  OnnxModel m;
  m.input("x", DType::f32, {from.begin(), from.end()}).ints("shape", to).output("y");
  auto& node = m.node("Reshape", {"x", "shape"}, {"y"});
  if (allow_zero) set_int(node, "allowzero", 1);
  return m;
}

OnnxModel slice(int64_t start, int64_t end, int64_t step) {
  OnnxModel m;
  m.input("x", DType::f32, {10})
      .ints("start", {start})
      .ints("end", {end})
      .ints("axes", {0})
      .ints("step", {step})
      .output("y");
  m.node("Slice", {"x", "start", "end", "axes", "step"}, {"y"});
  return m;
}

Values count_to(int n) {
  Values v;
  for (int i = 0; i < n; ++i) v.push_back(i);
  return v;
}

ir::Tensor arange(const Dims& dims) {
  ir::Tensor t = ir::Tensor::allocate({DType::f32, ir::to_shape(dims)});
  for (int64_t i = 0; i < t.elements(); ++i) t.mutable_as<float>()[static_cast<size_t>(i)] = static_cast<float>(i);
  return t;
}

}  // namespace

TEST_CASE("onnx: Reshape with 0, -1 and allowzero") {
  struct Case {
    Dims from, to;
    bool allow_zero;
    std::string result;  // empty: an error
  };
  for (const Case& c : std::vector<Case>{{{2, 3, 4}, {0, -1, 0}, false, "f32[2,3,4]"},
                                         {{2, 0}, {1, 2, 0}, true, "f32[1,2,0]"},
                                         {{2, 0}, {1, 2, 0}, false, ""},
                                         {{0, 4}, {-1, 4}, false, "f32[0,4]"},
                                         {{0, 3}, {0, 2}, true, "f32[0,2]"},
                                         {{0, 3}, {0, -1}, true, ""},
                                         {{6}, {4, -1}, false, ""},
                                         {{6}, {-1, -1}, false, ""},
                                         {{6}, {-2, -3}, false, ""},
                                         {{6}, {4}, false, ""},
                                         {{0, 10}, {0, 1, -1}, false, ""},
                                         {{1, 1}, {}, false, "f32[]"},
                                         {{4}, {int64_t{3037000500}, int64_t{3037000500}}, false, ""}}) {
    OnnxModel m = reshape(c.from, c.to, c.allow_zero);
    INFO(to_string(ir::to_shape(c.from)) << " <- " << to_string(ir::to_shape(c.to)) << " allowzero " << c.allow_zero);
    if (c.result.empty())
      CHECK_THAT(error_of([&] { m.import(); }), Contains("node 0 (Reshape)"));
    else
      CHECK(output_type(m.import()) == c.result);
  }
}

TEST_CASE("onnx: Slice with negative steps and ends out of range") {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();
  struct Case {
    int64_t start, end, step;
    Values result;
  };
  Values down = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
  for (const Case& c : std::vector<Case>{{0, 5, -1, {}},
                                         {9, 0, -1, {9, 8, 7, 6, 5, 4, 3, 2, 1}},
                                         {-1, kMin, -1, down},
                                         {-1, kMax, -1, {}},
                                         {8, -100, -3, {8, 5, 2}},
                                         {100, -100, -4, {9, 5, 1}},
                                         {-100, 100, 4, {0, 4, 8}},
                                         {3, 3, 1, {}},
                                         {0, kMax, 1, count_to(10)}}) {
    INFO(c.start << ":" << c.end << ":" << c.step);
    auto y = slice(c.start, c.end, c.step).run({{"x", arange({10})}})[0];
    CHECK(values_of(y) == c.result);
    CHECK(y.type().rank() == 1);
  }
  CHECK_THAT(error_of([] { slice(0, 1, 0).import(); }), Contains("step 0"));
}

TEST_CASE("onnx: Slice before opset 10 has attributes") {
  OnnxModel m(9);
  m.input("x", DType::f32, {3, 4}).output("y");
  auto& node = m.node("Slice", {"x"}, {"y"});
  set_ints(node, "starts", {1, -2});
  set_ints(node, "ends", {1000, -1});
  CHECK(values_of(m.run({{"x", arange({3, 4})}})[0]) == Values{6, 10});
}

TEST_CASE("onnx: axes that are negative, doubled or out of range") {
  auto unsqueeze = [](const Dims& axes) {
    OnnxModel m;
    m.input("x", DType::f32, {2, 3}).ints("axes", axes).output("y");
    m.node("Unsqueeze", {"x", "axes"}, {"y"});
    return m;
  };
  CHECK(output_type(unsqueeze({-1, 0}).import()) == "f32[1,2,3,1]");
  CHECK_THAT(error_of([&] { unsqueeze({3, -1}).import(); }), Contains("twice"));
  CHECK_THAT(error_of([&] { unsqueeze({5}).import(); }), Contains("axis 5 outside"));

  OnnxModel concat;
  concat.input("a", DType::f32, {2, 3}).input("b", DType::f32, {4, 3}).output("y");
  set_int(concat.node("Concat", {"a", "b"}, {"y"}), "axis", -2);
  CHECK(output_type(concat.import()) == "f32[6,3]");

  OnnxModel flatten;
  flatten.input("x", DType::f32, {2, 3, 4}).output("y");
  set_int(flatten.node("Flatten", {"x"}, {"y"}), "axis", -1);
  CHECK(output_type(flatten.import()) == "f32[6,4]");

  OnnxModel transpose;
  transpose.input("x", DType::f32, {2, 3}).output("y");
  set_ints(transpose.node("Transpose", {"x"}, {"y"}), "perm", {0, 0});
  CHECK_THAT(error_of([&] { transpose.import(); }), Contains("axis 0 is given twice"));

  OnnxModel sum;
  sum.input("x", DType::f32, {2, 3}).ints("axes", {-3}).output("y");
  sum.node("ReduceSum", {"x", "axes"}, {"y"});
  CHECK_THAT(error_of([&] { sum.import(); }), Contains("axis -3 outside"));
}

TEST_CASE("onnx: reductions without axes") {
  auto reduce = [](const std::string& op, bool noop, bool with_input) {
    OnnxModel m(18);
    m.input("x", DType::f32, {3, 5}).ints("axes", {}).output("y");
    auto& node = m.node(op, with_input ? std::vector<std::string>{"x", "axes"} : std::vector<std::string>{"x"}, {"y"});
    if (noop) set_int(node, "noop_with_empty_axes", 1);
    return m.run({{"x", arange({3, 5})}})[0];
  };
  for (const char* op : {"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMean"}) {
    CHECK(values_of(reduce(op, true, true)) == count_to(15));
    CHECK(values_of(reduce(op, true, false)) == count_to(15));
    CHECK(dims_of(reduce(op, false, true)) == Dims{1, 1});
  }
  CHECK(values_of(reduce("ReduceSum", false, true)) == Values{105});
}

TEST_CASE("onnx: a shape computed in the graph stays symbolic") {
  OnnxModel m;
  m.input("x", DType::f32, {"N", 3, "H", "W"}).ints("two", {2}).ints("three", {3}).output("y");
  m.node("Shape", {"x"}, {"s"});
  m.node("Gather", {"s", "two"}, {"h"});
  m.node("Gather", {"s", "three"}, {"w"});
  m.node("Mul", {"h", "w"}, {"hw"});
  m.ints("lead", {0, 3});
  set_int(m.node("Concat", {"lead", "hw"}, {"target"}), "axis", 0);
  m.node("Reshape", {"x", "target"}, {"flat"});
  m.node("Reshape", {"flat", "s"}, {"y"});
  ir::Graph g = m.import();
  CHECK(output_type(g) == "f32[N,3,H,W]");
  CHECK(g.size() == 3);  // the input and two reshapes
  for (const Dims& dims : std::vector<Dims>{{1, 3, 2, 3}, {1, 3, 5, 1}, {1, 3, 0, 4}}) {
    ir::Graph bound = ir::specialize(g, ir::bind_shapes(g, {{"x", dims}}));
    CHECK(ir::run_reference(bound, {{"x", arange(dims)}})[0].same_bits(arange(dims)));
  }
}

TEST_CASE("onnx: -1 in a symbolic reshape finds what is left") {
  auto type_of = [](const std::vector<TestDim>& from, const Dims& to) {
    OnnxModel m;
    m.input("x", DType::f32, from).ints("shape", to).output("y");
    m.node("Reshape", {"x", "shape"}, {"y"});
    return output_type(m.import());
  };
  CHECK(type_of({"N", 3, "H", "W"}, {0, 3, -1}) == "f32[N,3,H*W]");
  CHECK(type_of({"N", "T", 8, 8}, {0, -1, 64}) == "f32[N,T,64]");
  CHECK(type_of({"N", "T", 6}, {0, 0, 2, -1}) == "f32[N,T,2,3]");
  CHECK(type_of({"N", 4}, {-1}) == type_of({"N", 2, 2}, {-1}));
}

TEST_CASE("onnx: Expand to a shape with -1 replaced, as exporters write it") {
  OnnxModel m;
  m.input("x", DType::f32, {1, 4})
      .input("like", DType::f32, {"N", 4})
      .initializer("minus", ir::Tensor::scalar<int64_t>(-1))
      .output("y");
  m.node("Shape", {"like"}, {"s"});
  m.node("Shape", {"s"}, {"rank"});
  auto& ones = m.node("ConstantOfShape", {"rank"}, {"ones"});
  auto& value = *ones.add_attribute();
  value.set_name("value");
  value.set_type(::onnx::AttributeProto::TENSOR);
  *value.mutable_t() = to_proto(ir::Tensor::from<int64_t>({1}, {1}), "");
  m.node("Equal", {"s", "minus"}, {"unknown"});
  m.node("Where", {"unknown", "ones", "s"}, {"target"});
  m.node("Expand", {"x", "target"}, {"y"});
  CHECK(output_type(m.import()) == "f32[N,4]");
}

TEST_CASE("onnx: Range over a symbolic length") {
  OnnxModel m;
  m.input("x", DType::f32, {"N"})
      .initializer("zero", ir::Tensor::scalar<int64_t>(0))
      .initializer("one", ir::Tensor::scalar<int64_t>(1))
      .output("y");
  m.node("Size", {"x"}, {"n"});
  m.node("Range", {"zero", "n", "one"}, {"y"});
  ir::Graph g = m.import();
  CHECK(output_type(g) == "i64[N]");
  ir::Graph bound = ir::specialize(g, {{"N", 4}});
  CHECK(values_of(ir::run_reference(bound, {{"x", arange({4})}})[0]) == count_to(4));
}

TEST_CASE("onnx: a symbolic size can be a value of the run") {
  OnnxModel m;
  m.input("x", DType::f32, {"N", 3}).output("s").output("f");
  m.node("Shape", {"x"}, {"s"});
  m.node("Size", {"x"}, {"n"});
  set_int(m.node("Cast", {"n"}, {"f"}), "to", ::onnx::TensorProto::FLOAT);
  ir::Graph g = ir::specialize(m.import(), {{"N", 5}});
  auto out = ir::run_reference(g, {{"x", arange({5, 3})}});
  CHECK(values_of(out[0]) == Values{5, 3});
  CHECK(values_of(out[1]) == Values{15});
}

TEST_CASE("onnx: two symbols that meet in one op are taken to be equal") {
  OnnxModel m;
  m.input("a", DType::f32, {"N", 2}).input("b", DType::f32, {"M", 2}).output("y");
  m.node("Add", {"a", "b"}, {"y"});
  ir::Graph g = m.import();
  ir::Graph same = ir::specialize(g, {{"N", 2}, {"M", 2}});
  CHECK(values_of(ir::run_reference(same, {{"a", arange({2, 2})}, {"b", arange({2, 2})}})[0]) == Values{0, 2, 4, 6});
  CHECK_THAT(error_of([&] { ir::specialize(g, {{"N", 2}, {"M", 3}}); }), Contains("reshape"));
}

TEST_CASE("onnx: Clip in its three forms") {
  OnnxModel attributes(6);
  attributes.input("x", DType::f32, {2}).output("y");
  auto& node = attributes.node("Clip", {"x"}, {"y"});
  set_real(node, "min", 0);
  set_real(node, "max", 6);
  CHECK(values_of(attributes.run({{"x", f32({2}, {-1, 9})}})[0]) == Values{0, 6});
  OnnxModel inputs(11);
  inputs.input("x", DType::f32, {2}).floats("low", {}, {0}).output("y");
  inputs.node("Clip", {"x", "low"}, {"y"});
  CHECK(values_of(inputs.run({{"x", f32({2}, {-1, 9})}})[0]) == Values{0, 9});
  OnnxModel none(13);
  none.input("x", DType::f32, {2}).output("y");
  none.node("Clip", {"x"}, {"y"});
  CHECK(values_of(none.run({{"x", f32({2}, {-1, 9})}})[0]) == Values{-1, 9});
}

TEST_CASE("onnx: Add of opset 6 aligns its second operand with an axis") {
  OnnxModel m(6);
  m.input("x", DType::f32, {2, 3, 2}).floats("b", {3}, {10, 20, 30}).output("y");
  auto& node = m.node("Add", {"x", "b"}, {"y"});
  set_int(node, "broadcast", 1);
  set_int(node, "axis", 1);
  CHECK(values_of(m.run({{"x", f32({2, 3, 2}, {})}})[0]) == Values{10, 10, 20, 20, 30, 30, 10, 10, 20, 20, 30, 30});
}

TEST_CASE("onnx: Softmax before opset 13 flattens from its axis on") {
  auto softmax = [](int opset) {
    OnnxModel m(opset);
    m.input("x", DType::f32, {1, 2, 2}).output("y");
    set_int(m.node("Softmax", {"x"}, {"y"}), "axis", 1);
    return values_of(m.run({{"x", f32({1, 2, 2}, {0, 0, 0, 0})}})[0]);
  };
  CHECK(softmax(11) == Values{0.25, 0.25, 0.25, 0.25});
  CHECK(softmax(13) == Values{0.5, 0.5, 0.5, 0.5});
}

TEST_CASE("onnx: BatchNormalization is one scale and one shift on the parameters") {
  OnnxModel m;
  m.input("x", DType::f32, {"N", 2})
      .floats("s", {2}, {2, 1})
      .floats("b", {2}, {1, 0})
      .floats("m", {2}, {1, 0})
      .floats("v", {2}, {4, 1})
      .output("y");
  set_real(m.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"}), "epsilon", 0);
  ir::Graph g = m.import();
  CHECK(values_of(ir::run_reference(ir::specialize(g, {{"N", 1}}), {{"x", f32({1, 2}, {3, 5})}})[0]) == Values{3, 5});
  size_t on_input = 0;
  for (const ir::Node& node : g.nodes())
    for (ir::Value v : node.operands) on_input += g.node(v.node).op == ir::Op::input;
  CHECK(on_input == 1);
}
