// What holds for every op of the table, generated from it.
#include <algorithm>
#include <cstring>
#include <set>

#include "ir/eval.hpp"
#include "ir/program.hpp"
#include "ir/text.hpp"
#include "tests/ir/tensors.hpp"

namespace weft::ir {
namespace {

const std::vector<DType> kAllDTypes = {DType::boolean, DType::u8,  DType::u16, DType::u32, DType::u64,
                                       DType::i8,      DType::i16, DType::i32, DType::i64, DType::f16,
                                       DType::bf16,    DType::f32, DType::f64};

/// Elements that code goes wrong on, in turn; `start` shifts the turn. Without zeros where they would be divisors.
Tensor nasty(DType dtype, std::vector<int64_t> dims, size_t start, bool zeros = true) {
  static const std::vector<double> floats = {-0.0,  0,    1,    -1,     0.5, 2.5,  -2.5, kInf,
                                             -kInf, kNan, 1e30, -1e-30, 3,   88.5, 0.1};
  static const std::vector<double> integers = {0, 1, 2, 3, 7, 100, 127, 5};
  Tensor t = Tensor::allocate({dtype, to_shape(dims)});
  for (int64_t i = 0; i < t.elements(); ++i) {
    size_t at = (start + static_cast<size_t>(i) * 7);
    double value = is_float(dtype) ? floats[at % floats.size()] : integers[at % integers.size()];
    if (dtype == DType::boolean) value = at % 2 ? 1 : 0;
    if (is_signed(dtype) && !is_float(dtype) && at % 3 == 0) value = -value - 1;
    if (!zeros && value == 0) value = 1;
    set_from_double(t, i, value);
  }
  return t;
}

/// Runs the op on outputs filled with a pattern and fenced with it, checks the fence, and returns the outputs.
std::vector<Tensor> fenced(Op op, const std::vector<Tensor>& operands, const Attributes& attributes, uint8_t pattern) {
  constexpr size_t kFence = 64;
  std::vector<Tensor> outputs;
  std::vector<std::shared_ptr<std::vector<uint8_t>>> memory;
  for (const TensorType& type : infer(op, types_of(operands), attributes)) {
    auto bytes = std::make_shared<std::vector<uint8_t>>(static_cast<size_t>(type.bytes()) + 2 * kFence, pattern);
    outputs.push_back(Tensor::view(type, bytes->data() + kFence, bytes));
    memory.push_back(bytes);
  }
  info(op).eval(operands, attributes, outputs);
  for (const auto& bytes : memory)
    for (size_t i = 0; i < kFence; ++i) REQUIRE(((*bytes)[i] == pattern && (*bytes)[bytes->size() - 1 - i] == pattern));
  return outputs;
}

/// Every element of the inferred type is written, none beside it, and the result depends on nothing but the operands.
void check_writes(Op op, const std::vector<Tensor>& operands, const Attributes& attributes) {
  std::vector<Tensor> first = fenced(op, operands, attributes, 0x00), second = fenced(op, operands, attributes, 0xff);
  std::vector<Tensor> third = evaluate(op, operands, attributes);
  for (size_t i = 0; i < first.size(); ++i) {
    REQUIRE(first[i].same_bits(second[i]));
    REQUIRE(first[i].same_bits(third[i]));
  }
}

/// The same operands with every size but 1 as a symbol of that size: inference must give the same sizes.
void check_symbolic(Op op, const std::vector<Tensor>& operands, const Attributes& attributes) {
  DimBindings bindings;
  std::vector<TensorType> types = types_of(operands), expected = infer(op, types, attributes);
  for (TensorType& type : types)
    for (Dim& d : type.shape) {
      if (d.is(1) || d.is(0)) continue;
      std::string name = "S" + d.text();
      bindings[name] = d.value();
      d = Dim::symbol(name);
    }
  std::vector<TensorType> found = infer(op, types, attributes);
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    INFO(to_string(found[i]));
    for (Dim& d : found[i].shape) d = d.substitute(bindings);
    CHECK(found[i] == expected[i]);
  }
}

bool legal(Op op, const std::vector<Tensor>& operands, const Attributes& attributes) {
  try {
    infer(op, types_of(operands), attributes);
    return true;
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::type_mismatch);
    return false;
  }
}

std::vector<Tensor> elementwise_operands(const OpInfo& op, DType dtype, const std::vector<std::vector<int64_t>>& dims) {
  std::vector<Tensor> operands;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    bool condition = op.op == Op::where && i == 0;
    operands.push_back(
        nasty(condition ? DType::boolean : dtype, dims[i % dims.size()], i * 4, is_float(dtype) || i == 0));
    if (op.op == Op::pow && !is_float(dtype)) operands.back() = nasty(dtype, dims[i % dims.size()], i * 4, false);
  }
  return operands;
}

std::vector<const OpInfo*> elementwise_ops() {
  std::vector<const OpInfo*> out;
  for (const OpInfo& op : all_ops())
    if (op.has(kElementwise)) out.push_back(&op);
  return out;
}

Attributes some_attributes(Op op) {
  return complete(op, op == Op::cast ? Attributes{{"to", DType::i32}} : Attributes{});
}

TEST_CASE("every record is whole", "[ops]") {
  std::set<std::string_view> names;
  for (const OpInfo& op : all_ops()) {
    INFO(op.name);
    CHECK(names.insert(op.name).second);
    CHECK(op_from_string(op.name) == op.op);
    CHECK(&info(op.op) == &op);
    CHECK_FALSE(op.summary.empty());
    if (op.has(kLeaf)) continue;
    CHECK(op.infer);
    CHECK(op.eval);
    CHECK_FALSE(op.operands.empty());
    CHECK((op.op == Op::kernel || !op.examples.empty()));
    if (op.has(kReduction)) CHECK(op.attributes[0].name == "axes");
    if (op.has(kCommutative)) CHECK(op.operands.size() == 2);
  }
  CHECK_FALSE(op_from_string("frobnicate"));
}

TEST_CASE("examples of the table hold", "[ops]") {
  for (const OpInfo& op : all_ops())
    for (std::string_view text : op.examples) {
      INFO(text);
      Expr expr = parse_expression(text);
      REQUIRE(expr.name == "equal");
      CHECK(expr.children[0].name == op.name);
      Graph graph;
      graph.output("found", build_expression(graph, expr.children[0], {}));
      graph.output("expected", build_expression(graph, expr.children[1], {}));
      std::vector<Tensor> results = run_reference(graph, {});
      CHECK_SAME(results[0], results[1]);
    }
}

TEST_CASE("elementwise ops write what they infer, over dtypes and odd shapes", "[ops]") {
  const std::vector<std::vector<std::vector<int64_t>>> shapes = {{{}},
                                                                 {{1}},
                                                                 {{0}},
                                                                 {{17}},
                                                                 {{2, 0, 3}},
                                                                 {{3, 5}, {5}},
                                                                 {{2, 1, 3}, {4, 1}},
                                                                 {{}, {2, 3}},
                                                                 {{1, 3}, {2, 1}, {2, 3}},
                                                                 {{0, 3}, {1, 1}}};
  for (const OpInfo* op : elementwise_ops()) {
    int legal_dtypes = 0;
    for (DType dtype : kAllDTypes)
      for (const auto& dims : shapes) {
        std::vector<Tensor> operands = elementwise_operands(*op, dtype, dims);
        INFO(op->name << " of " << to_string(operands[0].type()) << " and " << to_string(operands.back().type()));
        if (!legal(op->op, operands, some_attributes(op->op))) continue;
        ++legal_dtypes;
        check_writes(op->op, operands, some_attributes(op->op));
        check_symbolic(op->op, operands, some_attributes(op->op));
      }
    INFO(op->name);
    CHECK(legal_dtypes >= static_cast<int>(shapes.size()));
  }
}

TEST_CASE("casts between all dtypes", "[ops]") {
  for (DType from : kAllDTypes)
    for (DType to : kAllDTypes) {
      INFO(to_string(from) << " to " << to_string(to));
      check_writes(Op::cast, {nasty(from, {31}, 0)}, complete(Op::cast, {{"to", to}}));
      if (from == to) CHECK_SAME(run(Op::cast, {nasty(from, {31}, 0)}, {{"to", to}}), nasty(from, {31}, 0));
    }
}

TEST_CASE("an elementwise result depends on its own elements only", "[ops]") {
  for (const OpInfo* op : elementwise_ops())
    for (DType dtype : kAllDTypes) {
      std::vector<Tensor> operands = elementwise_operands(*op, dtype, {{41}});
      INFO(op->name << " of " << to_string(dtype));
      if (!legal(op->op, operands, some_attributes(op->op))) continue;
      Tensor whole = evaluate(op->op, operands, some_attributes(op->op))[0];
      for (int64_t i = 0; i < 41; ++i) {
        std::vector<Tensor> single;
        Attributes at{{"starts", std::vector<int64_t>{i}},
                      {"ends", std::vector<int64_t>{i + 1}},
                      {"steps", std::vector<int64_t>{1}}};
        for (const Tensor& operand : operands) single.push_back(run(Op::slice, {operand}, at));
        CHECK(run(Op::slice, {whole}, at).same_bits(evaluate(op->op, single, some_attributes(op->op))[0]));
      }
    }
}

TEST_CASE("broadcasting operands is the same as repeating them first", "[ops]") {
  for (const OpInfo* op : elementwise_ops())
    for (DType dtype : kAllDTypes) {
      std::vector<Tensor> operands = elementwise_operands(*op, dtype, {{2, 1, 3}, {4, 1}, {3}}), repeated;
      INFO(op->name << " of " << to_string(dtype));
      if (!legal(op->op, operands, some_attributes(op->op))) continue;
      Tensor direct = evaluate(op->op, operands, some_attributes(op->op))[0];
      for (const Tensor& operand : operands)
        repeated.push_back(run(Op::broadcast, {operand}, {{"shape", direct.shape()}}));
      CHECK(evaluate(op->op, repeated, some_attributes(op->op))[0].same_bits(direct));
    }
}

TEST_CASE("commutative ops give the same bits either way", "[ops]") {
  for (const OpInfo& op : all_ops()) {
    if (!op.has(kCommutative)) continue;
    for (DType dtype : kAllDTypes) {
      Tensor a = nasty(dtype, {15, 1}, 0), b = nasty(dtype, {1, 15}, 3);
      INFO(op.name << " of " << to_string(dtype));
      if (!legal(op.op, {a, b}, some_attributes(op.op))) continue;
      CHECK_SAME(run(op.op, {a, b}), run(op.op, {b, a}));
    }
  }
}

TEST_CASE("piecewise constant ops do not change between their steps", "[ops]") {
  for (const OpInfo* op : elementwise_ops()) {
    if (!op->has(kPiecewiseConstant)) continue;
    std::vector<Tensor> here, near;
    for (size_t i = 0; i < op->operands.size(); ++i) {
      float shift = static_cast<float>(i) * 0.25f;
      here.push_back(f32({-1.3f + shift, 0.3f, 1.7f - shift}));
      near.push_back(f32({-1.3001f + shift, 0.3f, 1.7001f - shift}));
    }
    INFO(op->name);
    if (legal(op->op, here, some_attributes(op->op))) CHECK_SAME(run(op->op, here), run(op->op, near));
  }
}

/// A structured op on operands that fit it: f32 where an operand is a value, shapes with sizes 0 and 1 among them.
struct Case {
  Op op;
  std::vector<Tensor> operands;
  Attributes attributes;
};

using Ints = std::vector<int64_t>;

Tensor odd(std::vector<int64_t> dims) { return nasty(DType::f32, std::move(dims), 1); }

void add_movement_cases(std::vector<Case>& out) {
  out.push_back({Op::reshape, {odd({2, 3})}, {{"shape", Ints{3, 2, 1}}}});
  out.push_back({Op::reshape, {odd({0, 3})}, {{"shape", Ints{5, 0}}}});
  out.push_back({Op::reshape, {odd({1, 1})}, {{"shape", Shape{}}}});
  out.push_back({Op::transpose, {odd({2, 3, 4})}, {{"perm", Ints{2, 0, 1}}}});
  out.push_back({Op::transpose, {odd({2, 3})}, {}});
  out.push_back({Op::transpose, {odd({0, 3})}, {{"perm", Ints{1, 0}}}});
  out.push_back({Op::transpose, {odd({})}, {}});
  out.push_back({Op::broadcast, {odd({3, 1})}, {{"shape", Ints{2, 3, 4}}}});
  out.push_back({Op::broadcast, {odd({1})}, {{"shape", Ints{0, 4}}}});
  out.push_back({Op::slice, {odd({5, 4})}, {{"starts", Ints{4, 1}}, {"ends", Ints{-1, 4}}, {"steps", Ints{-2, 1}}}});
  out.push_back({Op::slice, {odd({5})}, {{"starts", Ints{3}}, {"ends", Ints{3}}, {"steps", Ints{1}}}});
  out.push_back({Op::concat, {odd({2, 3}), odd({0, 3}), odd({1, 3})}, {{"axis", int64_t{0}}}});
  out.push_back({Op::concat, {odd({2, 3}), odd({2, 1})}, {{"axis", int64_t{-1}}}});
  out.push_back({Op::split, {odd({2, 5})}, {{"axis", int64_t{1}}, {"sizes", Ints{2, 0, 3}}}});
  for (const char* mode : {"constant", "reflect", "edge", "wrap"})
    out.push_back(
        {Op::pad, {odd({3, 4}), odd({})}, {{"low", Ints{4, -1}}, {"high", Ints{1, 2}}, {"mode", std::string(mode)}}});
  out.push_back({Op::pad, {odd({0}), odd({})}, {{"low", Ints{1}}, {"high", Ints{2}}}});
  out.push_back({Op::gather, {odd({3, 4}), i64({2, 1}, {-1, 0})}, {{"axis", int64_t{1}}}});
  out.push_back({Op::gather, {odd({3, 4}), i64({0}, {})}, {}});
  out.push_back({Op::gather, {odd({3, 4}), i64({}, {1})}, {}});
}

void add_reduction_cases(std::vector<Case>& out) {
  for (Op op : {Op::reduce_sum, Op::reduce_mean, Op::reduce_max, Op::reduce_min, Op::reduce_prod}) {
    out.push_back({op, {odd({2, 3, 4})}, {{"axes", Ints{0, 2}}}});
    out.push_back({op, {odd({2, 3, 4})}, {{"axes", Ints{-2}}, {"keepdims", false}}});
    out.push_back({op, {odd({2, 3})}, {{"axes", Ints{}}}});
    out.push_back({op, {odd({2, 0})}, {{"axes", Ints{0}}}});
  }
  for (Op op : {Op::argmax, Op::argmin}) {
    out.push_back({op, {odd({2, 3, 4})}, {{"axis", int64_t{1}}}});
    out.push_back({op, {odd({2, 3})}, {{"axis", int64_t{-1}}, {"keepdims", false}, {"select_last", true}}});
    out.push_back({op, {odd({0, 3})}, {{"axis", int64_t{1}}}});
  }
  for (bool flag : {false, true})
    out.push_back({Op::cumsum, {odd({2, 3, 2})}, {{"axis", int64_t{1}}, {"exclusive", flag}, {"reverse", !flag}}});
  out.push_back({Op::cumsum, {odd({0, 3})}, {{"axis", int64_t{0}}}});
  for (Op op : {Op::softmax, Op::log_softmax}) {
    out.push_back({op, {odd({2, 3, 4})}, {{"axis", int64_t{1}}}});
    out.push_back({op, {odd({2, 0})}, {}});
    out.push_back({op, {odd({2, 1})}, {}});
  }
  out.push_back({Op::layer_norm, {odd({2, 3, 4}), odd({3, 4}), odd({4})}, {{"axis", int64_t{1}}}});
  out.push_back({Op::layer_norm, {odd({0, 4}), odd({4}), odd({4})}, {}});
  out.push_back({Op::rms_norm, {odd({2, 5}), odd({5})}, {}});
}

void add_contraction_cases(std::vector<Case>& out) {
  out.push_back({Op::matmul, {odd({2, 1, 3, 4}), odd({5, 4, 2})}, {}});
  out.push_back({Op::matmul, {odd({4, 3}), odd({2, 4})}, {{"transpose_a", true}, {"transpose_b", true}}});
  out.push_back({Op::matmul, {odd({4}), odd({4})}, {}});
  out.push_back({Op::matmul, {odd({4}), odd({2, 4, 3})}, {}});
  out.push_back({Op::matmul, {odd({0, 4, 8}), odd({0, 8, 4})}, {}});
  out.push_back({Op::matmul, {odd({2, 0}), odd({0, 3})}, {}});
  for (const char* layout : {"ncx", "nxc"}) {
    bool last = layout[1] == 'x';
    Attributes attributes{
        {"groups", int64_t{2}}, {"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 2, 1}}, {"layout", std::string(layout)}};
    Tensor x = last ? odd({2, 5, 6, 4}) : odd({2, 4, 5, 6});
    out.push_back({Op::conv, {x, odd({6, 2, 3, 2})}, attributes});
    out.push_back({Op::conv_transpose, {x, odd({4, 3, 3, 2})}, attributes});
    attributes.set("output_padding", Ints{1, 0}).set("dilations", Ints{1, 2});
    out.push_back({Op::conv_transpose, {x, odd({4, 3, 3, 2})}, attributes});
    Attributes pool{{"kernel", Ints{3, 2}},
                    {"strides", Ints{2, 2}},
                    {"pads", Ints{1, 0, 1, 1}},
                    {"ceil_mode", last},
                    {"layout", std::string(layout)}};
    out.push_back({Op::max_pool, {x}, pool});
    out.push_back({Op::avg_pool, {x}, pool.set("count_include_pad", true)});
  }
  out.push_back({Op::conv, {odd({0, 1, 4}), odd({2, 1, 3})}, {}});
  out.push_back({Op::conv, {odd({1, 0, 4}), odd({2, 0, 3})}, {}});
  out.push_back({Op::conv, {odd({1, 2, 3, 4, 5}), odd({1, 2, 2, 2, 2})}, {{"dilations", Ints{1, 2, 3}}}});
  out.push_back({Op::attention, {odd({2, 3, 4}), odd({2, 5, 4}), odd({2, 5, 2})}, {{"scale", 0.5}, {"causal", true}}});
  out.push_back({Op::attention, {odd({2, 3, 4}), odd({1, 5, 4}), odd({5, 2}), odd({3, 5})}, {{"scale", 0.5}}});
  out.push_back({Op::attention, {odd({2, 4}), odd({0, 4}), odd({0, 2})}, {{"scale", 0.5}}});
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    out.push_back(
        {Op::resize,
         {odd({1, 2, 3, 4})},
         {{"shape", Ints{1, 2, 5, 3}}, {"scales", std::vector<double>{1, 1, 1.7, 0.75}}, {"mode", std::string(mode)}}});
    out.push_back({Op::resize,
                   {odd({0, 3})},
                   {{"shape", Ints{0, 6}}, {"scales", std::vector<double>{1, 2}}, {"mode", std::string(mode)}}});
  }
}

std::vector<Case> structured_cases() {
  std::vector<Case> out;
  add_movement_cases(out);
  add_reduction_cases(out);
  add_contraction_cases(out);
  Graph body;
  Value x = body.input("x", {DType::f32, {3}}), y = body.input("y", {DType::f32, {3}});
  body.output("sum", body.value(Op::add, {x, y}));
  body.output("less", body.value(Op::less, {x, y}));
  out.push_back(
      {Op::kernel,
       {odd({3}), odd({3})},
       {{"backend", std::string("reference")}, {"kernel", std::string("loop")}, {"program", make_program(body)}}});
  return out;
}

std::vector<Tensor> in_dtype(const Case& c, DType dtype) {
  std::vector<Tensor> operands;
  for (const Tensor& operand : c.operands)
    operands.push_back(operand.dtype() == DType::f32 ? nasty(dtype, to_ints(operand.shape()), operands.size())
                                                     : operand);
  return operands;
}

TEST_CASE("every structured op has cases", "[ops]") {
  std::set<Op> seen;
  for (const Case& c : structured_cases()) seen.insert(c.op);
  for (const OpInfo& op : all_ops()) {
    INFO(op.name);
    CHECK((op.has(kLeaf) || op.has(kElementwise) || seen.count(op.op)));
  }
}

TEST_CASE("structured ops write what they infer, over dtypes and odd shapes", "[ops]") {
  for (const Case& c : structured_cases()) {
    std::set<DType> dtypes;
    for (DType dtype : kAllDTypes) {
      std::vector<Tensor> operands = in_dtype(c, dtype);
      INFO(to_string(c.op) << " of " << to_string(operands[0].type()));
      Attributes attributes = complete(c.op, c.attributes, types_of(operands));
      if (!legal(c.op, operands, attributes)) continue;
      dtypes.insert(dtype);
      if (c.op != Op::kernel)
        check_writes(c.op, operands, attributes);
      else
        CHECK(types_of(evaluate(c.op, operands, attributes)) == infer(c.op, types_of(operands), attributes));
      Work w = work(c.op, types_of(operands), attributes, infer(c.op, types_of(operands), attributes));
      CHECK((w.flops >= 0 && w.bytes_read >= 0 && w.bytes_written >= 0));
    }
    INFO(to_string(c.op));
    CHECK(dtypes.count(DType::f32));
  }
}

TEST_CASE("symbolic sizes flow through structured ops", "[ops]") {
  for (const Case& c : structured_cases()) {
    if (c.op == Op::kernel) continue;  // programs are of static shape
    INFO(to_string(c.op) << " of " << to_string(c.operands[0].type()));
    check_symbolic(c.op, c.operands, complete(c.op, c.attributes, types_of(c.operands)));
  }
}

TEST_CASE("attributes have one complete form", "[ops]") {
  for (const Case& c : structured_cases()) {
    INFO(to_string(c.op) << " of " << to_string(c.operands[0].type()));
    std::vector<TensorType> types = types_of(c.operands);
    Attributes once = complete(c.op, c.attributes, types);
    CHECK(complete(c.op, once, types) == once);
    CHECK(infer(c.op, types, once) == infer(c.op, types, complete(c.op, c.attributes)));
    std::vector<Tensor> a = evaluate(c.op, c.operands, once),
                        b = evaluate(c.op, c.operands, complete(c.op, c.attributes));
    for (size_t i = 0; i < a.size(); ++i) CHECK_SAME(a[i], b[i]);
  }
}

TEST_CASE("movement ops only move elements", "[ops]") {
  for (const Case& c : structured_cases()) {
    if (!info(c.op).has(kMovement)) continue;
    std::vector<Tensor> operands;
    std::set<int64_t> known;
    int64_t next = 1000;
    for (const Tensor& operand : c.operands) {
      if (operand.dtype() != DType::f32) {
        operands.push_back(operand);
        continue;
      }
      Tensor t = Tensor::allocate({DType::i64, operand.shape()});
      for (int64_t& v : t.mutable_as<int64_t>()) known.insert(v = next++);
      operands.push_back(t);
    }
    INFO(to_string(c.op) << " of " << to_string(operands[0].type()));
    for (const Tensor& out : run_all(c.op, operands, c.attributes)) {
      for (int64_t v : out.as<int64_t>()) CHECK(known.count(v));
      if (info(c.op).has(kView)) CHECK(std::memcmp(out.data(), operands[0].data(), out.bytes()) == 0);
    }
  }
}

TEST_CASE("channels-last convolutions and pools are the channels-first ones transposed", "[ops]") {
  for (const Case& c : structured_cases()) {
    if (!info(c.op).attributes.empty() && info(c.op).attributes.back().name != "layout") continue;
    if (c.operands[0].type().rank() != 4 || !c.attributes.find("layout") || c.attributes.text("layout") != "nxc")
      continue;
    INFO(to_string(c.op));
    std::vector<Tensor> first = c.operands;
    first[0] = run(Op::transpose, {first[0]}, {{"perm", Ints{0, 3, 1, 2}}});
    Attributes attributes = c.attributes;
    Tensor expected = run(c.op, first, attributes.set("layout", std::string("ncx")));
    CHECK_SAME(run(c.op, c.operands, c.attributes), run(Op::transpose, {expected}, {{"perm", Ints{0, 2, 3, 1}}}));
  }
}

}  // namespace
}  // namespace weft::ir
