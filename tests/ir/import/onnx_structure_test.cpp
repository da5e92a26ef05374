// Names, order, outputs, options, functions and branches of ONNX models.
#include "tests/ir/import/onnx_error.hpp"
#include "tests/ir/import/onnx_model.hpp"
#include "tests/small_stack.hpp"

using namespace weft;
using namespace weft::test;
using Catch::Matchers::Contains;
using ir::DType;
using Values = std::vector<double>;
using Dims = std::vector<int64_t>;

TEST_CASE("C03: onnx: a graph output may be a graph input, or a constant", "[peer-bugs]") {
  OnnxModel m;
  m.input("x", DType::f32, {})
      .initializer("zero", ir::Tensor::scalar(0.f))
      .floats("one", {}, {1})
      .output("zero")
      .output("x");
  m.node("Add", {"x", "one"}, {"more"});
  m.output("more");
  auto out = m.run({{"x", ir::Tensor::scalar(2.5f)}});
  REQUIRE(out.size() == 3);
  CHECK(values_of(out[0]) == Values{0});
  CHECK(values_of(out[1]) == Values{2.5});
  CHECK(values_of(out[2]) == Values{3.5});
}

TEST_CASE("C04: onnx: an output listed twice keeps its positions, later ones get a suffix", "[peer-bugs]") {
  OnnxModel m;
  m.input("x", DType::f32, {2}).floats("two", {}, {2});
  m.node("Neg", {"x"}, {"y"});
  m.node("Mul", {"y", "two"}, {"z"});
  m.output("y").output("z").output("y");
  ir::Graph g = m.import();
  REQUIRE(g.outputs().size() == 3);
  CHECK(g.outputs()[0].name == "y");
  CHECK(g.outputs()[1].name == "z");
  CHECK(g.outputs()[2].name == "y_1");
  auto out = ir::run_reference(g, {{"x", f32({2}, {1, -2})}});
  CHECK(values_of(out[0]) == Values{-1, 2});
  CHECK(values_of(out[1]) == Values{-2, 4});
  CHECK(values_of(out[2]) == Values{-1, 2});
}

TEST_CASE("C05: onnx: a name defined twice names both producers", "[peer-bugs]") {
  OnnxModel two_nodes;
  two_nodes.input("x", DType::f32, {2}).output("t");
  two_nodes.node("Add", {"x", "x"}, {"t"}, "first");
  two_nodes.node("Mul", {"x", "x"}, {"t"});
  std::string message = error_of([&] { two_nodes.import(); });
  CHECK_THAT(message, Contains("'t'") && Contains("node 0 'first' (Add)") && Contains("node 1 (Mul)"));

  OnnxModel like_input;
  like_input.input("x", DType::f32, {2}).output("x");
  like_input.node("Neg", {"x"}, {"x"});
  CHECK_THAT(error_of([&] { like_input.import(); }),
             Contains("'x'") && Contains("a graph input") && Contains("node 0 (Neg)"));

  OnnxModel weights;
  weights.floats("w", {1}, {1}).floats("w", {1}, {2}).output("w");
  CHECK_THAT(error_of([&] { weights.import(); }), Contains("'w'") && Contains("an initializer and by an initializer"));
}

TEST_CASE("C05: onnx: an initializer that is also an input is a default value; node names may repeat", "[peer-bugs]") {
  OnnxModel m;
  m.input("x", DType::f32, {1}).input("w", DType::f32, {1}).floats("w", {1}, {3}).output("z");
  m.node("Add", {"x", "w"}, {"y"}, "same");
  m.node("Add", {"y", "w"}, {"z"}, "same");
  ir::Graph g = m.import();
  REQUIRE(g.inputs().size() == 1);
  CHECK(values_of(ir::run_reference(g, {{"x", f32({1}, {1})}})[0]) == Values{7});
  CHECK(values_of(m.run({{"x", f32({1}, {1})}}, {.binds = {{"w", f32({1}, {5})}}})[0]) == Values{11});
}

TEST_CASE("C06: onnx: a missing tensor names the node, the input and the tensor", "[peer-bugs]") {
  OnnxModel m;
  m.input("x", DType::f32, {2, 2}).output("y");
  m.node("MatMul", {"x", "q"}, {"y"});
  CHECK_THAT(error_of([&] { m.import(); }), Contains("node 0 (MatMul): input 1 'q'"));
  OnnxModel output;
  output.input("x", DType::f32, {2}).output("nowhere");
  CHECK_THAT(error_of([&] { output.import(); }), Contains("graph output 'nowhere'"));
}

TEST_CASE("C06: onnx: an empty name is an absent optional input", "[peer-bugs]") {
  OnnxModel m;
  m.input("x", DType::f32, {2}).floats("high", {}, {3}).output("y");
  m.node("Clip", {"x", "", "high"}, {"y"});
  CHECK(values_of(m.run({{"x", f32({2}, {-5, 7})}})[0]) == Values{-5, 3});
}

TEST_CASE("C06: onnx: nodes in any order; a cycle names an edge", "[peer-bugs]") {
  OnnxModel reversed;
  reversed.input("x", DType::f32, {1}).output("c");
  reversed.node("Neg", {"b"}, {"c"});
  reversed.node("Abs", {"a"}, {"b"});
  reversed.node("Neg", {"x"}, {"a"});
  CHECK(values_of(reversed.run({{"x", f32({1}, {3})}})[0]) == Values{-3});

  OnnxModel cycle;
  cycle.input("x", DType::f32, {1}).output("b");
  cycle.node("Add", {"x", "b"}, {"a"}, "left");
  cycle.node("Neg", {"a"}, {"b"}, "right");
  std::string message = error_of([&] { cycle.import(); });
  CHECK_THAT(message, Contains("cycle") && Contains("'left'") && Contains("'right'"));
}

TEST_CASE("onnx: dimensions get symbols, and options bind them") {
  OnnxModel m;
  m.input("x", DType::f32, {"N", 3, ""}).output("y");
  m.node("Relu", {"x"}, {"y"});
  ir::Graph g = m.import();
  CHECK(to_string(g.type(g.outputs()[0].value)) == "f32[N,3,x_2]");
  ir::Graph by_dim = m.import({.dims = {{"N", 2}, {"x_2", 5}}});
  CHECK(to_string(by_dim.type(by_dim.outputs()[0].value)) == "f32[2,3,5]");
  ir::Graph by_shape = m.import({.shapes = {{"x", {4, 3, 7}}}});
  CHECK(by_shape.is_static());
  CHECK(to_string(by_shape.type(by_shape.outputs()[0].value)) == "f32[4,3,7]");
}

TEST_CASE("onnx: options that do not fit the model are errors") {
  OnnxModel m;
  m.input("x", DType::f32, {"N", 3}).input("y", DType::f32, {"N"}).output("z");
  m.node("Relu", {"x"}, {"z"});
  CHECK_THAT(error_of([&] { m.import({.dims = {{"M", 1}}}); }), Contains("'M'") && Contains("N"));
  CHECK_THAT(error_of([&] { m.import({.shapes = {{"q", {1}}}}); }), Contains("'q'") && Contains("'x', 'y'"));
  CHECK_THAT(error_of([&] { m.import({.shapes = {{"x", {1, 4}}}}); }), Contains("[1,4] against [N,3]"));
  CHECK_THAT(error_of([&] { m.import({.shapes = {{"x", {1, 3}}, {"y", {2}}}}); }), Contains("already 1"));
  CHECK_THAT(error_of([&] { m.import({.shapes = {{"x", {1, 3, 1}}}}); }), Contains("rank 3, expected 2"));
  CHECK_THAT(error_of([&] {
               m.import({.binds = {{"y", ir::Tensor::scalar<int64_t>(1)}}});
             }),
             Contains("is of f32, bound to i64[]"));
}

TEST_CASE("onnx: dimension names that fall together as identifiers stay apart") {
  OnnxModel m;
  m.input("x", DType::f32, {"a b", "a_b", "7"}).output("y");
  m.node("Relu", {"x"}, {"y"});
  ir::Graph g = m.import();
  const ir::Shape& shape = g.type(g.outputs()[0].value).shape;
  CHECK(shape[0] != shape[1]);
  ir::Graph bound = m.import({.dims = {{"a b", 2}, {"a_b", 3}, {"7", 4}}});
  CHECK(to_string(bound.type(bound.outputs()[0].value)) == "f32[2,3,4]");
}

TEST_CASE("onnx: a bound input is no longer an input, and folds") {
  OnnxModel m;
  m.input("x", DType::f32, {"N", "C"}).input("shape", DType::i64, {2}).output("y");
  m.node("Reshape", {"x", "shape"}, {"y"});
  CHECK_THAT(error_of([&] { m.import(); }), Contains("'shape' i64[2]") && Contains("computed at run time"));
  auto target = ir::Tensor::from<int64_t>({2}, {-1, 4});
  ir::Graph g = m.import({.shapes = {{"x", {2, 6}}}, .binds = {{"shape", target}}});
  CHECK(g.inputs().size() == 1);
  CHECK(to_string(g.type(g.outputs()[0].value)) == "f32[3,4]");
}

namespace {
::onnx::GraphProto branch(const std::string& op, const std::string& input, const std::string& output) {
  OnnxModel m;
  m.node(op, {input}, {output});
  m.output(output);
  return m.graph();
}
}  // namespace

TEST_CASE("onnx: If takes the branch of a known condition") {
  OnnxModel m;
  m.input("x", DType::f32, {"N"}).ints("three", {3}).output("y");
  m.node("Shape", {"x"}, {"s"});
  m.node("Equal", {"s", "three"}, {"c"});
  auto& node = m.node("If", {"c"}, {"y"});
  set_graph(node, "then_branch", branch("Neg", "x", "a"));
  set_graph(node, "else_branch", branch("NoSuchOp", "x", "b"));
  CHECK(values_of(m.run({{"x", f32({3}, {1, 2, 3})}}, {.dims = {{"N", 3}}})[0]) == Values{-1, -2, -3});
  CHECK_THAT(error_of([&] { m.import({.dims = {{"N", 4}}}); }), Contains("NoSuchOp"));
}

TEST_CASE("onnx: If with a condition of the run computes both branches and chooses") {
  OnnxModel m;
  m.input("x", DType::f32, {2}).input("c", DType::boolean, {}).output("y");
  auto& node = m.node("If", {"c"}, {"y"});
  set_graph(node, "then_branch", branch("Neg", "x", "a"));
  set_graph(node, "else_branch", branch("Abs", "x", "b"));
  ir::Tensor x = f32({2}, {1, -2});
  CHECK(values_of(m.run({{"x", x}, {"c", ir::Tensor::scalar(true)}})[0]) == Values{-1, 2});
  CHECK(values_of(m.run({{"x", x}, {"c", ir::Tensor::scalar(false)}})[0]) == Values{1, 2});
}

TEST_CASE("onnx: If with a condition of the run and a branch for other shapes asks to bind it") {
  OnnxModel m;
  m.input("x", DType::f32, {2}).input("c", DType::boolean, {}).ints("shape", {3}).output("y");
  auto& node = m.node("If", {"c"}, {"y"});
  set_graph(node, "then_branch", branch("Neg", "x", "a"));
  OnnxModel other;
  other.node("Reshape", {"x", "shape"}, {"b"});
  set_graph(node, "else_branch", other.output("b").graph());
  CHECK_THAT(error_of([&] { m.import(); }), Contains("bind the graph input") && Contains("(Reshape)"));
  auto y = m.run({{"x", f32({2}, {1, -2})}}, {.binds = {{"c", ir::Tensor::scalar(true)}}})[0];
  CHECK(values_of(y) == Values{-1, 2});
}

namespace {
::onnx::FunctionProto& function(OnnxModel& m, const std::string& name) {
  auto& f = *m.proto.add_functions();
  f.set_name(name);
  f.set_domain("local");
  f.add_input("p");
  f.add_output("q");
  *f.add_opset_import() = m.proto.opset_import(0);
  return f;
}
::onnx::NodeProto& body(::onnx::FunctionProto& f, const std::string& op, const std::string& domain,
                        const std::string& in, const std::string& out) {
  auto& node = *f.add_node();
  node.set_op_type(op);
  node.set_domain(domain);
  node.add_input(in);
  node.add_output(out);
  return node;
}
OnnxModel calling(const std::string& name) {
  OnnxModel m;
  m.input("x", DType::f32, {2}).output("y");
  m.node(name, {"x"}, {"y"}).set_domain("local");
  auto* import = m.proto.add_opset_import();
  import->set_domain("local");
  import->set_version(1);
  return m;
}
}  // namespace

TEST_CASE("onnx: functions of the model are expanded, with their attributes") {
  OnnxModel m = calling("leaky");
  auto& f = function(m, "leaky");
  f.add_attribute("slope");
  auto& node = body(f, "LeakyRelu", "", "p", "q");
  auto& reference = *node.add_attribute();
  reference.set_name("alpha");
  reference.set_ref_attr_name("slope");
  reference.set_type(::onnx::AttributeProto::FLOAT);
  set_real(*m.graph().mutable_node(0), "slope", 0.5f);
  CHECK(values_of(m.run({{"x", f32({2}, {-2, 2})}})[0]) == Values{-1, 2});
}

TEST_CASE("onnx: functions that call themselves name the cycle") {
  OnnxModel self = calling("f");
  body(function(self, "f"), "f", "local", "p", "q");
  CHECK_THAT(error_of([&] { self.import(); }), Contains("f -> f"));
  OnnxModel pair = calling("f");
  body(function(pair, "f"), "g", "local", "p", "q");
  body(function(pair, "g"), "f", "local", "p", "q");
  CHECK_THAT(error_of([&] { pair.import(); }), Contains("f -> g -> f"));
}

TEST_CASE("onnx: functions that double at each level end at a limit") {
  OnnxModel m = calling("f0");
  constexpr int kLevels = 30;
  for (int i = 0; i < kLevels; ++i) {
    auto& f = function(m, "f" + std::to_string(i));
    std::string next = "f" + std::to_string(i + 1), op = i + 1 < kLevels ? next : "Neg",
                domain = i + 1 < kLevels ? "local" : "";
    body(f, op, domain, "p", "m");
    body(f, op, domain, "m", "q");
  }
  CHECK_THAT(error_of([&] { m.import(); }), Contains("nodes after expanding functions"));
}

TEST_CASE("C02: onnx: a chain of 100,000 nodes, listed backwards, on a small stack", "[peer-bugs]") {
  constexpr int kNodes = test::kDeep;
  OnnxModel m;
  m.input("x", DType::f32, {1}).floats("one", {}, {1}).output("t0");
  for (int i = 0; i < kNodes; ++i)
    m.node("Add", {i + 1 == kNodes ? "x" : "t" + std::to_string(i + 1), "one"}, {"t" + std::to_string(i)});
  double result = 0;
  on_small_stack([&] { result = m.run({{"x", f32({1}, {0})}})[0].at_double(0); });
  CHECK(result == kNodes);
}

TEST_CASE("C02: onnx: a chain of 100,000 pairs of Split and Concat on a small stack", "[peer-bugs]") {
  constexpr int kPairs = test::kDeep;
  OnnxModel m;
  m.input("t0", DType::f32, {3}).ints("sizes", {1, 2}).output("t" + std::to_string(kPairs));
  for (int i = 0; i < kPairs; ++i) {
    const std::string n = std::to_string(i);
    m.node("Split", {"t" + n, "sizes"}, {"a" + n, "b" + n});
    set_int(m.node("Concat", {"b" + n, "a" + n}, {"t" + std::to_string(i + 1)}), "axis", 0);
  }
  Values result;
  on_small_stack([&] { result = values_of(m.run({{"t0", f32({3}, {5, 6, 7})}})[0]); });
  CHECK(result == Values{6, 7, 5});  // one more than a multiple of 3
}

TEST_CASE("C02: onnx: a chain of 100,000 nodes on constants folds", "[peer-bugs]") {
  constexpr int kNodes = test::kDeep;
  OnnxModel m;
  m.floats("t0", {}, {0}).floats("one", {}, {1}).output("t" + std::to_string(kNodes));
  for (int i = 0; i < kNodes; ++i) m.node("Add", {"t" + std::to_string(i), "one"}, {"t" + std::to_string(i + 1)});
  ir::Graph g("none");
  on_small_stack([&] { g = m.import(); });
  CHECK(g.size() == 1);
  CHECK(ir::run_reference(g, {})[0].at_double(0) == kNodes);
}

TEST_CASE("onnx: a division by zero among constants is no error where nobody uses it") {
  OnnxModel m;
  m.input("x", DType::f32, {1}).ints("one", {1}).ints("zero", {0}).output("y").output("d");
  m.node("Neg", {"x"}, {"y"});
  m.node("Div", {"one", "zero"}, {"d"});
  CHECK_NOTHROW(m.import());
  m.graph().mutable_output()->RemoveLast();
  CHECK(values_of(m.run({{"x", f32({1}, {1})}})[0]) == Values{-1});
}
