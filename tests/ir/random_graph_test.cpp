// The generator of random graphs, and what it finds: every value computed has the type that was inferred.
#include "tests/ir/random_graph.hpp"

#include <set>

#include "ir/support/error.hpp"
#include "ir/text.hpp"
#include "tests/catch.hpp"

using namespace weft;
using namespace weft::ir;

TEST_CASE("the same seed gives the same graph") {
  test::RandomGraphOptions options;
  options.seed = 42;
  options.programs = true;
  CHECK(print_graph(test::random_graph(options)) == print_graph(test::random_graph(options)));
  std::string first = print_graph(test::random_graph(options));
  options.seed = 43;
  CHECK(print_graph(test::random_graph(options)) != first);
}

TEST_CASE("random graphs are of the size asked for, from the ops asked for") {
  test::RandomGraphOptions options;
  options.nodes = 200;
  options.ops = {Op::add, Op::relu, Op::transpose};
  Graph g = test::random_graph(options);
  int ops = 0;
  for (const Node& n : g.nodes()) {
    bool leaf = info(n.op).has(kLeaf);
    ops += !leaf;
    if (!leaf) CHECK((n.op == Op::add || n.op == Op::relu || n.op == Op::transpose));
  }
  CHECK(ops > 180);
}

TEST_CASE("values of random graphs have their inferred types, or an op says why not") {
  std::set<Op> computed;
  int finished = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    test::RandomGraphOptions options;
    options.seed = seed;
    options.nodes = 25;
    options.max_elements = 512;
    options.dtypes = {DType::f32, DType::f64, DType::i32, DType::f16, DType::boolean};
    options.programs = true;
    Graph g = test::random_graph(options);
    bool right = true;
    try {
      run_reference(g, test::random_inputs(g, seed, seed % 2), [&](Value v, const Tensor& t) {
        right = right && t.type() == g.type(v);
        computed.insert(g.node(v.node).op);
      });
      ++finished;
    } catch (const Error& e) {  // division by zero, an index beyond its axis
      INFO(e.what());
      CHECK(e.code() != ErrorCode::internal);
    }
    CHECK(right);
  }
  CHECK(finished > 100);
  CHECK(computed.size() > kOpCount - 10);
}
