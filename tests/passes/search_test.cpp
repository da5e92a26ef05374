#include "passes/search.hpp"

#include <cmath>
#include <random>

#include "ir/eval.hpp"
#include "ir/text.hpp"
#include "passes/canonicalise.hpp"
#include "passes/pass_runner.hpp"
#include "tests/catch.hpp"
#include "tests/default_targets.hpp"

using namespace weft;

namespace {

ir::Tensor random_tensor(const ir::TensorType& type, std::mt19937& random) {
  ir::Tensor t = ir::Tensor::allocate(type);
  std::normal_distribution<double> normal;
  for (int64_t i = 0; i < t.elements(); ++i)
    ir::set_from_double(t, i, ir::is_float(type.dtype) ? normal(random) : static_cast<double>(random() % 5));
  return t;
}

struct Sides {
  ir::Graph source, lowered;
  passes::CompileReport report;
  passes::SearchResult result;
};

Sides searched(const std::string& text, passes::Options options = {}) {
  Sides sides;
  sides.source = ir::parse_graph(text);
  std::mt19937 random(3);
  for (ir::NodeId id : sides.source.parameters())
    sides.source.mutable_node(id).tensor = random_tensor(sides.source.node(id).types[0], random);
  passes::PassRunner run(options, sides.report);
  const std::vector<const ir::Target*> all = test::default_targets();
  sides.result = passes::search(passes::canonicalise(sides.source), all, options, run, sides.report);
  sides.lowered = sides.result.lowered;
  return sides;
}

void same_results(const Sides& sides, double tolerance) {
  std::mt19937 random(5);
  ir::NamedTensors inputs;
  for (ir::NodeId id : sides.source.inputs())
    inputs[sides.source.node(id).name] = random_tensor(sides.source.node(id).types[0], random);
  std::vector<ir::Tensor> a = ir::run_reference(sides.source, inputs), b = ir::run_reference(sides.lowered, inputs);
  REQUIRE(a.size() == b.size());
  for (size_t o = 0; o < a.size(); ++o) {
    REQUIRE(a[o].type() == b[o].type());
    for (int64_t i = 0; i < a[o].elements(); ++i) {
      double x = a[o].at_double(i), y = b[o].at_double(i);
      if (!(std::fabs(x - y) <= tolerance * (1 + std::fabs(x))))
        FAIL("output " << o << "[" << i << "]: " << x << " against " << y << "\n" << ir::print_graph(sides.lowered));
    }
  }
}

int64_t count(const ir::Graph& graph, std::string_view part) {
  int64_t n = 0;
  for (ir::NodeId id : graph.live_nodes())
    if (graph.node(id).op == ir::Op::kernel &&
        graph.node(id).attributes->program("program")->text().find(part) != std::string::npos)
      ++n;
  return n;
}
int64_t kernels(const ir::Graph& graph) { return count(graph, ""); }

constexpr const char* kHardSwish = R"(graph g(x: f32[1,8,6,6]) {
  y = x * clip(x + 3.0, 0.0, 6.0) / 6.0
  return y
})";
constexpr const char* kConvBlock = R"(graph g(x: f32[1,3,8,8]) {
  w = parameter f32[8,3,3,3] "w"
  s = parameter f32[1,8,1,1] "s"
  b = parameter f32[1,8,1,1] "b"
  c = conv(x, w, pads=[1,1,1,1])
  m = mul(c, s)
  a = add(m, b)
  r = relu(a)
  v = parameter f32[8,8,1,1] "v"
  d = conv(r, v)
  e = add(d, r)
  return e
})";
constexpr const char* kLayerNorm = R"(graph g(x: f32[1,4,8]) {
  g = parameter f32[8] "g"
  b = parameter f32[8] "b"
  m = reduce_mean(x, axes=[2])
  d = sub(x, m)
  q = pow(d, 2.0)
  v = reduce_mean(q, axes=[2])
  s = sqrt(v + 1e-5)
  n = div(d, s)
  y = n * g + b
  return y
})";
constexpr const char* kAttention = R"(graph g(q: f32[1,6,8], k: f32[1,6,8], v: f32[1,6,8], m: f32[1,1,1,6]) {
  qh = transpose(reshape(q, shape=[1,6,2,4]), perm=[0,2,1,3])
  kh = transpose(reshape(k, shape=[1,6,2,4]), perm=[0,2,3,1])
  vh = transpose(reshape(v, shape=[1,6,2,4]), perm=[0,2,1,3])
  s = matmul(qh, kh) / 2.0 + m
  p = softmax(s, axis=3)
  o = matmul(p, vh)
  y = reshape(transpose(o, perm=[0,2,1,3]), shape=[1,6,8])
  return y
})";

/// A residual sum that its norm and a later addition read.
constexpr const char* kSumAndNorm = R"(graph g(x: f32[1,64,256], r: f32[1,64,256]) {
  g = parameter f32[256] "g"
  b = parameter f32[256] "b"
  w = parameter f32[256,256] "w"
  s = add(x, r)
  n = layer_norm(s, g, b)
  y = matmul(n, w) + s
  return y
})";
}  // namespace

TEST_CASE("the search keeps results at every level and precision", "[search]") {
  auto text = GENERATE(as<std::string>(), kHardSwish, kConvBlock, kLayerNorm, kAttention);
  for (int level : {1, 2, 3})
    for (auto precision : {passes::Precision::strict, passes::Precision::standard, passes::Precision::fast}) {
      passes::Options options;
      options.level = level, options.precision = precision;
      INFO("O" << level << " " << passes::to_string(precision) << "\n" << text);
      same_results(searched(text, options), precision == passes::Precision::strict ? 1e-5 : 1e-4);
    }
}

TEST_CASE("decomposed composites are recognised", "[search]") {
  CHECK(count(searched(kHardSwish).lowered, "hard_swish") == 1);
  CHECK(count(searched(kLayerNorm).lowered, "layer_norm") == 1);
  passes::Options strict;
  strict.precision = passes::Precision::strict;
  CHECK(count(searched(kLayerNorm, strict).lowered, "layer_norm") == 0);
}

TEST_CASE("a convolution takes the factor of a channel into its weights", "[search]") {
  Sides sides = searched(kConvBlock);
  CHECK(count(sides.lowered, "conv(") == 2);
  INFO(ir::print_graph(sides.lowered));
  CHECK(count(sides.lowered, "mul(") == 0);
}

TEST_CASE("a reduction and the value that it reads come out of one kernel", "[search]") {
  const std::string text = kSumAndNorm;
  Sides sides = searched(text);
  INFO(ir::print_graph(sides.lowered));
  CHECK(kernels(sides.lowered) == 2);
  int64_t pairs = 0;
  for (ir::NodeId id : sides.lowered.live_nodes()) pairs += sides.lowered.node(id).types.size() == 2;
  CHECK(pairs == 1);
  same_results(sides, 1e-4);
  CHECK(ir::print_graph(sides.lowered) == ir::print_graph(searched(text).lowered));
}

TEST_CASE("the same graph gives the same lowered graph", "[search]") {
  auto text = GENERATE(as<std::string>(), kConvBlock, kAttention);
  CHECK(ir::print_graph(searched(text).lowered) == ir::print_graph(searched(text).lowered));
}
