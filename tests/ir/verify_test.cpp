#include "ir/verify.hpp"

#include "ir/support/error.hpp"
#include "ir/text.hpp"
#include "tests/catch.hpp"

using namespace weft;
using namespace weft::ir;

namespace {

Graph sound() {
  return parse_graph(
      "graph g(x: f32[2,3]) { w = parameter f32[3]; c = constant bool[][true]; y = softmax(x * w); return y, c }");
}

/// The message of verify after `damage`, or nothing.
std::string damaged(const std::function<void(Graph&)>& damage) {
  Graph g = sound();
  damage(g);
  try {
    verify(g);
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a sound graph passes") { CHECK_NOTHROW(verify(sound())); }

TEST_CASE("each broken invariant is named") {
  using Catch::Contains;
  auto node = [](Graph& g, int i) -> Node& { return g.mutable_node(NodeId(i)); };  // 0 x, 1 w, 2 c, 3 mul, 4 softmax
  CHECK_THAT(damaged([&](Graph& g) { node(g, 3).operands[0].node = NodeId(4); }), Contains("node 3 (mul) uses node 4"));
  CHECK_THAT(damaged([&](Graph& g) { node(g, 3).operands[0].node = NodeId(); }), Contains("does not stand before"));
  CHECK_THAT(damaged([&](Graph& g) { node(g, 3).operands[0].index = 2; }), Contains("output 2 of node 0"));
  CHECK_THAT(damaged([&](Graph& g) { node(g, 3).operands.pop_back(); }), Contains("expected 2"));
  CHECK_THAT(damaged([&](Graph& g) { node(g, 3).types[0].dtype = DType::f64; }),
             Contains("stored as f64[2,3]") && Contains("f32[2,3] is inferred"));
  CHECK_THAT(damaged([&](Graph& g) { node(g, 3).types.clear(); }), Contains("stored as nothing"));
  CHECK_THAT(damaged([&](Graph& g) { node(g, 4).attributes = std::make_shared<Attributes>(); }),
             Contains("schema gives axis="));
  CHECK_THAT(damaged([&](Graph& g) {
               node(g, 4).attributes = std::make_shared<Attributes>(Attributes{{"axis", 1.5}});
             }),
             Contains("axis"));
  CHECK_THAT(damaged([&](Graph& g) { node(g, 4).attributes = nullptr; }), Contains("no attributes object"));
  CHECK_THAT(damaged([&](Graph& g) { node(g, 4).op = static_cast<Op>(9999); }), Contains("beyond the op table"));
  CHECK_THAT(damaged([&](Graph& g) { node(g, 2).tensor = Tensor(); }), Contains("has no data"));
  CHECK_THAT(damaged([&](Graph& g) { node(g, 2).tensor = Tensor::scalar(1.0f); }), Contains("data is f32[]"));
  CHECK_THAT(damaged([&](Graph& g) { *static_cast<uint8_t*>(node(g, 2).tensor.mutable_data()) = 7; }),
             Contains("byte 7"));
  CHECK_THAT(damaged([&](Graph& g) {
               node(g, 1).tensor = Tensor::from<float>({2}, {1, 2});
             }),
             Contains("data is f32[2]"));
  CHECK_THAT(damaged([&](Graph& g) { node(g, 1).op = Op::input; }),
             Contains("not in the list of inputs") && Contains("which is none"));
  CHECK_THAT(damaged([&](Graph& g) { node(g, 0).name.clear(); }), Contains("has no name"));
  CHECK_THAT(damaged([&](Graph& g) { g.input("x", {}); }), Contains("two inputs are named \"x\""));
  CHECK_THAT(damaged([&](Graph& g) { g.parameter("w", {}); }), Contains("two parameters are named \"w\""));
  CHECK_THAT(damaged([&](Graph& g) { g.output("y", {NodeId(0), 0}); }), Contains("two outputs are named \"y\""));
  CHECK_THAT(damaged([&](Graph& g) {
               g.set_outputs({{"o", {NodeId(77), 0}}});
             }),
             Contains("output \"o\" uses node 77"));
}

TEST_CASE("all violations are listed, the first twenty in words") {
  std::string two = damaged([](Graph& g) {
    g.mutable_node(NodeId(4)).types[0].dtype = DType::f64;
    g.mutable_node(NodeId(2)).tensor = Tensor();
  });
  CHECK_THAT(two, Catch::Contains("2 invariants") && Catch::Contains("node 4") && Catch::Contains("node 2"));
  std::string many = damaged([](Graph& g) {
    for (int i = 0; i < 25; ++i) g.input("", {});
  });
  CHECK_THAT(many, Catch::Contains("25 invariants") && Catch::Contains("and 5 more"));
}
