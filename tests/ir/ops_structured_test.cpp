// Exact values and refusals of structured ops where implementations are known to go wrong.
#include "tests/ir/tensors.hpp"

namespace weft::ir {
namespace {

using Ints = std::vector<int64_t>;

Tensor slice(const Tensor& x, Ints starts, Ints ends, Ints steps) {
  return run(Op::slice, {x}, {{"starts", starts}, {"ends", ends}, {"steps", steps}});
}

bool mentions(const std::string& message, std::string_view part) {
  INFO(message << " should mention " << part);
  CHECK(message.find(part) != std::string::npos);
  return true;
}

TEST_CASE("slices with negative steps and empty ones", "[ops]") {
  Tensor x = counted({10});
  CHECK(slice(x, {0}, {5}, {-1}).shape() == Shape{0});
  CHECK_SAME(slice(x, {9}, {0}, {-1}), counted({9}, 9, -1));
  CHECK_SAME(slice(x, {9}, {-1}, {-1}), counted({10}, 9, -1));
  CHECK_SAME(slice(x, {8}, {-1}, {-3}), f32({8, 5, 2}));
  CHECK_SAME(slice(x, {9}, {-1}, {-4}), f32({9, 5, 1}));
  CHECK_SAME(slice(x, {0}, {10}, {4}), f32({0, 4, 8}));
  CHECK(slice(x, {3}, {3}, {1}).shape() == Shape{0});
  CHECK_SAME(slice(counted({3, 4}), {0, 3}, {3, 0}, {1, -1}), f32({3, 3}, {3, 2, 1, 7, 6, 5, 11, 10, 9}));
  mentions(error_of([&] { slice(x, {0}, {5}, {0}); }), "step 0 along axis 0");
  mentions(error_of([&] { slice(x, {5}, {12}, {1}); }), "index 11 outside [0, 10)");
  mentions(error_of([&] { slice(x, {0}, {5}, {1, 1}); }), "'steps' has 2 entries, expected 1");
  error_of([&] { slice(x, {0}, {INT64_MAX}, {INT64_MAX - 1}); });
}

TEST_CASE("reshape keeps the number of elements", "[ops]") {
  CHECK(run(Op::reshape, {counted({1, 1})}, {{"shape", Shape{}}}).shape().empty());
  CHECK(run(Op::reshape, {counted({2, 0})}, {{"shape", Ints{1, 2, 0}}}).shape() == Shape{1, 2, 0});
  mentions(error_of([] {
             run(Op::reshape, {counted({6})}, {{"shape", Ints{4, 2}}});
           }),
           "6 elements cannot take the shape [4,2] of 8");
  error_of([] { run(Op::reshape, {counted({6})}, {{"shape", Ints{-2, -3}}}); });
  error_of([] { run(Op::reshape, {counted({0})}, {{"shape", Ints{int64_t{1} << 40, int64_t{1} << 40}}}); });
}

TEST_CASE("transpose takes every axis once", "[ops]") {
  CHECK(run(Op::transpose, {counted({0, 3})}, {{"perm", Ints{1, 0}}}).shape() == Shape{3, 0});
  mentions(error_of([] { run(Op::transpose, {counted({2, 3})}, {{"perm", Ints{0, 0}}}); }), "axis 0 stands twice");
  mentions(error_of([] {
             run(Op::transpose, {counted({2, 3})}, {{"perm", Ints{0, 2}}});
           }),
           "axis 2 is outside [-2, 2)");
}

TEST_CASE("gather counts from the end and names what is out of range", "[ops]") {
  Tensor x = counted({3, 4}, 1);
  CHECK_SAME(run(Op::gather, {x, i64({2}, {0, -1})}), f32({2, 4}, {1, 2, 3, 4, 9, 10, 11, 12}));
  CHECK_SAME(run(Op::gather, {x, i32({0, -1})}), f32({2, 4}, {1, 2, 3, 4, 9, 10, 11, 12}));
  CHECK(run(Op::gather, {x, i64({0}, {})}).shape() == Shape{0, 4});
  CHECK_SAME(run(Op::gather, {x, i64({}, {1})}), f32({5, 6, 7, 8}));
  for (int64_t index : {3, -4}) {
    std::string message = error_of([&] { run(Op::gather, {x, i64({1}, {index})}); });
    mentions(message, fmt::format("index {}", index));
    mentions(message, "[-3, 2]");
  }
  error_of([&] { run(Op::gather, {x, tensor<uint64_t>({1}, {UINT64_MAX})}); });
  mentions(error_of([&] { run(Op::gather, {x, f32({0})}); }), "expected an integer");
}

TEST_CASE("sizes of zero in products, reductions and softmax", "[ops]") {
  CHECK(run(Op::matmul, {counted({0, 4, 8}), counted({0, 8, 4})}).shape() == Shape{0, 4, 4});
  CHECK_SAME(run(Op::matmul, {counted({2, 0}), counted({0, 3})}), f32({2, 3}, {0, 0, 0, 0, 0, 0}));
  Attributes axis0{{"axes", Ints{0}}, {"keepdims", false}};
  Tensor empty = counted({0, 4});
  CHECK_SAME(run(Op::reduce_sum, {empty}, axis0), f32({0, 0, 0, 0}));
  CHECK_SAME(run(Op::reduce_prod, {empty}, axis0), f32({1, 1, 1, 1}));
  CHECK_SAME(run(Op::reduce_max, {empty}, axis0), f32({-kInf, -kInf, -kInf, -kInf}));
  CHECK_SAME(run(Op::reduce_min, {empty}, axis0), f32({kInf, kInf, kInf, kInf}));
  CHECK_SAME(run(Op::reduce_mean, {empty}, axis0), f32({kNan, kNan, kNan, kNan}));
  Tensor no_integers = Tensor::zeros({DType::i32, {0, 2}});
  CHECK_SAME(run(Op::reduce_max, {no_integers}, axis0), i32({INT32_MIN, INT32_MIN}));
  CHECK_SAME(run(Op::reduce_min, {no_integers}, axis0), i32({INT32_MAX, INT32_MAX}));
  error_of([&] { run(Op::reduce_mean, {no_integers}, axis0); });
  CHECK(run(Op::softmax, {counted({2, 0})}).shape() == Shape{2, 0});
  mentions(error_of([&] { run(Op::argmax, {empty}, {{"axis", int64_t{0}}}); }), "axis 0 is empty");
}

TEST_CASE("concat takes empty operands", "[ops]") {
  Attributes axis{{"axis", int64_t{0}}};
  CHECK_SAME(run(Op::concat, {counted({0}), f32({1, 2})}, axis), f32({1, 2}));
  CHECK_SAME(run(Op::concat, {f32({1, 2}), counted({0})}, axis), f32({1, 2}));
  CHECK_SAME(run(Op::concat, {counted({0, 3}), counted({2, 3})}, axis), counted({2, 3}));
  CHECK(run(Op::concat, {counted({0, 3}), counted({0, 3})}, axis).shape() == Shape{0, 3});
  CHECK_SAME(run(Op::concat, {f32({1, 2})}, axis), f32({1, 2}));
  CHECK_SAME(run(Op::concat, {counted({2, 0}), counted({2, 3})}, {{"axis", int64_t{1}}}), counted({2, 3}));
  CHECK(run(Op::concat, {counted({2, 3}), counted({4, 3})}, {{"axis", int64_t{-2}}}).shape() == Shape{6, 3});
  mentions(error_of([&] { run(Op::concat, {counted({0}), counted({2, 3})}, axis); }), "rank 1 and 2");
}

TEST_CASE("split gives one output a part", "[ops]") {
  std::vector<Tensor> parts = run_all(Op::split, {counted({2, 3})}, {{"axis", int64_t{-1}}, {"sizes", Ints{1, 0, 2}}});
  REQUIRE(parts.size() == 3);
  CHECK_SAME(parts[0], f32({2, 1}, {0, 3}));
  CHECK(parts[1].shape() == Shape{2, 0});
  CHECK_SAME(parts[2], f32({2, 2}, {1, 2, 4, 5}));
  mentions(error_of([] {
             run_all(Op::split, {counted({4})}, {{"axis", int64_t{0}}, {"sizes", Ints{1, 2}}});
           }),
           "4 against 3");
}

TEST_CASE("axes of reductions", "[ops]") {
  Tensor x = counted({3, 5});
  CHECK_SAME(run(Op::reduce_sum, {x}, {{"axes", Ints{}}}), x);
  CHECK_SAME(run(Op::reduce_sum, {x}, {{"axes", Ints{0, 1}}}), f32({1, 1}, {105}));
  CHECK_SAME(run(Op::reduce_mean, {x}, {{"axes", Ints{-1}}, {"keepdims", false}}), f32({2, 7, 12}));
  mentions(error_of([&] { run(Op::reduce_sum, {x}, {{"axes", Ints{-3}}}); }), "axis -3 is outside [-2, 2)");
  mentions(error_of([&] { run(Op::reduce_sum, {x}, {{"axes", Ints{1, -1}}}); }), "axis 1 stands twice");
  CHECK_SAME(run(Op::reduce_max, {tensor<bool>({2, 2}, {false, true, false, false})},
                 {{"axes", Ints{1}}, {"keepdims", false}}),
             tensor<bool>({2}, {true, false}));
  CHECK_SAME(run(Op::reduce_mean, {i32({-7, 2})}, {{"axes", Ints{0}}}), i32({-2}));
}

TEST_CASE("sums of many floats are held wide", "[ops]") {
  Tensor ones = filled({DType::f32, {(1 << 24) + 1}}, 1);
  CHECK(run(Op::reduce_sum, {ones}, {{"axes", Ints{0}}}).at_double(0) == 16777216);  // 2^24 + 1 rounded once, to even
  Tensor halves = filled({DType::f16, {4096}}, 1);
  CHECK(run(Op::reduce_sum, {halves}, {{"axes", Ints{0}}}).at_double(0) == 4096);
}

TEST_CASE("NaN wins max, min, argmax and argmin", "[ops]") {
  Tensor x = f32({1, kNan, 3, kNan});
  Attributes axes{{"axes", Ints{0}}};
  CHECK_SAME(run(Op::reduce_max, {x}, axes), f32({kNan}));
  CHECK_SAME(run(Op::reduce_min, {x}, axes), f32({kNan}));
  for (Op op : {Op::argmax, Op::argmin}) {
    CHECK_SAME(run(op, {x}), i64({1}, {1}));
    CHECK_SAME(run(op, {x}, {{"select_last", true}}), i64({1}, {3}));
  }
  CHECK_SAME(run(Op::argmax, {f32({2, 3, 3, 1})}), i64({1}, {1}));
  CHECK_SAME(run(Op::argmax, {f32({2, 3, 3, 1})}, {{"select_last", true}}), i64({1}, {2}));
  CHECK_SAME(run(Op::argmax, {i64({2}, {INT64_MAX - 1, INT64_MAX})}), i64({1}, {1}));
  CHECK_SAME(run(Op::max_pool, {f32({1, 1, 4}, {1, kNan, 3, 4})}, {{"kernel", Ints{2}}}),
             f32({1, 1, 3}, {kNan, kNan, 4}));
}

TEST_CASE("cumsum in both directions", "[ops]") {
  Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK_SAME(run(Op::cumsum, {x}, {{"axis", int64_t{1}}}), f32({2, 3}, {1, 3, 6, 4, 9, 15}));
  CHECK_SAME(run(Op::cumsum, {x}, {{"axis", int64_t{0}}, {"exclusive", true}}), f32({2, 3}, {0, 0, 0, 1, 2, 3}));
  CHECK_SAME(run(Op::cumsum, {x}, {{"axis", int64_t{-1}}, {"reverse", true}}), f32({2, 3}, {6, 5, 3, 15, 11, 6}));
  CHECK_SAME(run(Op::cumsum, {tensor<uint8_t>({2}, {200, 100})}, {{"axis", int64_t{0}}}),
             tensor<uint8_t>({2}, {200, 44}));
}

TEST_CASE("pad in every mode, and cropping", "[ops]") {
  Tensor x = f32({1, 2, 3}), value = Tensor::scalar(9.0f);
  auto padded = [&](const char* mode, int64_t low, int64_t high) {
    return run(Op::pad, {x, value}, {{"low", Ints{low}}, {"high", Ints{high}}, {"mode", std::string(mode)}});
  };
  CHECK_SAME(padded("constant", 2, 1), f32({9, 9, 1, 2, 3, 9}));
  CHECK_SAME(padded("constant", -1, 1), f32({2, 3, 9}));
  CHECK_SAME(padded("reflect", 2, 2), f32({3, 2, 1, 2, 3, 2, 1}));
  CHECK_SAME(padded("reflect", 5, 0), f32({2, 1, 2, 3, 2, 1, 2, 3}));
  CHECK_SAME(padded("edge", 2, 1), f32({1, 1, 1, 2, 3, 3}));
  CHECK_SAME(padded("wrap", 2, 4), f32({2, 3, 1, 2, 3, 1, 2, 3, 1}));
  mentions(error_of([&] { padded("constant", -2, -2); }), "cropped by more than that");
  mentions(error_of([&] { padded("mirror", 1, 1); }), "expected one of constant, reflect, edge, wrap");
  error_of([&] { padded("constant", int64_t{1} << 61, int64_t{1} << 61); });
}

TEST_CASE("padding first is not the padding of a pool", "[ops]") {
  Tensor x = f32({1, 1, 2, 2}, {1, 2, 3, 4}), zero = Tensor::scalar(0.0f);
  Attributes around{{"low", Ints{0, 0, 1, 1}}, {"high", Ints{0, 0, 1, 1}}};
  Attributes pool{{"kernel", Ints{2, 2}}, {"strides", Ints{2, 2}}};
  CHECK_SAME(run(Op::avg_pool, {run(Op::pad, {x, zero}, around)}, pool), f32({1, 1, 2, 2}, {0.25f, 0.5f, 0.75f, 1}));
  CHECK_SAME(run(Op::max_pool, {run(Op::pad, {run(Op::neg, {x}), zero}, around)}, pool),
             f32({1, 1, 2, 2}, {0, 0, 0, 0}));
  pool.set("pads", Ints{1, 1, 1, 1});
  CHECK_SAME(run(Op::avg_pool, {x}, pool), x);
  CHECK_SAME(run(Op::max_pool, {run(Op::neg, {x})}, pool), run(Op::neg, {x}));
}

TEST_CASE("layer_norm takes the variance in two passes", "[ops]") {
  auto norm = [](std::vector<float> values) {
    std::vector<int64_t> dims{static_cast<int64_t>(values.size())};
    return run(Op::layer_norm,
               {f32(values), filled({DType::f32, to_shape(dims)}, 1), filled({DType::f32, to_shape(dims)}, 0)});
  };
  check_near(norm({40000, 40001, 40002, 40003}), f32({-1.3416354f, -0.4472118f, 0.4472118f, 1.3416354f}), 1e-6, 0);
  check_near(norm({1e6f, 1e6f + 1, 1e6f + 2, 1e6f + 4}), f32({-1.1832133f, -0.5070914f, 0.1690305f, 1.5212742f}), 1e-6,
             0);
  CHECK_SAME(norm(std::vector<float>(256, 1234)), filled({DType::f32, {256}}, 0));
  mentions(error_of([] { run(Op::layer_norm, {counted({2, 3}), counted({2}), counted({3})}); }), "do not broadcast");
}

TEST_CASE("rms_norm over several axes", "[ops]") {
  Tensor x = f32({1, 2, 2}, {1, 2, 3, 4}), scale = f32({2, 2}, {1, 1, 2, 2});
  double rms = std::sqrt(7.5 + 1e-6);
  check_near(run(Op::rms_norm, {x, scale}, {{"axis", int64_t{1}}, {"eps", 1e-6}}),
             f32({1, 2, 2}, {static_cast<float>(1 / rms), static_cast<float>(2 / rms), static_cast<float>(6 / rms),
                             static_cast<float>(8 / rms)}),
             1e-6, 0);
}

TEST_CASE("softmax of large logits", "[ops]") {
  Tensor large = f32({1000, 1001, 1002}), expected = f32({0.09003057f, 0.24472847f, 0.66524096f});
  check_near(run(Op::softmax, {large}), expected, 1e-6, 0);
  check_near(run(Op::softmax, {large.reshaped({3, 1})}, {{"axis", int64_t{0}}}), expected.reshaped({3, 1}), 1e-6, 0);
  CHECK_SAME(run(Op::softmax, {large.reshaped({3, 1})}, {{"axis", int64_t{1}}}), f32({3, 1}, {1, 1, 1}));
  CHECK_SAME(run(Op::softmax, {f32({-1000, -1000})}), f32({0.5f, 0.5f}));
  check_near(run(Op::log_softmax, {f32({0, -200})}), f32({0, -200}), 0, 1e-30);
  CHECK_SAME(run(Op::log_softmax, {f32({1000, 0})}), f32({0, -1000}));
  CHECK_SAME(run(Op::log, {run(Op::softmax, {f32({0, -200})})}), f32({0, -kInf}));
}

TEST_CASE("matmul broadcasts, transposes and wraps integers", "[ops]") {
  Tensor a = counted({2, 3}, 1), b = counted({3, 2}, 1);
  Tensor product = f32({2, 2}, {22, 28, 49, 64});
  CHECK_SAME(run(Op::matmul, {a, b}), product);
  Tensor at = run(Op::transpose, {a}), bt = run(Op::transpose, {b});
  CHECK_SAME(run(Op::matmul, {at, bt}, {{"transpose_a", true}, {"transpose_b", true}}), product);
  CHECK_SAME(run(Op::matmul, {f32({1, 2, 3}), b}), f32({22, 28}));
  CHECK_SAME(run(Op::matmul, {a, f32({1, 2, 3})}), f32({14, 32}));
  CHECK(run(Op::matmul, {f32({1, 2, 3}), f32({1, 2, 3})}).shape().empty());
  CHECK(run(Op::matmul, {counted({2, 1, 3, 4}), counted({5, 4, 2})}).shape() == Shape{2, 5, 3, 2});
  CHECK_SAME(run(Op::matmul, {tensor<uint8_t>({1, 2}, {200, 100}), tensor<uint8_t>({2, 1}, {2, 3})}),
             tensor<uint8_t>({1, 1}, {188}));
  CHECK_SAME(run(Op::matmul, {f32({1, 1}, {0}), f32({1, 2}, {kInf, 1})}), f32({1, 2}, {kNan, 0}));
  mentions(error_of([&] { run(Op::matmul, {a, a}); }), "3 against 2");
  mentions(error_of([&] { run(Op::matmul, {Tensor::scalar(1.0f), a}); }), "rank 0");
}

TEST_CASE("attention masks, causally from the lower right corner", "[ops]") {
  Tensor q = f32({2, 1}, {1, 1}), k = f32({3, 1}, {0, 0, 0}), v = f32({3, 1}, {3, 6, 9});
  Attributes causal{{"scale", 1.0}, {"causal", true}};
  check_near(run(Op::attention, {q, k, v}, {{"scale", 1.0}}), f32({2, 1}, {6, 6}), 1e-6, 0);
  check_near(run(Op::attention, {q, k, v}, causal), f32({2, 1}, {4.5f, 6}), 1e-6, 0);
  Tensor mask = f32({1, 3}, {-kInf, 0, -kInf});
  CHECK_SAME(run(Op::attention, {q, k, v, mask}, {{"scale", 1.0}}), f32({2, 1}, {6, 6}));
  CHECK_SAME(run(Op::attention, {q, k, v, f32({-kInf, -kInf, -kInf})}, {{"scale", 1.0}}), f32({2, 1}, {0, 0}));
  // More queries than keys: the first query sees nothing.
  CHECK_SAME(run(Op::attention, {q, f32({1, 1}, {0}), f32({1, 1}, {5})}, causal), f32({2, 1}, {0, 5}));
  mentions(error_of([&] { run(Op::attention, {q, k}, causal); }), "expected q, k, v");
}

TEST_CASE("resize with align_corners takes the length before rounding", "[ops]") {
  Tensor x = f32({1, 4}, {1, 2, 3, 4});
  Attributes attributes{
      {"shape", Ints{1, 2}}, {"mode", std::string("linear")}, {"coordinate", std::string("align_corners")}};
  // ONNX backend test resize_downsample_scales_linear_align_corners: 0.6 * 4 = 2.4, not 2.
  check_near(run(Op::resize, {x}, attributes.set("scales", std::vector<double>{1, 0.6})), f32({1, 2}, {1, 3.142857f}),
             1e-6, 0);
  check_near(run(Op::resize, {x}, attributes.set("scales", std::vector<double>{1, 0.4999999})), f32({1, 2}, {1, 4}),
             1e-6, 0);
}

TEST_CASE("windows are checked", "[ops]") {
  Tensor x = counted({1, 2, 3}), w = counted({1, 2, 2});
  auto conv = [&](Attributes attributes) { return error_of([&] { run(Op::conv, {x, w}, attributes); }); };
  mentions(conv({{"strides", Ints{0}}}), "'strides' has the entry 0");
  mentions(conv({{"pads", Ints{-1, 0}}}), "'pads' has the entry -1");
  mentions(conv({{"pads", Ints{1}}}), "'pads' has 1 entries, expected 2");
  mentions(conv({{"dilations", Ints{4}}}), "window of 5 elements is larger than spatial axis 0");
  mentions(conv({{"groups", int64_t{0}}}), "'groups' is 0");
  mentions(conv({{"groups", int64_t{2}}}), "channels");
  mentions(conv({{"layout", std::string("nhwc")}}), "expected one of ncx, nxc");
  mentions(error_of([&] { run(Op::max_pool, {x}, {{"kernel", Ints{0}}}); }), "kernel of size 0");
  mentions(error_of([&] {
             run(Op::avg_pool, {Tensor::zeros({DType::i32, {1, 1, 2}})}, {{"kernel", Ints{1}}});
           }),
           "where a float is expected");
  mentions(error_of([&] { run(Op::max_pool, {x}, {}); }), "attribute 'kernel' (ints) is missing");
}

TEST_CASE("convolution keeps infinities and wraps integers", "[ops]") {
  CHECK_SAME(run(Op::conv, {f32({1, 1, 2}, {kInf, 1}), f32({1, 1, 1}, {0})}), f32({1, 1, 2}, {kNan, 0}));
  Tensor x = tensor<int8_t>({1, 1, 2}, {100, 100}), w = tensor<int8_t>({1, 1, 2}, {1, 1});
  CHECK_SAME(run(Op::conv, {x, w}), tensor<int8_t>({1, 1, 1}, {-56}));
}

TEST_CASE("attributes are checked against the schema", "[ops]") {
  std::string message = error_of([] { complete(Op::conv, {{"stride", Ints{1}}}); });
  mentions(message, "unknown attribute 'stride'");
  mentions(message, "strides, pads, dilations, groups, layout");
  mentions(error_of([] { complete(Op::softmax, {{"axis", 1.5}}); }), "'axis' is of kind real, expected int");
  mentions(error_of([] { complete(Op::cast, {}); }), "'to' (dtype) is missing");
  mentions(error_of([] {
             complete(Op::kernel, {{"backend", std::string()}, {"kernel", std::string()}, {"program", ProgramRef()}});
           }),
           "empty program");
  CHECK(complete(Op::elu, {{"alpha", int64_t{2}}}).real("alpha") == 2);
  CHECK(complete(Op::reshape, {{"shape", Ints{2}}}).shape("shape") == Shape{2});
  CHECK(complete(Op::gelu, {}).text("approximate") == "none");
  mentions(error_of([] {
             run(Op::gelu, {counted({1})}, {{"approximate", std::string("fast")}});
           }),
           "expected one of none, tanh");
  mentions(error_of([] { run(Op::add, {counted({1})}); }), "1 operands, expected 2");
  mentions(error_of([] { run(Op::add, {counted({2}), counted({3})}); }), "do not broadcast");
  mentions(error_of([] { run(Op::add, {counted({2}), i32({1, 2})}); }), "f32 and i32");
}

TEST_CASE("attributes compare and hash by bits", "[ops]") {
  auto hash = [](const Attributes& attributes) {
    Hasher hasher;
    attributes.hash_into(hasher);
    return hasher.finish();
  };
  Attributes a{{"b", 1.0}, {"a", int64_t{1}}}, b{{"a", int64_t{1}}, {"b", 1.0}};
  CHECK(a == b);
  CHECK(hash(a) == hash(b));
  CHECK(a.entries()[0].first == "a");
  auto with = [](double value) { return Attributes{{"x", value}}; };
  CHECK(with(NAN) == with(NAN));
  CHECK(hash(with(NAN)) == hash(with(NAN)));
  CHECK_FALSE(with(0.0) == with(-0.0));
  CHECK_FALSE(hash(with(0.0)) == hash(with(-0.0)));
  CHECK_FALSE(with(1.0) == Attributes{{"x", int64_t{1}}});
  CHECK_FALSE((Attributes{{"x", Shape{Dim::symbol("N")}}} == Attributes{{"x", Shape{Dim::symbol("M")}}}));
}

TEST_CASE("work counts operations and bytes", "[ops]") {
  auto of = [](Op op, std::vector<TensorType> types, Attributes attributes) {
    attributes = complete(op, attributes, types);
    return work(op, types, attributes, infer(op, types, attributes));
  };
  Work product = of(Op::matmul, {{DType::f32, {2, 3, 4}}, {DType::f32, {4, 5}}}, {});
  CHECK(product.flops == 2 * 2 * 3 * 4 * 5);
  CHECK(product.bytes_read == 4 * (24 + 20));
  CHECK(product.bytes_written == 4 * 30);
  CHECK(of(Op::conv, {{DType::f32, {1, 4, 8}}, {DType::f32, {6, 2, 3}}}, {{"groups", int64_t{2}}}).flops ==
        2.0 * 6 * 6 * 2 * 3);
  CHECK(of(Op::add, {{DType::f16, {2, 3}}, {DType::f16, {1}}}, {}).bytes_read == 2 * 7);
  CHECK(of(Op::transpose, {{DType::f32, {2, 3}}}, {}).flops == 0);
}

}  // namespace
}  // namespace weft::ir
