// Matmuls that oneDNN takes: by parameters and of two values, with epilogues.
#include <functional>

#include "tests/backends/onednn_forms.hpp"

using namespace weft;
using namespace weft::test;

TEST_CASE("matmuls") {
  struct Form {
    const char* name;
    std::function<Value(Case&)> make;
  };
  const Attributes ta{{"transpose_a", true}}, tb{{"transpose_b", true}};
  const std::vector<Form> forms = {
      {"by a parameter",
       [](Case& c) {
         return c.op(Op::matmul, {c.value({128, 96}), c.parameter({96, 160})});
       }},
      {"by a transposed parameter",
       [&](Case& c) {
         return c.op(Op::matmul, {c.value({128, 96}), c.parameter({160, 96})}, tb);
       }},
      {"by transpose(parameter)",
       [](Case& c) {
         return c.op(Op::matmul, {c.value({128, 96}), c.transpose(c.parameter({160, 96}), {1, 0})});
       }},
      {"one row",
       [](Case& c) {
         return c.op(Op::matmul, {c.value({1, 2048}), c.parameter({2048, 1000})});
       }},
      {"odd sizes",
       [](Case& c) {
         return c.op(Op::matmul, {c.value({5, 17}), c.parameter({17, 3})});
       }},
      {"batch by a parameter, bias and gelu",
       [](Case& c) {
         const Value y = c.op(Op::matmul, {c.value({2, 64, 96}), c.parameter({96, 384})});
         return c.op(Op::gelu, {c.op(Op::add, {y, c.parameter({384})})});
       }},
      {"bias and residual",
       [](Case& c) {
         const Value y = c.op(Op::matmul, {c.value({1, 128, 96}), c.parameter({96, 96})});
         return c.op(Op::add, {c.op(Op::add, {y, c.parameter({96})}), c.value({1, 128, 96})});
       }},
      {"split into heads",
       [](Case& c) {
         const Value y = c.op(Op::matmul, {c.value({1, 128, 96}), c.parameter({96, 96})});
         return c.transpose(c.reshape(c.op(Op::add, {y, c.parameter({96})}), {1, 128, 4, 24}), {0, 2, 1, 3});
       }},
      {"split into heads of a batch",
       [](Case& c) {
         const Value y = c.op(Op::matmul, {c.value({3, 64, 96}), c.parameter({96, 96})});
         return c.transpose(c.reshape(y, {3, 64, 4, 24}), {0, 2, 1, 3});
       }},
      {"merge of heads",
       [](Case& c) {
         const Value x = c.reshape(c.transpose(c.value({2, 4, 64, 24}), {0, 2, 1, 3}), {2, 64, 96});
         return c.op(Op::matmul, {x, c.parameter({96, 96})});
       }},
      {"part of a merged projection",
       [](Case& c) {
         const Value x = c.op(Op::slice, {c.value({128, 288})},
                              {{"starts", ir::to_shape({0, 96})},
                               {"ends", ir::to_shape({128, 192})},
                               {"steps", std::vector<int64_t>{1, 1}}});
         return c.op(Op::matmul, {x, c.parameter({96, 64})});
       }},
      {"transpose_a by a parameter",
       [&](Case& c) {
         return c.op(Op::matmul, {c.value({96, 128}), c.parameter({96, 64})}, ta);
       }},
      {"a parameter by a value",
       [](Case& c) {
         return c.op(Op::matmul, {c.parameter({64, 96}), c.value({96, 128})});
       }},
      {"two values",
       [](Case& c) {
         return c.op(Op::matmul, {c.value({65, 33}), c.value({33, 17})});
       }},
      {"batches",
       [](Case& c) {
         return c.op(Op::matmul, {c.value({12, 128, 64}), c.value({12, 64, 128})});
       }},
      {"batches, b shared",
       [](Case& c) {
         return c.op(Op::matmul, {c.value({6, 64, 32}), c.value({32, 48})});
       }},
      {"batches, a shared",
       [](Case& c) {
         return c.op(Op::matmul, {c.value({64, 32}), c.value({6, 32, 48})});
       }},
      {"batches broadcast both ways",
       [](Case& c) {
         return c.op(Op::matmul, {c.value({3, 1, 64, 32}), c.value({1, 4, 32, 48})});
       }},
      {"scores from heads, scaled",
       [](Case& c) {
         const Value q = c.transpose(c.reshape(c.value({1, 128, 96}), {1, 128, 4, 24}), {0, 2, 1, 3});
         const Value k = c.transpose(c.reshape(c.value({1, 128, 96}), {1, 128, 4, 24}), {0, 2, 3, 1});
         return c.op(Op::mul, {c.op(Op::matmul, {q, k}), c.number(0.2041241f)});
       }},
      {"scores divided, with a mask",
       [&](Case& c) {
         const Value y = c.op(Op::matmul, {c.value({1, 4, 64, 24}), c.value({1, 4, 64, 24})}, tb);
         return c.op(Op::add, {c.op(Op::div, {y, c.number(4.899f)}), c.value({1, 1, 1, 64})});
       }},
      {"context into merged heads",
       [](Case& c) {
         const Value v = c.transpose(c.reshape(c.value({2, 64, 96}), {2, 64, 4, 24}), {0, 2, 1, 3});
         const Value y = c.op(Op::matmul, {c.value({2, 4, 64, 64}), v});
         return c.reshape(c.transpose(y, {0, 2, 1, 3}), {2, 64, 96});
       }},
      {"two values with a residual",
       [](Case& c) {
         return c.op(Op::add, {c.op(Op::matmul, {c.value({4, 64, 32}), c.value({4, 32, 48})}), c.value({4, 64, 48})});
       }},
      {"two values and tanh",
       [](Case& c) {
         return c.op(Op::tanh, {c.op(Op::matmul, {c.value({64, 32}), c.value({32, 48})})});
       }},
      {"a reshaped result",
       [](Case& c) {
         return c.reshape(c.op(Op::matmul, {c.value({12, 32}), c.parameter({32, 48})}), {3, 4, 48});
       }},
  };
  for (const Form& f : forms) {
    Case c;
    const Value y = f.make(c);
    check(c, y, f.name);
  }
}
