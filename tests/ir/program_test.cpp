#include "ir/program.hpp"

#include "ir/eval.hpp"
#include "ir/support/error.hpp"
#include "ir/text.hpp"
#include "tests/catch.hpp"

using namespace weft;
using namespace weft::ir;

TEST_CASE("equal programs have equal texts, whatever their names and order") {
  auto text = [](std::string_view graph) { return make_program(parse_graph(graph))->text(); };
  std::string expected = "{(a0: f32[2], a1: f32[2]) %2 = relu(a0); %3 = exp(a1); %4 = add(%2, %3); return %4}";
  CHECK(text("graph p(x: f32[2], y: f32[2]) { a = relu(x); b = exp(y); return a + b }") == expected);
  CHECK(text("graph q(u: f32[2], v: f32[2]) { b = exp(v) as \"!\"; dead = neg(b); a = relu(u); return out: a + b }") ==
        expected);
  CHECK(text("graph q(v: f32[2], u: f32[2]) { b = exp(v); a = relu(u); return a + b }") != expected);
  CHECK(text("graph p(x: f32[2], unused: f32[9]) { return x }") == "{(a0: f32[2], a1: f32[9]) return a0}");
}

TEST_CASE("equal subexpressions and constants are one") {
  Graph g;
  Value x = g.input("x", {DType::f32, {2}});
  Value a = g.value(Op::mul, {x, g.constant(Tensor::scalar(2.0f))}),
        b = g.value(Op::mul, {x, g.constant(Tensor::scalar(2.0f))});
  g.output("y", g.value(Op::add, {a, b}));
  CHECK(make_program(g)->text() ==
        "{(a0: f32[2]) %1 = constant f32[][2]; %2 = mul(a0, %1); %3 = add(%2, %2); return %3}");
}

TEST_CASE("graphs that look like programs already are put in order where they are not") {
  const TensorType type{DType::f32, {2}};
  const auto text = [&](const char* name, const auto& fill) {
    Graph g(name);
    const Value a = g.input("a0", type), b = g.input("a1", type);
    for (Value v : fill(g, a, b)) g.output("", v);
    return make_program(g)->text();
  };
  using Values = std::vector<Value>;
  const auto sum = [](Graph& g, Value x, Value y) { return g.value(Op::add, {x, y}); };
  const auto check = [&](const auto& fill) {  // under another name nothing is taken as it is
    CHECK(text("program", fill) == text("other", fill));
  };
  check([&](Graph& g, Value a, Value b) { return Values{sum(g, g.value(Op::exp, {a}), g.value(Op::exp, {b}))}; });
  check([&](Graph& g, Value a, Value b) {  // made in another order than used
    const Value second = g.value(Op::exp, {b}), first = g.value(Op::exp, {a});
    return Values{sum(g, first, second)};
  });
  check([&](Graph& g, Value a, Value b) {  // dead
    g.value(Op::neg, {a});
    return Values{g.value(Op::exp, {b})};
  });
  check([&](Graph& g, Value a, Value b) {  // equal nodes
    return Values{sum(g, g.value(Op::mul, {a, b}), g.value(Op::mul, {a, b}))};
  });
  check([&](Graph& g, Value a, Value b) {  // equal constants
    const Value x = g.value(Op::mul, {a, g.constant(Tensor::scalar(2.0f))});
    return Values{sum(g, x, g.value(Op::mul, {b, g.constant(Tensor::scalar(2.0f))}))};
  });
  check([&](Graph& g, Value a, Value b) {  // constants of equal value and other bits or types
    const Value x = g.value(Op::mul, {a, g.constant(Tensor::scalar(0.0f))});
    return Values{sum(g, x, g.value(Op::mul, {b, g.constant(Tensor::scalar(-0.0f))}))};
  });
  check([&](Graph& g, Value a, Value) {  // outputs in another order, one twice, one an input
    const Value x = g.value(Op::exp, {a}), y = g.value(Op::neg, {a});
    return Values{y, x, y, a};
  });
  check([&](Graph&, Value, Value b) { return Values{b}; });
  check([&](Graph& g, Value a, Value b) {  // a diamond that is walked from its right end first
    const Value x = g.value(Op::exp, {a}), y = g.value(Op::neg, {x});
    return Values{sum(g, y, g.value(Op::mul, {x, b})), x};
  });
}

TEST_CASE("the literal of a program reads back as the program") {
  ProgramRef p = make_program(parse_graph("graph p(x: f32[2,2]) { a, b = split(x, 1, [1,1]); return b, a, again: b }"));
  ProgramRef back = parse_expression(p->text()).program;
  CHECK(back->text() == p->text());
  CHECK(back->hash() == p->hash());
  CHECK(back->graph().outputs().size() == 3);
}

TEST_CASE("the program of one op") {
  ProgramRef p =
      make_program(Op::split, {{DType::f32, {4}}}, {{"axis", int64_t{0}}, {"sizes", std::vector<int64_t>{1, 3}}});
  CHECK(p->text() == "{(a0: f32[4]) %1.0, %1.1 = split(a0, axis=0, sizes=[1,3]); return %1.0, %1.1}");
  std::vector<Tensor> operands = {Tensor::from<float>({4}, {1, 2, 3, 4})};
  std::vector<Tensor> out = run_program(*p, operands);
  CHECK(print_tensor(out[1]) == "f32[3][2, 3, 4]");
}

TEST_CASE("programs refuse parameters and symbolic shapes") {
  CHECK_THROWS_AS(make_program(parse_graph("graph p(x: f32[N]) { return x }")), Error);
  CHECK_THROWS_WITH(make_program(parse_graph("graph p() { w = parameter f32[2]; return w }")),
                    Catch::Contains("\"w\""));
}

TEST_CASE("an attribute that the others need is printed, whatever its default", "[program]") {
  const std::vector<weft::ir::TensorType> types = {{weft::ir::DType::f32, {1, 4, 5, 5}},
                                                   {weft::ir::DType::f32, {4, 2, 3, 3}}};
  const weft::ir::Attributes given{{"strides", std::vector<int64_t>{2, 2}},
                                   {"output_padding", std::vector<int64_t>{1, 1}}};
  const weft::ir::ProgramRef program = weft::ir::make_program(weft::ir::Op::conv_transpose, types, given);
  CHECK(program->text().find("strides=[2,2]") != std::string::npos);
}
