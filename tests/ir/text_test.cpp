// Round trips of the text language: what is printed reads back as the same graph, and prints as the same text.
#include "ir/text.hpp"

#include <bit>
#include <limits>
#include <set>

#include "ir/program.hpp"
#include "ir/support/error.hpp"
#include "ir/verify.hpp"
#include "tests/golden.hpp"
#include "tests/ir/random_graph.hpp"
#include "tests/ir/same_graph.hpp"

using namespace weft;
using namespace weft::ir;

namespace {

void check_round_trip(const Graph& graph) {
  for (PrintOptions options : {PrintOptions{}, PrintOptions{.types = true, .default_attributes = true}}) {
    std::string text = print_graph(graph, options);
    INFO(text);
    Graph back = parse_graph(text, "round trip");
    CHECK(test::difference(graph, back) == "");
    CHECK(print_graph(back, options) == text);
    CHECK_NOTHROW(verify(back));
  }
}

}  // namespace

TEST_CASE("golden graphs print as expected", "[golden]") {
  for (const auto& path : test::files_in("tests/golden/ir", ".graph"))
    test::check_golden(path, [](const std::string& input) {
      Graph graph = parse_graph(input, "golden");
      verify(graph);
      std::string text =
          print_graph(graph, {.types = input.find("# types") != std::string::npos, .parameter_data = true});
      REQUIRE(print_graph(parse_graph(text),
                          {.types = input.find("# types") != std::string::npos, .parameter_data = true}) == text);
      return text;
    });
}

TEST_CASE("golden expressions print as expected, one a line", "[golden]") {
  for (const auto& path : test::files_in("tests/golden/ir", ".expr"))
    test::check_golden(path, [](const std::string& input) {
      std::istringstream lines(input);
      std::string out;
      for (std::string line; std::getline(lines, line);)
        out += test::result_or_error([&] {
          std::string text = print_expression(parse_expression(line, "expr"));
          REQUIRE(print_expression(parse_expression(text)) == text);
          return text + "\n";
        });
      return out;
    });
}

TEST_CASE("random graphs of every op round trip") {
  std::set<Op> seen;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    test::RandomGraphOptions options;
    options.seed = seed;
    options.nodes = 30;
    options.dtypes = {DType::f32, DType::f64, DType::f16, DType::bf16,
                      DType::i32, DType::i64, DType::u8,  DType::boolean};
    options.hostile_names = seed % 2;
    options.programs = seed % 3 == 0;
    Graph graph = test::random_graph(options);
    REQUIRE_NOTHROW(verify(graph));
    check_round_trip(graph);
    for (const Node& n : graph.nodes()) seen.insert(n.op);
  }
  for (const OpInfo& op : all_ops()) {
    INFO(op.name);
    CHECK(seen.count(op.op) == 1);  // else the generator tests less than it says
  }
}

TEST_CASE("attributes of every kind round trip") {
  auto program = parse_expression("{(a0: f32[2], a1: f32[]) %2 = mul(a0, a1); return %2, a0}").program;
  Shape shape = {2,
                 Dim::symbol("N"),
                 floor_div(Dim::symbol("H"), 2) + 1,
                 ceil_div(Dim::symbol("H"), 2),
                 max(Dim::symbol("a"), Dim::symbol("b")),
                 Dim::symbol("a b\"\\"),
                 Dim::symbol("max") * (Dim::symbol("N") - 3)};
  double nan = std::bit_cast<double>(uint64_t{0xfff0000000000123});
  const std::vector<AttributeValue> values = {true,
                                              false,
                                              int64_t{0},
                                              INT64_MIN,
                                              INT64_MAX,
                                              0.1,
                                              -0.0,
                                              1e300,
                                              5e-324,
                                              nan,
                                              -std::numeric_limits<double>::infinity(),
                                              std::string(""),
                                              std::string("a\"b\\c\n\t\r\x01\xff", 11),
                                              std::string("\0", 1),
                                              DType::bf16,
                                              std::vector<int64_t>{},
                                              std::vector<int64_t>{-1, 2},
                                              std::vector<double>{},
                                              std::vector<double>{0.5, -0.0, nan},
                                              Shape{},
                                              shape,
                                              program};
  for (const AttributeValue& v : values) {
    std::string text = print_attribute(v);
    INFO(text);
    AttributeValue back = attribute_from_expression(parse_expression(text), kind_of(v));
    CHECK(same_bits(v, back));
    CHECK(print_attribute(back) == text);
  }
}

TEST_CASE("attributes of the wrong kind are refused with their place") {
  CHECK_THROWS_WITH(attribute_from_expression(parse_expression("[1, x]"), AttributeKind::ints, "t"),
                    Catch::Contains("t:1:5") && Catch::Contains("integer"));
  CHECK_THROWS_AS(attribute_from_expression(parse_expression("1.5"), AttributeKind::integer), Error);
  CHECK_THROWS_AS(attribute_from_expression(parse_expression("9223372036854775808"), AttributeKind::integer), Error);
  CHECK_THROWS_AS(attribute_from_expression(parse_expression("1"), AttributeKind::boolean), Error);
  CHECK_THROWS_AS(attribute_from_expression(parse_expression("f33"), AttributeKind::dtype), Error);
  CHECK_THROWS_AS(attribute_from_expression(parse_expression("[f(x)]"), AttributeKind::shape), Error);
  CHECK_THROWS_AS(attribute_from_expression(parse_expression("[N/0]"), AttributeKind::shape), Error);
  CHECK_THROWS_AS(attribute_from_expression(parse_expression("[4/0]"), AttributeKind::shape), Error);
  CHECK_THROWS_AS(attribute_from_expression(parse_expression("x"), AttributeKind::program), Error);
}

TEST_CASE("tensors of every dtype round trip bit by bit") {
  test::Random random(7);
  for (int d = 0; d < kDTypeCount; ++d) {
    DType dtype = static_cast<DType>(d);
    for (int round = 0; round < 200; ++round) {
      Tensor t = Tensor::allocate({dtype, {2, 3}});
      auto* bytes = static_cast<uint8_t*>(t.mutable_data());
      for (size_t i = 0; i < t.bytes(); ++i)
        bytes[i] = static_cast<uint8_t>(random.next() & (dtype == DType::boolean ? 1 : 255));
      std::string text = print_tensor(t);
      INFO(text);
      Graph graph;
      Value v = build_expression(graph, parse_expression(text), {});
      CHECK(graph.node(v.node).tensor.same_bits(t));
    }
  }
}

TEST_CASE("a graph keeps hostile names") {
  for (std::string name : {std::string(""), std::string("a\0b", 3), std::string("\"\\\n"), std::string("graph"),
                           std::string("%3"), std::string("f32")}) {
    Graph graph(name);
    Value x = graph.input(name + "i", {DType::f32, {Dim::symbol(name + "d")}});
    Value w = graph.parameter(name, {DType::f32, {}});
    Value y = graph.value(Op::add, {x, w}, {}, name);
    graph.output(name, graph.value(Op::relu, {y}, {}, name));
    graph.output("", y);
    check_round_trip(graph);
  }
}

TEST_CASE("numbers beside operands take their dtype") {
  Graph g = parse_graph("graph g(x: f16[2], c: bool[2]) { y = where(c, x, 0.1) + 2; return y }");
  CHECK(print_graph(g).find("f16[][0.1]") != std::string::npos);
  CHECK(print_graph(g).find("f16[][2]") != std::string::npos);
  CHECK_THROWS_WITH(parse_graph("graph g(x: i8[2]) { y = x + 200; return y }"), Catch::Contains("from -128 to 127"));
  Graph h;
  Value x = h.input("x", {DType::f64, {2}});
  Value y = build_expression(h, parse_expression("x * 3"), {{"x", x}}, DType::f64);
  CHECK(h.type(y) == TensorType{DType::f64, {2}});
}

TEST_CASE("slices read as in Python") {
  Tensor x = Tensor::from<float>({4, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  auto run = [&](std::string_view slice) {
    Graph g;
    g.output("y", build_expression(g, parse_expression(slice), {{"x", g.input("x", x.type())}}));
    return print_tensor(run_reference(g, {{"x", x}})[0]);
  };
  CHECK(run("x[1]") == "f32[3][3, 4, 5]");
  CHECK(run("x[-1, 1:]") == "f32[2][10, 11]");
  CHECK(run("x[:, 1]") == "f32[4][1, 4, 7, 10]");
  CHECK(run("x[::-2, 0]") == "f32[2][9, 3]");
  CHECK(run("x[-2:100, :-1]") == "f32[2,2][6, 7, 9, 10]");
  CHECK(run("x[3:1]") == "f32[0,3][]");
  CHECK(run("x[2:0:-1, -1]") == "f32[2][8, 5]");
  CHECK(run("x[0, 0]") == "f32[][0]");
  CHECK_THROWS_AS(run("x[4]"), Error);
  CHECK_THROWS_AS(run("x[0,0,0]"), Error);
  CHECK_THROWS_AS(run("x[::0]"), Error);
}

TEST_CASE("a large constant is elided") {
  Graph g;
  Tensor big = Tensor::zeros({DType::i32, {60}});
  g.output("y", g.constant(big, "c"));
  CHECK(print_graph(g, {.max_elements = 10}) ==
        "graph main() {\n  c = constant i32[60][...60 elements]\n  return y: c\n}\n");
}
