// Bugs that comparable projects had, end to end: optimizer off, on, on constants, and from the plan cache on disk.
#include <sys/resource.h>

#include <cmath>
#include <numeric>

#include "ir/support/error.hpp"
#include "passes/pass_runner.hpp"
#include "runtime/plan_cache.hpp"
#include "runtime/session.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/graphs.hpp"
#include "tests/small_stack.hpp"

namespace weft::runtime {
namespace {

using ir::Tensor;
using namespace test;
using Expected = std::map<std::string, std::vector<double>>;

void check_values(const ir::NamedTensors& got, const Expected& expected) {
  for (const auto& [name, values] : expected) {
    const Tensor& tensor = got.at(name);
    REQUIRE(tensor.elements() == static_cast<int64_t>(values.size()));
    for (size_t i = 0; i < values.size(); ++i) {
      const double v = tensor.at_double(static_cast<int64_t>(i));
      INFO(name << "[" << i << "] is " << v << ", expected " << values[i]);
      CHECK((std::isnan(values[i]) ? std::isnan(v) : v == values[i]));
    }
  }
}

/// The four ways: no rewriting, rewriting, all inputs as constants, and a plan that comes from the disk.
void check_four_ways(const std::string& text, const ir::NamedTensors& inputs, const Expected& expected) {
  TemporaryDirectory directory;
  SessionOptions off = plain(), on = plain(), bound = plain(), from_disk = cached(directory.path());
  off.compile.level = 0;
  bound.binds = inputs;
  for (auto [way, options] :
       {std::pair("off", off), std::pair("on", on), std::pair("cold", from_disk), std::pair("disk", from_disk)}) {
    INFO(text << "\n" << way);
    clear_memory_cache();
    Session session = make_session(text, options);
    check_values(session.run(inputs), expected);
    if (way == std::string("disk")) CHECK(session.report().specializations.at(0).cache == CacheOutcome::disk);
  }
  INFO(text << "\nconstants");
  check_values(make_session(text, bound).run({}), expected);
}

int64_t peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

}  // namespace

TEST_CASE("C01: sums of 12 and 200 integers keep their value under associativity", "[peer-bugs]") {
  for (int count : {12, 200}) {
    std::string head = "graph sum(", body = "a" + std::to_string(count);
    ir::NamedTensors inputs;
    for (int i = 1; i <= count; ++i) {
      head += (i > 1 ? ", a" : "a") + std::to_string(i) + ": i32[]";
      inputs["a" + std::to_string(i)] = Tensor::scalar(static_cast<int32_t>(i));
    }
    std::string terms = "mul(add(a" + std::to_string(count) + ", 0), 1)";
    std::string text = head + ") {\n s" + std::to_string(count) + " = " + terms + "\n";
    for (int i = count - 1; i > 0; --i)
      text += " s" + std::to_string(i) + " = add(a" + std::to_string(i) + ", s" + std::to_string(i + 1) + ")\n";
    text += " return y: s1, zero: mul(s1, 0) }";
    const int64_t before = peak_kilobytes();
    check_four_ways(text, inputs, {{"y", {count * (count + 1) / 2.0}}, {"zero", {0}}});
    CHECK(peak_kilobytes() - before < 512 << 10);
    std::string plans[2];
    for (std::string& plan : plans) plan = passes::print_plan(make_session(text).prepare()->plan());
    CHECK(plans[0] == plans[1]);
  }
}

TEST_CASE("C07: rules for equal operands leave different ones alone", "[peer-bugs]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const ir::NamedTensors floats = {{"a", Tensor::from<float>({2}, {4, -1})}, {"b", Tensor::from<float>({2}, {9, -1})}};
  check_four_ways(R"(graph g(a: f32[2], b: f32[2]) {
    return two: mul(sqrt(a), sqrt(b)), one: mul(sqrt(a), sqrt(a)), minus: sub(a, b), over: div(a, b), most: max(a, b),
           same_minus: sub(a, a), same_over: div(a, a), same_most: max(a, a), least: min(a, b) })",
                  floats,
                  {{"two", {6, nan}},
                   {"one", {4, nan}},
                   {"minus", {-5, 0}},
                   {"over", {static_cast<double>(4.f / 9.f), 1}},
                   {"most", {9, -1}},
                   {"same_minus", {0, 0}},
                   {"same_over", {1, 1}},
                   {"same_most", {4, -1}},
                   {"least", {4, -1}}});
  check_four_ways(R"(graph g(a: i32[2], b: i32[2]) {
    return two: bit_xor(a, b), one: bit_xor(a, a), both: bit_and(a, b), minus: sub(a, b), over: div(a, b) })",
                  {{"a", Tensor::from<int32_t>({2}, {4, -1})}, {"b", Tensor::from<int32_t>({2}, {9, -1})}},
                  {{"two", {13, 0}}, {"one", {0, 0}}, {"both", {0, -1}}, {"minus", {-5, 0}}, {"over", {0, 1}}});
}

namespace {

using weft::test::kDeep;

/// y = op(... op(x)), kDeep times, compiled and run on a small stack.
double run_chain(const std::function<ir::Value(ir::Graph&, ir::Value)>& step, float x, int level, bool constant) {
  double result = -1;
  weft::test::on_small_stack([&] {
    ir::Graph graph("chain");
    ir::Value v = graph.input("x", {ir::DType::f32, {4}});
    for (int i = 0; i < kDeep; ++i) v = step(graph, v);
    graph.output("y", v);
    SessionOptions options = plain();
    options.compile.level = level;
    const Tensor input = Tensor::from<float>({4}, {x, x, x, x});
    if (constant) options.binds = {{"x", input}};
    Session session(std::move(graph), options);
    result = session.run(constant ? ir::NamedTensors{} : ir::NamedTensors{{"x", input}}).at("y").at_double(3);
  });
  return result;
}

ir::Value plus_one(ir::Graph& graph, ir::Value v) {
  return graph.value(ir::Op::add, {v, graph.constant(Tensor::scalar(1.0f))});
}
ir::Value relu(ir::Graph& graph, ir::Value v) { return graph.value(ir::Op::relu, {v}); }

}  // namespace

TEST_CASE("C02: 100,000 adds one after another, at every level, on inputs and on constants", "[peer-bugs]") {
  for (int level : {0, 2})
    for (bool constant : {false, true}) {
      INFO("level " << level << " constant " << constant);
      CHECK(run_chain(plus_one, 0, level, constant) == kDeep);
    }
}

TEST_CASE("C02: 100,000 relus one after another, at every level, on inputs and on constants", "[peer-bugs]") {
  for (int level : {0, 2})
    for (bool constant : {false, true}) {
      INFO("level " << level << " constant " << constant);
      CHECK(run_chain(relu, 2.5f, level, constant) == 2.5);
    }
}

namespace {

/// Parts of 1 and 2 elements, joined as they were or the other way round: then [a, b, c] becomes [b, c, a].
ir::Value split_and_join(ir::Graph& graph, ir::Value v, bool swap) {
  const ir::NodeId parts = graph.add(ir::Op::split, {v}, {{"axis", int64_t{0}}, {"sizes", ir::Shape{1, 2}}});
  const ir::Value first{parts, 0}, second{parts, 1};
  return graph.value(ir::Op::concat, swap ? std::vector{second, first} : std::vector{first, second},
                     {{"axis", int64_t{0}}});
}

struct Deep {
  ir::Graph graph{"chain"};
  ir::Value x = graph.input("x", {ir::DType::f32, {3}}), y = x;
};

/// Adds the gradient of y by x, from the gradient texts of the ops between them, as output "dx"; dy is an input.
void add_gradient(Deep& deep) {
  ir::Graph& graph = deep.graph;
  std::map<ir::Value, ir::Value> of = {{deep.y, graph.input("dy", {ir::DType::f32, {3}})}};
  for (uint32_t id = deep.y.node.value; id > deep.x.node.value; --id) {
    const ir::Node node = graph.node(ir::NodeId(id));  // a copy: the graph grows
    if (ir::info(node.op).has(ir::kLeaf)) continue;
    const std::string_view text = ir::info(node.op).gradient;
    const ir::Value x = node.operands[0];
    if (node.op == ir::Op::split) {
      WEFT_CHECK(text == "concat(dys..., axis=axis)");
      std::vector<ir::Value> parts;
      for (uint32_t o = 0; o < node.types.size(); ++o) parts.push_back(of.at({ir::NodeId(id), o}));
      of[x] = graph.value(ir::Op::concat, parts, {{"axis", node.attributes->integer("axis")}});
      continue;
    }
    const ir::Value y{ir::NodeId(id), 0};
    if (node.op == ir::Op::concat) {
      WEFT_CHECK(text == "split(dy, axis=axis, sizes=dims(xs, axis))");
      ir::Shape sizes;
      for (ir::Value part : node.operands) sizes.push_back(graph.type(part).shape[0]);
      const ir::NodeId split =
          graph.add(ir::Op::split, {of.at(y)}, {{"axis", node.attributes->integer("axis")}, {"sizes", sizes}});
      for (uint32_t o = 0; o < node.operands.size(); ++o) of[node.operands[o]] = {split, o};
      continue;
    }
    const std::string name(ir::info(node.op).operands[0].name);
    of[x] = ir::build_expression(graph, ir::parse_expressions(text)[0], {{name, x}, {"y", y}, {"dy", of.at(y)}});
  }
  graph.output("dx", of.at(deep.x));
}

}  // namespace

TEST_CASE("C02: 100,000 pairs of split and concat one after another", "[peer-bugs]") {
  for (const bool constant : {false, true})
    for (const int level : {0, 2})
      for (const bool swap : {false, true}) {
        if ((constant || level == 2) && !(swap && constant != (level == 2))) continue;  // the same work again
        INFO("level " << level << " swap " << swap << " constant " << constant);
        ir::NamedTensors got;
        weft::test::on_small_stack([&] {
          Deep deep;
          for (int i = 0; i < kDeep; ++i) deep.y = split_and_join(deep.graph, deep.y, swap);
          deep.graph.output("y", deep.y);
          SessionOptions options = plain();
          options.compile.level = level;
          const ir::NamedTensors input = {{"x", Tensor::from<float>({3}, {5, 6, 7})}};
          if (constant) options.binds = input;
          Session session(std::move(deep.graph), options);
          got = session.run(constant ? ir::NamedTensors{} : input);
        });
        CHECK(values<float>(got.at("y")) == (swap ? std::vector<float>{6, 7, 5} : std::vector<float>{5, 6, 7}));
      }
}

TEST_CASE("C02: gradients through 100,000 ops", "[peer-bugs]") {
  const std::map<std::string, std::function<ir::Value(ir::Graph&, ir::Value)>> chains = {
      {"add", plus_one}, {"relu", relu}, {"split and concat", [](ir::Graph& graph, ir::Value v) {
                                            return split_and_join(graph, v, true);
                                          }}};
  for (const auto& [name, step] : chains)
    for (int level : {0, 2}) {
      if (level == 2 && name != "add") continue;  // the search alone takes minutes (passes/README.md)
      const int depth = name == "split and concat" ? kDeep / 10 : kDeep;  // which is 1 modulo 3 too
      INFO(name << " at level " << level);
      ir::NamedTensors got;
      weft::test::on_small_stack([&, &one = step] {
        Deep deep;
        for (int i = 0; i < depth; ++i) deep.y = one(deep.graph, deep.y);
        deep.graph.output("y", deep.y);
        add_gradient(deep);
        SessionOptions options = plain();
        options.compile.level = level;
        got = Session(std::move(deep.graph), options)
                  .run({{"x", Tensor::from<float>({3}, {1, 2, 4})}, {"dy", Tensor::from<float>({3}, {1, 1, 3})}});
      });
      // a chain that rotates left is pulled back by one that rotates right
      CHECK(values<float>(got.at("dx")) ==
            (name == "split and concat" ? std::vector<float>{3, 1, 1} : std::vector<float>{1, 1, 3}));
      CHECK(got.at("y").at_double(0) == (name == "add" ? 1 + kDeep : name == "relu" ? 1 : 2));
    }
}

TEST_CASE("C02: a sum and a concat of 10,000 inputs", "[peer-bugs]") {
  constexpr int kInputs = 10'000;
  ir::Graph graph("wide");
  ir::NamedTensors inputs;
  std::vector<ir::Value> all;
  for (int i = 0; i < kInputs; ++i) {
    std::string name = "x" + std::to_string(i);
    all.push_back(graph.input(name, {ir::DType::f32, {1}}));
    inputs[name] = Tensor::from<float>({1}, {static_cast<float>(i % 7)});
  }
  ir::Value sum = all[0];
  for (int i = 1; i < kInputs; ++i) sum = graph.value(ir::Op::add, {sum, all[static_cast<size_t>(i)]});
  graph.output("sum", sum);
  graph.output("joined", graph.value(ir::Op::concat, all, {{"axis", int64_t{0}}}));
  double expected = 0;
  for (int i = 0; i < kInputs; ++i) expected += i % 7;
  ir::NamedTensors got;
  weft::test::on_small_stack([&] {
    Session session(std::move(graph), plain());
    got = session.run(inputs);
  });
  CHECK(got.at("sum").at_double(0) == expected);
  REQUIRE(got.at("joined").shape() == ir::Shape{kInputs});
  for (int i = 0; i < kInputs; ++i) REQUIRE(got.at("joined").at_double(i) == i % 7);
}

}  // namespace weft::runtime
