// Equal layers are searched three times, whatever the depth, and the plan is that of the whole network.
#include "passes/roll.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <sstream>

#include "ir/eval.hpp"
#include "ir/text.hpp"
#include "passes/canonicalise.hpp"
#include "passes/pass_runner.hpp"
#include "passes/pipeline.hpp"
#include "passes/search.hpp"
#include "tests/catch.hpp"
#include "tests/default_targets.hpp"
#include "tests/plans/deep_networks.hpp"

using namespace weft;

namespace {

void fill(ir::Tensor& tensor, std::mt19937& random, double scale) {
  std::normal_distribution<double> normal;
  for (int64_t i = 0; i < tensor.elements(); ++i) ir::set_from_double(tensor, i, scale * normal(random));
}

ir::Graph with_data(const std::string& text) {
  ir::Graph graph = ir::parse_graph(text);
  std::mt19937 random(11);
  for (ir::NodeId id : graph.parameters()) {
    ir::Tensor t = ir::Tensor::allocate(graph.node(id).types[0]);
    fill(t, random, 0.3);
    graph.mutable_node(id).tensor = t;
  }
  return graph;
}

struct Searched {
  passes::SearchResult result;
  passes::CompileReport report;
  bool rolled = false;
};

Searched searched(const ir::Graph& graph, bool roll) {
  Searched s;
  passes::Options options;
  if (!roll) options.skip = {"roll"};
  passes::PassRunner run(options, s.report);
  const std::vector<const ir::Target*> all = test::default_targets();
  s.result = passes::search(passes::canonicalise(graph), all, options, run, s.report);
  int inserts = 0;
  for (const passes::PassReport& pass : s.report.passes) {
    inserts += pass.name == "insert";
    s.rolled = s.rolled || (pass.name == "roll" && pass.detail.find(" as 3") != std::string::npos);
  }
  s.rolled = s.rolled && inserts == 1;  // a second one: it was rolled up in vain
  return s;
}

void same_results(const ir::Graph& a, const ir::Graph& b) {
  REQUIRE(a.inputs().size() == b.inputs().size());
  REQUIRE(a.parameters().size() == b.parameters().size());
  for (size_t p = 0; p < a.parameters().size(); ++p)
    REQUIRE(a.node(a.parameters()[p]).name == b.node(b.parameters()[p]).name);
  std::mt19937 random(5);
  ir::NamedTensors inputs;
  for (ir::NodeId id : a.inputs()) {
    ir::Tensor t = ir::Tensor::allocate(a.node(id).types[0]);
    fill(t, random, 1);
    inputs[a.node(id).name] = t;
  }
  std::vector<ir::Tensor> x = ir::run_reference(a, inputs), y = ir::run_reference(b, inputs);
  REQUIRE(x.size() == y.size());
  for (size_t o = 0; o < x.size(); ++o) {
    REQUIRE(a.outputs()[o].name == b.outputs()[o].name);
    REQUIRE(x[o].type() == y[o].type());
    double worst = 0;
    for (int64_t i = 0; i < x[o].elements(); ++i)
      worst = std::max(worst, std::fabs(x[o].at_double(i) - y[o].at_double(i)) / (1 + std::fabs(x[o].at_double(i))));
    INFO("output " << o);
    CHECK(worst < 1e-3);
  }
}

int64_t kernels(const ir::Graph& graph) {
  int64_t n = 0;
  for (ir::NodeId id : graph.live_nodes()) n += graph.node(id).op == ir::Op::kernel;
  return n;
}

}  // namespace

TEST_CASE("a deep encoder and a deep decoder are rolled up, and give the results of the whole", "[roll]") {
  // Many tokens, so that a residual sum is computed once: over few the sums of all layers may join every norm.
  auto [text, cache] = GENERATE_COPY(table<std::string, bool>({{encoder_text({9}), false},
                                                               {decoder_text({9, 256, 16, 2, 32}), true},
                                                               {decoder_text({6, 256, 16, 2, 32}), true}}));
  ir::Graph graph = with_data(text);
  Searched rolled = searched(graph, true), whole = searched(graph, false);
  INFO(rolled.report.to_text() << ir::print_graph(rolled.result.lowered));
  CHECK(rolled.rolled);
  CHECK_FALSE(whole.rolled);
  CHECK(rolled.result.cost <= whole.result.cost + whole.result.cost / 500);  // neither is always proven
  CHECK(std::abs(kernels(rolled.result.lowered) - kernels(whole.result.lowered)) <= kernels(whole.result.lowered) / 10);
  CHECK(rolled.result.egraph_nodes < whole.result.egraph_nodes);
  same_results(graph, rolled.result.lowered);
}

TEST_CASE("the e-graph of a deep network does not grow with its depth", "[roll]") {
  int64_t nodes = 0;
  for (int layers : {6, 12, 48}) {
    Searched s = searched(with_data(encoder_text({layers})), true);
    CHECK(s.rolled);
    if (nodes) CHECK(s.result.egraph_nodes == nodes);
    nodes = s.result.egraph_nodes;
  }
}

TEST_CASE("names of a layer that was left out are its own", "[roll]") {
  constexpr int kLayers = 8;
  ir::Graph graph = with_data(encoder_text({kLayers}));
  for (ir::NodeId id : graph.live_nodes())
    if (graph.node(id).name.empty()) graph.mutable_node(id).name = "node " + std::to_string(id.value);
  Searched rolled = searched(graph, true), whole = searched(graph, false);
  REQUIRE(rolled.rolled);
  std::vector<std::multiset<std::string>> of_layer(kLayers);  // names of kernels, with L for the number of the layer
  const auto names = [&](const ir::Graph& g, bool keep) {
    std::set<std::string> all;
    for (ir::NodeId id : g.live_nodes()) {
      if (g.node(id).op != ir::Op::kernel) continue;
      std::istringstream text(g.node(id).name);
      std::string layered;
      int layer = -1;
      for (std::string part; std::getline(text, part, '+');) {
        part.erase(0, part.find_first_not_of(' ')), part.erase(part.find_last_not_of(' ') + 1);
        all.insert(part);
        if (part[1] != '_') continue;
        if (layer < 0) layer = std::stoi(part.substr(2));
        layered += part.substr(0, 2) + std::to_string(std::stoi(part.substr(2)) - layer) + " ";
      }
      if (layer >= 0 && keep) of_layer[static_cast<size_t>(layer)].insert(layered);
    }
    return all;
  };
  CHECK(names(rolled.result.lowered, true) == names(whole.result.lowered, false));
  for (size_t layer = 2; layer + 2 < kLayers; ++layer) CHECK(of_layer[layer] == of_layer[1]);
}

TEST_CASE("two runs of blocks, each of which reads an input of its own", "[roll]") {
  constexpr int kBlocks = 9;
  std::string head = "graph g(x: f32[4,8]", body = "  shared = parameter f32[8,8] \"shared\"\n", x = "x";
  for (int run = 0; run < 2; ++run) {
    for (int i = 0; i < kBlocks; ++i) {
      const std::string n = "_" + std::to_string(run) + "_" + std::to_string(i);
      head += ", p" + n + ": f32[4,8]";
      body += "  w" + n + " = parameter f32[8,8] \"w" + n + "\"\n";
      body += "  h" + n + " = tanh(matmul(" + x + ", w" + n + ") + p" + n + ")\n";
      body += "  i" + n + " = softmax(matmul(h" + n + ", shared), axis=1)\n";
      body += "  j" + n + " = reduce_mean(i" + n + " * h" + n + ", axes=[1])\n";
      body += "  y" + n + " = tanh(i" + n + " - j" + n + " + exp(neg(h" + n + ")))\n";
      x = "y" + n;
    }
    body += "  z" + std::to_string(run) + " = log(exp(" + x + ") + " + std::to_string(run + 1) + ".5)\n";
    x = "z" + std::to_string(run);
  }
  const ir::Graph graph = with_data(head + ") {\n" + body + "  return " + x + "\n}\n");
  const Searched s = searched(graph, true);
  CHECK(s.rolled);
  same_results(graph, s.result.lowered);
}

namespace {

/// Blocks x -> tanh(x @ w + b) - exp(x) ..., with what a test wants to be odd about one of them.
std::string chain_text(int blocks, int odd, const std::string& odd_line, const std::string& after = "") {
  std::string text = "graph g(x: f32[4,8]) {\n  shared = parameter f32[8,8] \"shared\"\n", x = "x";
  for (int i = 0; i < blocks; ++i) {
    std::string n = "_" + std::to_string(i);
    text += "  w" + n + " = parameter f32[8,8] \"w" + n + "\"\n  b" + n + " = parameter f32[8] \"b" + n + "\"\n";
    text += "  h" + n + " = tanh(matmul(" + x + ", w" + n + ") + b" + n + ")\n";
    text += "  i" + n + " = softmax(matmul(h" + n + ", shared), axis=1)\n";
    text += i == odd ? odd_line : "  j" + n + " = reduce_mean(i" + n + " * h" + n + ", axes=[1])\n";
    text += "  y" + n + " = tanh(i" + n + " - j" + n + " + exp(neg(h" + n + ")))\n";
    x = "y" + n;
  }
  return text + "  z = matmul(" + x + ", shared)" + after + "\n  return z\n}\n";
}

}  // namespace

TEST_CASE("what is not equal, or is read from elsewhere, is not left out", "[roll]") {
  SECTION("equal blocks, one weight shared by all: rolled up") {
    Searched s = searched(with_data(chain_text(12, -1, "")), true);
    CHECK(s.rolled);
    same_results(with_data(chain_text(12, -1, "")), s.result.lowered);
  }
  SECTION("an odd block in the middle: two runs or one, right results") {
    std::string text = chain_text(14, 7, "  j_7 = reduce_max(i_7 * h_7, axes=[1])\n");
    Searched s = searched(with_data(text), true);
    same_results(with_data(text), s.result.lowered);
    CHECK(count_if(s.report.passes.begin(), s.report.passes.end(),
                   [](auto& p) { return p.name == "roll" && p.detail.find("7 blocks of") != std::string::npos; }) == 1);
  }
  SECTION("a layer in the middle is read at the end") {
    std::string text = chain_text(12, -1, "", " + y_5");
    Searched s = searched(with_data(text), true);
    same_results(with_data(text), s.result.lowered);
  }
  SECTION("a block reads another block's weight") {
    std::string text = chain_text(12, 6, "  j_6 = reduce_mean(matmul(i_6, w_5) * h_6, axes=[1])\n");
    Searched s = searched(with_data(text), true);
    same_results(with_data(text), s.result.lowered);
  }
  SECTION("the input is read at the end") {
    std::string text = chain_text(12, -1, "", " + x");
    Searched s = searched(with_data(text), true);
    INFO(s.report.to_text());
    CHECK(s.rolled);
    same_results(with_data(text), s.result.lowered);
  }
}

TEST_CASE("weights that all layers share (ALBERT) are no obstacle", "[roll]") {
  std::string text = "graph g(x: f32[4,8]) {\n  w = parameter f32[8,8] \"w\"\n  b = parameter f32[8] \"b\"\n", x = "x";
  for (int i = 0; i < 12; ++i) {
    std::string n = "_" + std::to_string(i);
    text += "  h" + n + " = tanh(matmul(" + x + ", w) + b)\n  i" + n + " = softmax(matmul(h" + n + ", w), axis=1)\n";
    text += "  y" + n + " = tanh(i" + n + " - reduce_mean(i" + n + " * h" + n + ", axes=[1]) + exp(h" + n + "))\n";
    x = "y" + n;
  }
  text += "  return " + x + "\n}\n";
  Searched s = searched(with_data(text), true);
  CHECK(s.rolled);
  same_results(with_data(text), s.result.lowered);
}
