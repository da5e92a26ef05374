#include "ir/eval.hpp"

#include <algorithm>
#include <fstream>

#include "ir/program.hpp"
#include "ir/support/error.hpp"
#include "ir/text.hpp"
#include "tests/catch.hpp"
#include "tests/ir/random_graph.hpp"

using namespace weft;
using namespace weft::ir;
using Catch::Contains;

TEST_CASE("a graph runs on named inputs and its own parameters") {
  Graph g = parse_graph("graph g(x: f32[2]) { w = f32[2][10, 20]; y = x * w + 1; return y, x, y2: y }");
  std::vector<Tensor> out = run_reference(g, {{"x", Tensor::from<float>({2}, {1, 2})}});
  REQUIRE(out.size() == 3);
  CHECK(print_tensor(out[0]) == "f32[2][11, 41]");
  CHECK(print_tensor(out[1]) == "f32[2][1, 2]");
  CHECK(print_tensor(out[2]) == "f32[2][11, 41]");
}

TEST_CASE("nodes of several outputs, used in part") {
  Graph g = parse_graph("graph g(x: f32[4]) { a, b, c = split(x, 0, [1,2,1]); return b: neg(b), c }");
  std::vector<Tensor> out = run_reference(g, {{"x", Tensor::from<float>({4}, {1, 2, 3, 4})}});
  CHECK(print_tensor(out[0]) == "f32[2][-2, -3]");
  CHECK(print_tensor(out[1]) == "f32[1][4]");
}

TEST_CASE("every computed value is observed once, dead nodes are not run") {
  Graph g = parse_graph("graph g(x: i32[]) { dead = x / 0; a, b = split(reshape(x + 1, [1]), 0, [1,0]); return a }");
  std::vector<Value> seen;
  run_reference(g, {{"x", Tensor::scalar<int32_t>(4)}}, [&](Value v, const Tensor& t) {
    CHECK(t.type() == g.type(v));
    seen.push_back(v);
  });
  CHECK(seen.size() == 4);  // add, reshape, both outputs of split
}

TEST_CASE("wrong inputs are refused by name") {
  Graph g =
      parse_graph("graph g(image: f32[2], mask: f32[2]) { w = parameter f32[2] \"late\"; return image * mask * w }");
  Tensor good = Tensor::from<float>({2}, {1, 2}), wrong = Tensor::from<float>({3}, {1, 2, 3});
  CHECK_THROWS_WITH(run_reference(g, {{"image", good}}), Contains("\"mask\""));
  CHECK_THROWS_WITH(run_reference(g, {{"image", good}, {"mask", good}, {"imag", good}}),
                    Contains("\"imag\"") && Contains("did you mean 'image'"));
  CHECK_THROWS_WITH(run_reference(g, {{"image", wrong}, {"mask", good}}),
                    Contains("\"image\" is f32[2], but f32[3] is given"));
  CHECK_THROWS_WITH(run_reference(g, {{"image", Tensor()}, {"mask", good}}), Contains("undefined"));
  CHECK_THROWS_WITH(run_reference(g, {{"image", good}, {"mask", good}}),
                    Contains("parameter \"late\"") && Contains("no data"));
  CHECK_THROWS_WITH(run_reference(parse_graph("graph g(x: f32[N]) { return x }"), {{"x", good}}), Contains("f32[N]"));
}

TEST_CASE("errors of an op name the node") {
  Graph g = parse_graph("graph g(x: i32[]) { bad = x / 0; return bad }");
  CHECK_THROWS_WITH(run_reference(g, {{"x", Tensor::scalar<int32_t>(4)}}), Contains("\"bad\"") && Contains("div"));
}

TEST_CASE("intermediates are freed after their last use") {
  auto resident = [] {
    long total = 0, pages = 0;
    std::ifstream("/proc/self/statm") >> total >> pages;
    return pages * 4 / 1024;  // MiB
  };
  Graph g;
  Value v = g.input("x", {DType::f32, {1 << 18}});  // 1 MiB
  for (int i = 0; i < 500; ++i) v = g.value(Op::neg, {v});
  g.output("y", v);
  long before = resident(), most = 0;
  run_reference(g, {{"x", Tensor::zeros({DType::f32, {1 << 18}})}},
                [&](Value, const Tensor&) { most = std::max(most, resident()); });
  CHECK(most - before < 350);  // allocators and sanitizers hold some back; without freeing it is 500
}

TEST_CASE("a program run on its operands equals the graph that it was made from") {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    test::RandomGraphOptions options;
    options.seed = seed;
    options.parameters = 0;
    options.ops = {Op::add,        Op::mul,   Op::relu,   Op::transpose, Op::reshape,
                   Op::reduce_sum, Op::slice, Op::concat, Op::split,     Op::max};
    Graph g = test::random_graph(options);
    NamedTensors inputs = test::random_inputs(g, seed);
    std::vector<Tensor> operands, expected = run_reference(g, inputs);
    for (NodeId id : g.inputs()) operands.push_back(inputs.at(g.node(id).name));
    std::vector<Tensor> found = run_program(*make_program(g), operands);
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i) CHECK(found[i].same_bits(expected[i]));
  }
}

TEST_CASE("a program checks its operands") {
  ProgramRef p = parse_expression("{(a0: f32[2]) return a0}").program;
  CHECK_THROWS_AS(run_program(*p, {}), Error);
  std::vector<Tensor> wrong = {Tensor::scalar(1.0f)};
  CHECK_THROWS_WITH(run_program(*p, wrong), Contains("operand 0"));
}
