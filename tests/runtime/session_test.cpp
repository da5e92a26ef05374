#include "runtime/session.hpp"

#include "ir/support/error.hpp"
#include "runtime/compare.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/graphs.hpp"

namespace weft::runtime {
namespace {

using ir::Tensor;
using namespace test;
using Catch::Matchers::Contains;

namespace {
/// As optimized against the reference, on random inputs.
void check_against_reference(std::string_view text) {
  const Session session = make_session(text);
  ir::NamedTensors inputs;
  uint64_t seed = 3;
  for (const NamedType& input : session.inputs()) inputs.emplace(input.name, random_tensor(input.type, ++seed));
  const std::vector<ir::Tensor> expected = ir::run_reference(*session.graph(), inputs);
  const ir::NamedTensors results = session.run(inputs);
  for (size_t i = 0; i < expected.size(); ++i) {
    const Difference d = compare(results.at(session.outputs()[i].name), expected[i], {1e-4, 1e-5});
    INFO(d.text());
    CHECK(d.agrees());
  }
}

}  // namespace

TEST_CASE("a session agrees with the reference interpreter") {
  Session session = make_session(kSmallNet);
  ir::NamedTensors inputs = {{"x", random_tensor(session.inputs()[0].type, 7)}};
  Difference d = compare(session.run(inputs).at("y"), ir::run_reference(*session.graph(), inputs)[0], {1e-5, 1e-6});
  INFO(d.text());
  CHECK(d.agrees());
  CHECK(session.peak_bytes() >= 64 * 64 * 4);
  SessionReport report = session.report();
  REQUIRE(report.specializations.size() == 1);
  CHECK(report.specializations[0].cache == CacheOutcome::off);
  CHECK(report.specializations[0].first_run_ms > 0);
}

TEST_CASE("C03: an output that is also an input is a copy", "[peer-bugs]") {
  Session session =
      make_session("graph g(x: f32[]) { c = constant f32[] [0]\n return a: c, b: x, d: x, e: add(x, 1) }");
  Tensor x = Tensor::scalar(2.3f);
  ir::NamedTensors got = session.run({{"x", x}});
  CHECK(values<float>(got.at("a")) == std::vector{0.f});
  CHECK(values<float>(got.at("b")) == std::vector{2.3f});
  CHECK(values<float>(got.at("d")) == std::vector{2.3f});
  CHECK(values<float>(got.at("e")) == std::vector{3.3f});
  got.at("b").mutable_as<float>()[0] = 9;
  CHECK(values<float>(x) == std::vector{2.3f});
  CHECK(values<float>(got.at("d")) == std::vector{2.3f});
}

TEST_CASE("C04: one value under several outputs", "[peer-bugs]") {
  Session two = make_session("graph g(x: f32[2]) { y = neg(x)\n return a: y, b: y }");
  ir::NamedTensors got = two.run({{"x", Tensor::from<float>({2}, {1, -2})}});
  CHECK(values<float>(got.at("a")) == std::vector<float>{-1, 2});
  CHECK(values<float>(got.at("b")) == std::vector<float>{-1, 2});
  CHECK(got.at("a").data() != got.at("b").data());
  Session three = make_session("graph g(x: f32[2]) { y = neg(x)\n z = mul(y, 2)\n return a: y, b: z, c: y }");
  got = three.run({{"x", Tensor::from<float>({2}, {1, -2})}});
  CHECK(values<float>(got.at("a")) == std::vector<float>{-1, 2});
  CHECK(values<float>(got.at("b")) == std::vector<float>{-2, 4});
  CHECK(values<float>(got.at("c")) == std::vector<float>{-1, 2});
}

TEST_CASE("C06: inputs are checked by count, name, dtype and rank", "[peer-bugs]") {
  Session session = make_session("graph g(x: f32[2], y: f32[2]) { return z: add(x, y) }");
  Tensor two = Tensor::from<float>({2}, {1, 2});
  CHECK_THROWS_WITH(session.run({{"x", two}}), Contains("'y'") && Contains("f32[2]"));
  CHECK_THROWS_WITH(session.run({{"x", two}, {"y", two}, {"w", two}}), Contains("'w'") && Contains("'x', 'y'"));
  CHECK_THROWS_WITH(session.run({{"x", two}, {"y", Tensor::from<int32_t>({2}, {1, 2})}}),
                    Contains("i32[2]") && Contains("f32[2]"));
  CHECK_THROWS_WITH(session.run({{"x", two}, {"y", Tensor::from<float>({1, 2}, {1, 2})}}), Contains("f32[1,2]"));
  CHECK_THROWS_AS(session.run({{"x", two}, {"y", Tensor()}}), Error);
  CHECK(values<float>(session.run({{"x", two}, {"y", two}}).at("z")) == std::vector<float>{2, 4});
}

TEST_CASE("outputs go to the caller's tensors where given") {
  Session session = make_session("graph g(x: f32[2]) { y = neg(x)\n return a: y, b: add(y, 1) }");
  Tensor x = Tensor::from<float>({2}, {1, -2}), a = Tensor::zeros({ir::DType::f32, {2}});
  ir::NamedTensors got = session.run({{"x", x}}, {{"a", a}});
  CHECK(values<float>(a) == std::vector<float>{-1, 2});
  CHECK(got.at("a").data() == a.data());
  CHECK(values<float>(got.at("b")) == std::vector<float>{0, 3});
  CHECK_THROWS_WITH(session.run({{"x", x}}, {{"a", x}}), Contains("shares memory"));
  CHECK_THROWS_WITH(session.run({{"x", x}}, {{"a", a}, {"b", a}}), Contains("shares memory"));
  CHECK_THROWS_AS(session.run({{"x", x}}, {{"q", a}}), Error);
  CHECK_THROWS_AS(session.run({{"x", x}}, {{"a", Tensor::zeros({ir::DType::f32, {3}})}}), Error);
}

TEST_CASE("S08: a symbolic model runs each shape and keeps only so many", "[peer-bugs]") {
  SessionOptions options = plain();
  options.specializations = 2;
  Session session = make_session("graph g(x: f32[N,3], b: f32[3]) { return y: relu(add(x, b)) }", options);
  Tensor b = Tensor::from<float>({3}, {10, 20, 30});
  for (int64_t n : {2, 5, 2, 1, 0, 2}) {
    Tensor x = random_tensor({ir::DType::f32, {n, 3}}, 3);
    Tensor y = session.run({{"x", x}, {"b", b}}).at("y");
    REQUIRE(y.shape() == ir::Shape{n, 3});
    for (int64_t i = 0; i < y.elements(); ++i)
      CHECK(y.as<float>()[i] == std::max(0.f, x.as<float>()[i] + b.as<float>()[i % 3]));
  }
  CHECK(session.report().specializations.size() == 2);
  CHECK(session.peak_bytes({{"x", {4, 3}}}) >= 4 * 3 * 4);
  CHECK_THROWS_WITH(session.prepare(), Contains("'x'"));
  CHECK_THROWS_AS(session.prepare({{"x", {4, 4}}}), Error);
  CHECK_THROWS_AS(session.prepare({{"q", {4, 4}}}), Error);
}

TEST_CASE("shapes, dimensions and values given beforehand") {
  constexpr std::string_view kText = "graph g(x: f32[N,3], b: f32[3]) { return y: add(x, b) }";
  SessionOptions options = plain();
  options.dims = {{"N", 2}};
  options.binds = {{"b", Tensor::from<float>({3}, {1, 2, 3})}};
  Session session = make_session(kText, options);
  REQUIRE(session.inputs().size() == 1);
  CHECK(session.inputs()[0].type.shape == ir::Shape{2, 3});
  CHECK(values<float>(session.run({{"x", Tensor::zeros({ir::DType::f32, {2, 3}})}}).at("y")) ==
        std::vector<float>{1, 2, 3, 1, 2, 3});
  options.dims.clear();
  options.shapes = {{"x", {4, 3}}};
  CHECK(make_session(kText, options).outputs()[0].type.shape == ir::Shape{4, 3});
  options.dims = {{"N", 5}};
  CHECK_THROWS_AS(make_session(kText, options), Error);
  options.dims.clear();
  options.binds = {{"c", Tensor::scalar(1.f)}};
  CHECK_THROWS_WITH(make_session(kText, options), Contains("'c'"));
}

TEST_CASE("M05: a memory limit is an error before the run", "[peer-bugs]") {
  SessionOptions options = plain();
  options.memory_limit = 1 << 20;
  Session session = make_session("graph g(x: f32[512,1024]) { return y: neg(x) }", options);
  CHECK_THROWS_WITH(
      session.run({{"x", Tensor::zeros({ir::DType::f32, {512, 1024}})}}),
      Contains("1048576") && Contains("a run takes 2"));  // 2097152 for the output, and the kernel's scratch
}

TEST_CASE("a run that takes more memory than there is is an error before anything is allocated") {
  Session session = make_session("graph g(x: f32[1]) { return y: broadcast(x, shape=[4398046511104]) }");
  CHECK_THROWS_WITH(session.run({{"x", Tensor::from<float>({1}, {2})}}),
                    Contains("bytes of memory are needed for a run") && Contains("are available"));
  CHECK_THROWS_WITH(
      make_session("graph g(x: f32[1]) { return y: exp(broadcast(x, shape=[1152921504606846976])) }").prepare(),
      Contains("2^58"));
}

TEST_CASE("backends are chosen by name") {
  SessionOptions options = plain();
  options.backends = {"nonsense"};
  CHECK_THROWS_WITH(make_session(kSmallNet, options), Contains("nonsense"));
  options.backends = {"reference"};
  Session session = make_session(kSmallNet, options);
  for (const ir::Step& step : session.prepare()->plan().steps) CHECK(step.backend == "reference");
}

}  // namespace
TEST_CASE("a dilated convolution over three axes with a factor a channel") {
  check_against_reference(R"(graph g(x: f32[1,16,5,8,5], t: f32[1,16,5,8,5]) {
    w = parameter f32[16,16,3,4,4] "w"
    s = parameter f32[1,16,1,1,1] "s"
    c = conv(x, w, dilations=[3,3,3], pads=[3,4,4,3,5,5])
    return y: mul(c, s), z: add(mul(relu(c), s), t) })");
}

TEST_CASE("every value has a kernel, however many transpositions it equals") {
  check_against_reference(
      R"(graph g(x: f32[1,119,8,4,4], y: f32[1,238,7,2,1], z: f32[1,238,7,1,1], u: f32[1,238,7,1,1]) {
    c0 = parameter f32[238,1,2,3,3] "c0"
    a = div(conv(x, c0, strides=[1,3,2], groups=119), f32[1][1.5])
    b = sub(a, slice(y, starts=[0,0,0,0,0], ends=[1,238,7,1,1], steps=[1,1,1,1,1]))
    d = add(u, sub(transpose(z, perm=[0,1,2,4,3]), b))
    c6 = parameter f32[238,105,1,5,1] "c6"
    c7 = parameter f32[105] "c7"
    return p: add(conv_transpose(d, c6, pads=[0,1,0,0,0,0]), reshape(c7, shape=[1,105,1,1,1])), d: d })");
}

}  // namespace weft::runtime
