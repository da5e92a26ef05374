#include "ir/graph.hpp"

#include "ir/support/error.hpp"
#include "ir/text.hpp"
#include "tests/catch.hpp"

using namespace weft;
using namespace weft::ir;
using Catch::Contains;

TEST_CASE("what is structural") {
  CHECK(is_structural({DType::f32, {}}));
  CHECK(is_structural({DType::f16, {1, 1}}));
  CHECK(is_structural({DType::i64, {64}}));
  CHECK(is_structural({DType::i64, {0}}));
  CHECK_FALSE(is_structural({DType::i64, {65}}));
  CHECK_FALSE(is_structural({DType::f32, {2}}));
  CHECK_FALSE(is_structural({DType::f32, {0}}));
  CHECK_FALSE(is_structural({DType::i64, {Dim::symbol("N")}}));
}

TEST_CASE("constants that are not structural become parameters") {
  Graph g;
  Value small = g.constant(Tensor::from<int64_t>({2}, {1, 2}), "axes");
  Value large = g.constant(Tensor::from<float>({2}, {1, 2}), "w");
  CHECK(g.node(small.node).op == Op::constant);
  CHECK(g.node(large.node).op == Op::parameter);
  CHECK(g.node(large.node).tensor.as<float>()[1] == 2);
  REQUIRE(g.parameters().size() == 1);
  CHECK(g.parameters()[0] == large.node);
  CHECK_THROWS_AS(g.constant(Tensor(), "nothing"), Error);
}

TEST_CASE("nodes know inputs, parameters and outputs; dead ones are found") {
  Graph g =
      parse_graph("graph g(x: f32[2], unused: f32[3]) { a = relu(x); dead = neg(a); b = add(a, a); return a, b }");
  std::vector<NodeId> live = g.live_nodes();
  CHECK(live == std::vector<NodeId>{NodeId(0), NodeId(1), NodeId(2), NodeId(4)});
  CHECK(g.use_counts() == std::vector<uint32_t>{1, 0, 3, 0, 1});
  CHECK(g.is_static());
}

TEST_CASE("a graph is static only without symbols in types and attributes") {
  CHECK_FALSE(parse_graph("graph g(x: f32[N]) { return x }").is_static());
  CHECK_FALSE(
      parse_graph("graph g(x: f32[2]) { y = slice(x, starts=[0], ends=[max(N,1)], steps=[1]); return x }").is_static());
}

TEST_CASE("errors of add name the op, the operands, the attributes and what was expected") {
  Graph g;
  Value x = g.input("x", {DType::f32, {1, 3, 8, 8}}), y = g.input("y", {DType::f32, {3}});
  Value w = g.input("w", {DType::f32, {4, 2, 3, 3}}), n = g.input("n", {DType::i32, {3}});
  CHECK_THROWS_WITH(g.add(Op::add, {x, y}, {}, "sum"),
                    Contains("node \"sum\": add(f32[1,3,8,8], f32[3])") && Contains("broadcast"));
  CHECK_THROWS_WITH(g.add(Op::add, {y, n}), Contains("add(f32[3], i32[3])"));
  CHECK_THROWS_WITH(g.add(Op::add, {y}), Contains("add(f32[3])") && Contains("expected 2"));
  CHECK_THROWS_WITH(g.add(Op::conv, {x, w}, {{"strides", std::vector<int64_t>{2, 2}}}),
                    Contains("conv(f32[1,3,8,8], f32[4,2,3,3], strides=[2,2])"));
  CHECK_THROWS_WITH(g.add(Op::softmax, {y}, {{"axs", int64_t{0}}}),
                    Contains("unknown attribute 'axs'") && Contains("axis"));
  CHECK_THROWS_WITH(g.add(Op::softmax, {y}, {{"axis", int64_t{5}}}), Contains("softmax(f32[3], axis=5)"));
  CHECK_THROWS_AS(g.add(Op::input, {}), Error);
  CHECK_THROWS_AS(g.add(static_cast<Op>(60000), {x}), Error);
  CHECK_THROWS_WITH(g.add(Op::relu, {Value{NodeId(99), 0}}), Contains("node 99"));
  CHECK_THROWS_WITH(g.add(Op::relu, {Value{x.node, 3}}), Contains("output 3"));
  CHECK_THROWS_AS(g.output("y", Value{}), Error);
  CHECK_THROWS_AS(g.parameter("w", {DType::f32, {3}}, Tensor::from<float>({2}, {1, 2})), Error);
  CHECK_THROWS_WITH(g.input("z", {DType::f32, {-1}}), Contains("\"z\"") && Contains("-1"));
  CHECK_THROWS_AS(g.parameter("z", {DType::f32, {2, -1}}), Error);
  CHECK(g.size() == 4);  // nothing half added
}

TEST_CASE("nodes are stored with complete attributes, shared where there are none") {
  Graph g;
  Value x = g.input("x", {DType::f32, {2, 3}});
  Value a = g.value(Op::relu, {x}), b = g.value(Op::relu, {a});
  CHECK(g.node(a.node).attributes == g.node(b.node).attributes);
  CHECK(g.node(g.add(Op::softmax, {x})).attributes->integer("axis") == 1);
  NodeId split = g.add(Op::split, {x}, {{"axis", int64_t{1}}, {"sizes", std::vector<int64_t>{1, 2}}}, "s");
  CHECK(g.type({split, 1}) == TensorType{DType::f32, {2, 2}});
  CHECK_THROWS_AS(g.value(Op::split, {x}, *g.node(split).attributes), Error);
}
