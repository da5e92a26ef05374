// What is in the structural key and what is not: every collision and every needless miss that other caches have had.
#include "ir/merkle.hpp"

#include <algorithm>

#include "ir/program.hpp"
#include "ir/support/error.hpp"
#include "ir/text.hpp"
#include "tests/catch.hpp"
#include "tests/ir/random_graph.hpp"

using namespace weft;
using namespace weft::ir;

namespace {

StructuralKey key(std::string_view graph) { return structural_key(parse_graph(graph)); }

/// The key of `body` over x, y: f32[2,2], z: f32[2,2,2].
StructuralKey body(std::string_view statements) {
  return key(fmt::format("graph g(x: f32[2,2], y: f32[2,2], z: f32[2,2,2]) {{ {} }}", statements));
}

bool differ(const StructuralKey& a, const StructuralKey& b) {
  return a.hash != b.hash && a.canonical != b.canonical && a != b;
}
bool same(const StructuralKey& a, const StructuralKey& b) { return a.hash == b.hash && a == b; }

/// The graph with its nodes appended in another topological order and under other names.
Graph shuffled(const Graph& graph, test::Random& random) {
  std::vector<NodeId> waiting, renamed(graph.size());
  for (uint32_t i = 0; i < graph.size(); ++i) waiting.push_back(NodeId(i));
  Graph out("shuffled");
  while (!waiting.empty()) {
    size_t at = static_cast<size_t>(random.between(0, static_cast<int64_t>(waiting.size()) - 1));
    const Node& n = graph.node(waiting[at]);
    bool ready =
        std::all_of(n.operands.begin(), n.operands.end(), [&](Value v) { return renamed[v.node.value].valid(); });
    if (!ready) continue;
    std::vector<Value> operands = n.operands;
    for (Value& v : operands) v.node = renamed[v.node.value];
    std::string name = fmt::format("r{}", random.next());
    NodeId made;
    if (n.op == Op::input)
      made = out.input(name, n.types[0]).node;
    else if (n.op == Op::parameter)
      made = out.parameter(name, n.types[0]).node;
    else if (n.op == Op::constant)
      made = out.constant(n.tensor, name).node;
    else
      made = out.add(n.op, operands, *n.attributes, name);
    renamed[waiting[at].value] = made;
    if (n.types[0].rank() > 0 && random.chance(0.2)) out.add(Op::transpose, {{made, 0}});  // dead
    waiting.erase(waiting.begin() + static_cast<int64_t>(at));
  }
  for (const Output& o : graph.outputs()) out.output("", {renamed[o.value.node.value], o.value.index});
  return out;
}

}  // namespace

TEST_CASE("keys tell apart what other caches confused") {
  CHECK(differ(body("return x + y"), body("return x + x")));
  CHECK(differ(key("graph g(x: f32[10]) { return sin(x) }"), key("graph g(x: f32[3]) { return sin(x) }")));
  CHECK(differ(key("graph g(x: f32[3]) { return neg(x) }"), key("graph g(x: i32[3]) { return neg(x) }")));
  CHECK(differ(key("graph g(x: f32[3]) { return neg(x) }"), key("graph g() { x = parameter f32[3]; return neg(x) }")));
  CHECK(differ(body("return transpose(z, [0,2,1])"), body("return transpose(z, [1,0,2])")));
  CHECK(differ(body("return reduce_sum(x, axes=[0], keepdims=false)"),
               body("return reduce_sum(x, axes=[1], keepdims=false)")));
  CHECK(differ(body("return pad(x, 0, low=[1,0], high=[0,1])"), body("return pad(x, 0, low=[0,1], high=[1,0])")));
  CHECK(differ(body("return exp(x) - relu(x)"), body("return relu(x) - exp(x)")));
  CHECK(differ(body("return exp(x), relu(x)"), body("return relu(x), exp(x)")));
  CHECK(differ(body("return exp(x)"), body("return exp(x), a: exp(x)")));
}

TEST_CASE("a leaf that moves to another place changes the key") {
  CHECK(differ(body("return (x + y) * y"), body("return (x + y) * x")));
  CHECK(differ(body("a = x - y; return a * x"), body("a = x - y; return a * y")));
  CHECK(same(body("return x - y"), body("return y - x")));  // the same up to the numbering of leaves
  Graph g = parse_graph("graph g(x: f32[2], y: f32[2]) { return y - x }");
  CHECK(inputs_in_key_order(g) == std::vector<NodeId>{NodeId(1), NodeId(0)});
}

TEST_CASE("every attribute is in the key") {
  CHECK(differ(body("return softmax(x, 0)"), body("return softmax(x, 1)")));
  CHECK(differ(body("return cast(x, i8)"), body("return cast(x, u8)")));
  CHECK(differ(body("return clip(x, 0, 1)"), body("return clip(x, 0, 2)")));
  CHECK(differ(body("return matmul(x, y, transpose_b=true)"), body("return x @ y")));
  CHECK(differ(body("return 2 * (x @ y)"), body("return x @ y")));
  CHECK(differ(body("return gelu(x, \"none\")"), body("return gelu(x, \"tanh\")")));
  CHECK(differ(body("w = parameter f32[2]; return rms_norm(x, w, eps=1e-5)"),
               body("w = parameter f32[2]; return rms_norm(x, w, eps=1e-2)")));
  CHECK(differ(body("return leaky_relu(x, 0)"), body("return leaky_relu(x, -0)")));
  CHECK(differ(body("return kernel(x, backend=\"b\", kernel=\"k\", program={(a: f32[2,2]) return exp(a)})"),
               body("return kernel(x, backend=\"b\", kernel=\"k\", program={(a: f32[2,2]) return sin(a)})")));
  CHECK(same(body("return softmax(x, -1)"), body("return softmax(x, axis=1)")));
}

TEST_CASE("shapes that a weak hash confuses") {
  for (auto [a, b] : {std::pair{"3,17,1,1", "1,152,1,1"},
                      {"1,65", "2,2"},
                      {"1,66", "2,1"},
                      {"1,68", "2,3"},
                      {"N", "M"},
                      {"2,3", "3,2"}})
    CHECK(differ(key(fmt::format("graph g(x: f32[{}]) {{ return relu(x) }}", a)),
                 key(fmt::format("graph g(x: f32[{}]) {{ return relu(x) }}", b))));
}

TEST_CASE("structural constants are keyed by bits, parameters by type") {
  CHECK(differ(body("return x * 2"), body("return x * 3")));
  CHECK(differ(body("return x + 0"), body("return x + -0")));
  CHECK(differ(body("return x + nan"), body("return x + nan(0x1)")));
  CHECK(same(body("return x + nan"), body("return x + nan")));
  CHECK(differ(body("return i64[2][0, 1]"), body("return i64[2][1, 0]")));
  CHECK(differ(body("return i64[2][0, 1]"), body("return i32[2][0, 1]")));
  CHECK(same(body("return x * f32[2][1, 2]"), body("return x * f32[2][3, 4]")));
  CHECK(differ(body("return x * f32[2][1, 2]"), body("return x * f32[1,2][1, 2]")));
  CHECK(differ(body("w = parameter f32[2]; v = parameter f32[2]; return w * x + v"),
               body("w = parameter f32[2]; return w * x + w")));
}

TEST_CASE("names, dead nodes and repeated subexpressions are not in the key") {
  StructuralKey plain = key("graph g(x: f32[2]) { a = exp(x); return a + a }");
  CHECK(same(plain, key("graph h(input: f32[2]) { %9 = exp(input) as \"!\"; return out: %9 + %9 }")));
  CHECK(same(plain, key("graph g(x: f32[2]) { dead = sin(x); w = parameter f32[9]; a = exp(x); return a + a }")));
  CHECK(same(plain, key("graph g(x: f32[2]) { return exp(x) + exp(x) }")));
  CHECK(differ(plain, key("graph g(x: f32[2], unused: f32[3]) { a = exp(x); return a + a }")));  // another signature
}

TEST_CASE("construction order is not in the key") {
  CHECK(same(body("a = exp(x); b = sin(y); return a - b"), body("b = sin(y); a = exp(x); return a - b")));
  test::Random random(3);
  for (uint64_t seed = 0; seed < 60; ++seed) {
    test::RandomGraphOptions options;
    options.seed = seed;
    options.dtypes = {DType::f32, DType::i32};
    Graph g = test::random_graph(options);
    StructuralKey original = structural_key(g);
    for (int i = 0; i < 4; ++i) {
      Graph other = shuffled(g, random);
      CHECK(same(original, structural_key(other)));
      auto types = [](const Graph& graph, const std::vector<NodeId>& ids) {
        std::vector<TensorType> out;
        for (NodeId id : ids) out.push_back(graph.node(id).types[0]);
        return out;
      };
      CHECK(types(g, parameters_in_key_order(g)) == types(other, parameters_in_key_order(other)));
      CHECK(inputs_in_key_order(other).size() == other.inputs().size());
    }
  }
}

TEST_CASE("different random graphs have different keys") {
  std::map<std::string, uint64_t> seen;
  std::map<Hash128, uint64_t> hashes;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    test::RandomGraphOptions options;
    options.seed = seed;
    StructuralKey k = structural_key(test::random_graph(options));
    CHECK(seen.emplace(k.canonical, seed).second == hashes.emplace(k.hash, seed).second);
  }
  CHECK(seen.size() == 400);
}

TEST_CASE("keys of one hash are told apart by their canonical form") {
  set_key_hash_for_tests([](std::string_view) { return Hash128{1, 2}; });
  StructuralKey a = body("return exp(x)"), b = body("return sin(x)"), c = body("return x");
  set_key_hash_for_tests({});
  CHECK(a.hash == b.hash);
  CHECK(b.hash == c.hash);
  CHECK(a != b);
  CHECK(b != c);
  CHECK(a != c);
  CHECK(body("return exp(x)").hash != a.hash);
}
