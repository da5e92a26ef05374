#include "ir/eval.hpp"
#include "ir/graph.hpp"
#include "ir/support/error.hpp"
#include "ir/text.hpp"
#include "ir/verify.hpp"
#include "tests/catch.hpp"

using namespace weft;
using namespace weft::ir;
using Catch::Contains;

namespace {

constexpr const char* kSymbolic = R"(graph g(x: f32[N,H], y: f32[N,H/2], z: f32[H]) {
  dead = exp(y)
  w = parameter f32[H]
  s = reshape(x, shape=[N*H])
  t = slice(x, starts=[0,0], ends=[N,H/2], steps=[1,1]) + y
  return s, t: t, u: reshape(z * w, shape=[3])
})";

}  // namespace

TEST_CASE("specialize substitutes dimensions in types and attributes and drops dead nodes") {
  Graph g = specialize(parse_graph(kSymbolic), {{"N", 2}, {"H", 3}});
  CHECK(print_graph(g) == R"(graph g(x: f32[2,3], y: f32[2,1], z: f32[3]) {
  w = parameter f32[3]
  s = reshape(x, shape=[6])
  %5 = slice(x, starts=[0,0], ends=[2,1], steps=[1,1])
  t = add(%5, y)
  %7 = mul(z, w)
  %8 = reshape(%7, shape=[3])
  return s, t, u: %8
}
)");
  CHECK(g.is_static());
  CHECK_NOTHROW(verify(g));
}

TEST_CASE("specialize may bind some dimensions only") {
  Graph g = specialize(parse_graph(kSymbolic), {{"H", 3}});
  CHECK_FALSE(g.is_static());
  CHECK(to_string(g.node(g.inputs()[1]).types[0]) == "f32[N,1]");
  CHECK_NOTHROW(verify(g));
  CHECK(print_graph(specialize(g, {{"N", 2}})) ==
        print_graph(specialize(parse_graph(kSymbolic), {{"N", 2}, {"H", 3}})));
}

TEST_CASE("specialize refuses what does not fit") {
  Graph g = parse_graph(kSymbolic);
  CHECK_THROWS_WITH(specialize(g, {{"n", 2}}), Contains("\"n\"") && Contains("did you mean 'N'"));
  CHECK_THROWS_WITH(specialize(g, {{"N", -1}}), Contains("-1"));
  CHECK_THROWS_WITH(specialize(g, {{"H", 4}}), Contains("reshape(f32[4], shape=[3])"));
}

TEST_CASE("specialize keeps data and names") {
  Graph g;
  Value x = g.input("x", {DType::f32, {Dim::symbol("N"), 2}});
  Value w = g.constant(Tensor::from<float>({2}, {3, 4}), "w");
  g.output("y", g.value(Op::mul, {x, w}, {}, "scaled"));
  Graph s = specialize(g, {{"N", 1}});
  CHECK(s.node(s.outputs()[0].value.node).name == "scaled");
  CHECK(print_tensor(run_reference(s, {{"x", Tensor::from<float>({1, 2}, {1, 2})}})[0]) == "f32[1,2][3, 8]");
}

TEST_CASE("bind_shapes binds plain symbols and checks the rest") {
  Graph g = parse_graph(kSymbolic);
  CHECK(bind_shapes(g, {{"x", {2, 3}}}) == DimBindings{{"N", 2}, {"H", 3}});
  CHECK(bind_shapes(g, {{"y", {2, 5}}}) == DimBindings{{"N", 2}});
  CHECK(bind_shapes(g, {{"y", {2, 1}}, {"x", {2, 3}}}) == DimBindings{{"N", 2}, {"H", 3}});
  CHECK_THROWS_WITH(bind_shapes(g, {{"x", {2, 3}}, {"y", {2, 2}}}), Contains("\"y\"") && Contains("H/2 = 1"));
  CHECK_THROWS_WITH(bind_shapes(g, {{"x", {2, 3}}, {"z", {4}}}), Contains("\"z\"") && Contains("H = 3"));
  CHECK_THROWS_WITH(bind_shapes(g, {{"x", {2}}}), Contains("rank"));
  CHECK_THROWS_WITH(bind_shapes(g, {{"x", {2, -3}}}), Contains("-3"));
  CHECK_THROWS_WITH(bind_shapes(g, {{"xx", {2, 3}}}), Contains("did you mean 'x'"));
  Graph fixed = parse_graph("graph g(x: f32[2]) { return x }");
  CHECK(bind_shapes(fixed, {{"x", {2}}}).empty());
  CHECK_THROWS_WITH(bind_shapes(fixed, {{"x", {3}}}), Contains("f32[2]") && Contains("[3]"));
}
