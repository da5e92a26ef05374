// Chains of 100,000 nodes on a small stack: nothing recurses with the depth of a graph, nothing is quadratic.
#include "ir/eval.hpp"
#include "ir/merkle.hpp"
#include "ir/program.hpp"
#include "ir/support/error.hpp"
#include "ir/text.hpp"
#include "ir/verify.hpp"
#include "tests/catch.hpp"
#include "tests/small_stack.hpp"

using namespace weft;
using namespace weft::ir;

namespace {

constexpr int kDepth = 100000;

Graph chain(Dim size) {
  Graph g("chain");
  Value x = g.input("x", {DType::f32, {size}}), v = x;
  for (int i = 0; i < kDepth; ++i) v = i % 2 ? g.value(Op::neg, {v}) : g.value(Op::add, {v, x});
  g.output("y", v);
  return g;
}

std::string nested(std::string_view open, std::string_view inner, std::string_view close, int levels) {
  std::string out;
  for (int i = 0; i < levels; ++i) out += open;
  out += inner;
  for (int i = 0; i < levels; ++i) out += close;
  return out;
}

}  // namespace

TEST_CASE("a chain of 100,000 nodes goes through everything on a small stack") {
  size_t live = 0, uses = 0, bound = 0, outputs = 0;
  bool same_text = false, same_key = false, same_program = false;
  test::on_small_stack([&] {
    Graph g = chain(Dim::symbol("N"));
    live = g.live_nodes().size();
    for (uint32_t u : g.use_counts()) uses += u;
    Graph fixed = specialize(g, {{"N", 2}});
    bound = bind_shapes(g, {{"x", {2}}}).size();
    verify(fixed);
    std::string text = print_graph(fixed);
    Graph back = parse_graph(text);
    same_text = print_graph(back) == text;
    same_key = structural_key(back) == structural_key(fixed);
    outputs = run_reference(fixed, {{"x", Tensor::from<float>({2}, {1, 2})}}).size();
    ProgramRef program = make_program(fixed);
    same_program = parse_expression(program->text()).program->text() == program->text();
  });
  CHECK(live == kDepth + 1);
  CHECK(uses == kDepth * 3 / 2 + 1);
  CHECK(bound == 1);
  CHECK(same_text);
  CHECK(same_key);
  CHECK(outputs == 1);
  CHECK(same_program);
}

TEST_CASE("text nested beyond the limit is an error on a small stack, up to it is not") {
  struct Nest {
    const char *open, *inner, *close;
  };
  const Nest nests[] = {{"(", "x", ")"},
                        {"f(", "x", ")"},
                        {"[", "1", "]"},
                        {"- ", "x", ""},
                        {"x + ", "x", ""},
                        {"", "x", " + x"},
                        {"", "x", "[0]"},
                        {"x[", "0", "]"},
                        {"f(a=", "x", ")"},
                        {"x * (", "x", ")"},
                        {"f(g(h(x[[-(", "x", ")]])))"},
                        {"f32[2,", "N", "]"},
                        {"{(a0: f32[2]) return ", "a0", "}"},
                        {"f32[(", "N", ")][1]"}};
  for (const Nest& n : nests) {
    INFO(n.open << n.inner << n.close);
    for (int levels : {600, 100000}) {
      std::string message;
      test::on_small_stack([&] {
        try {
          parse_expression(nested(n.open, n.inner, n.close, levels));
        } catch (const Error& e) {
          message = e.what();
        }
      });
      CHECK(message != "");
    }
  }
  for (const Nest& n : {nests[0], nests[1], nests[2], nests[3], nests[5], nests[6]}) {
    bool same = false;
    test::on_small_stack([&] {
      std::string text = print_expression(parse_expression(nested(n.open, n.inner, n.close, kMaxNesting - 5)));
      same = print_expression(parse_expression(text)) == text;
    });
    CHECK(same);
  }
}

TEST_CASE("the deepest expression that is read fits a small stack in all it can be used for") {
  std::string text = nested("neg(", "x", ")", kMaxNesting - 2);
  size_t nodes = 0;
  test::on_small_stack([&] {
    Expr e = parse_expression(text);
    Expr copy = parse_expression(print_expression(e));
    Graph g;
    g.output("y", build_expression(g, copy, {{"x", g.input("x", {DType::f32, {}})}}));
    nodes = g.size();
  });
  CHECK(nodes == kMaxNesting - 1);
}
