#include "runtime/plan_file.hpp"

#include <fstream>
#include <random>

#include "ir/support/error.hpp"
#include "passes/pass_runner.hpp"
#include "runtime/compare.hpp"
#include "runtime/container.hpp"
#include "runtime/plan_check.hpp"
#include "runtime/plan_codec.hpp"
#include "runtime/verify.hpp"
#include "runtime/version.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/graphs.hpp"

namespace weft::runtime {
namespace {

using ir::Tensor;
using namespace test;
namespace fs = std::filesystem;
using Catch::Matchers::Contains;

constexpr std::string_view kText = R"(
graph g(x: f32[3,4], k: i64[]) {
  w = parameter f32[4,5] "w"
  s = mul(w, 2)
  c = constant i64[3] [1, 2, 3]
  return y: relu(matmul(x, s)), z: x, q: add(k, c)
})";

TEST_CASE("a plan is the same after bytes and back") {
  Session session = make_session(kText);
  const ir::Plan& plan = session.prepare()->plan();
  std::string bytes = encode_plan(plan);
  ir::Plan again = decode_plan(bytes);
  CHECK(encode_plan(again) == bytes);
  CHECK(passes::print_plan(again) == passes::print_plan(plan));
}

TEST_CASE("no bytes make a plan that touches foreign memory") {
  Session session = make_session(kText);
  std::string good = encode_plan(session.prepare()->plan());
  std::mt19937 random(3);
  int refused = 0;
  auto attempt = [&](const std::string& bytes) {
    try {
      check_plan(decode_plan(bytes));
    } catch (const Error&) {
      ++refused;
    }
  };
  for (size_t n = 0; n < good.size(); ++n) attempt(good.substr(0, n));
  CHECK(refused == static_cast<int>(good.size()));
  for (size_t at = 0; at < good.size(); ++at)
    for (int value : {0x00, 0x7f, 0x80, 0xff}) {
      std::string bad = good;
      bad[at] = static_cast<char>(value);
      attempt(bad);
    }
  for (int i = 0; i < 2000; ++i) {
    std::string bad = good;
    for (int k = 0; k < 3; ++k) bad[random() % bad.size()] = static_cast<char>(random());
    attempt(bad);
  }
  CHECK(refused > 0);
}

TEST_CASE("the check names what is wrong") {
  Session session = make_session(kText);
  const ir::Plan good = session.prepare()->plan();
  auto broken = [&](auto change) {
    ir::Plan plan = good;
    change(plan);
    try {
      check_plan(plan);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  CHECK_NOTHROW(check_plan(good));
  CHECK_THAT(broken([](ir::Plan& p) { p.steps[0].inputs[0] = ir::BufferId(999); }), Contains("buffer 999"));
  CHECK_THAT(broken([](ir::Plan& p) { p.steps[0].inputs.pop_back(); }), Contains("operands"));
  CHECK_THAT(broken([](ir::Plan& p) { p.steps[0].resources.parts = 0; }), Contains("parts"));
  CHECK_THAT(broken([](ir::Plan& p) { p.steps[0].resources.scratch_bytes = 1 << 20; }), Contains("scratch"));
  CHECK_THAT(broken([](ir::Plan& p) {
               p.steps.pop_back();
               p.copies.clear();
             }),
             Contains("never written") || Contains("before it is written"));
  CHECK_THAT(broken([](ir::Plan& p) { p.copies[0].second = p.copies[0].first; }), Contains("copy"));
  CHECK_THAT(broken([](ir::Plan& p) { p.inputs[0].type.shape = {ir::Dim(99)}; }), Contains("'x'"));
  CHECK_THAT(broken([](ir::Plan& p) { p.buffers[0].bytes = -4; }), Contains("buffer"));
  CHECK_THAT(broken([](ir::Plan& p) { p.threads = 0; }), Contains("threads"));
  CHECK_THAT(broken([](ir::Plan& p) { p.steps[0].program = nullptr; }), Contains("no program"));
}

struct Written {
  TemporaryDirectory directory;
  fs::path file = directory / "m.weft";
  Session session = make_session(kText);
  ir::NamedTensors inputs;
  Written(bool embed = true) {
    session.save(file, {}, embed);
    for (const NamedType& t : session.inputs()) inputs[t.name] = random_tensor(t.type, 9);
  }
};

TEST_CASE("a plan file runs as its session does") {
  Written w;
  Session loaded = Session::load(w.file, plain());
  ir::NamedTensors got = loaded.run(w.inputs), want = w.session.run(w.inputs);
  for (const auto& [name, tensor] : want) CHECK(got.at(name).same_bits(tensor));
  CHECK(loaded.graph() == nullptr);
  CHECK(loaded.inputs()[0].name == "x");
  CHECK_THROWS_AS(loaded.save(w.directory / "again.weft"), Error);
  CHECK_THROWS_AS(verify(loaded, w.inputs, {}), Error);
  PlanFile file = read_plan_file(w.file);
  CHECK(file.provenance.weft == version());
  CHECK(unusable_here(file.provenance).empty());
  REQUIRE(file.parameters.size() == 1);
  CHECK(file.parameters[0].name == "w");
}

TEST_CASE("a plan file of elsewhere says why it cannot run") {
  Written w;
  PlanFile file = read_plan_file(w.file);
  std::vector<Tensor> weights = load_parameters(file, w.file, 1);
  auto refused = [&](auto change) {
    Provenance p = file.provenance;
    change(p);
    write_plan_file(w.file, p, file.plan, weights, true);
    try {
      Session::load(w.file, plain());
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  CHECK_THAT(refused([](Provenance& p) { p.weft = "0.0.9"; }), Contains("0.0.9"));
  CHECK_THAT(refused([](Provenance& p) { p.backends["reference"] = "old"; }), Contains("reference old"));
  CHECK_THAT(refused([](Provenance& p) { p.backends["other"] = "1"; }), Contains("other"));
  CHECK_THAT(refused([](Provenance& p) {
               p.weft = "0.0.9";
               p.model = "/nowhere/m.onnx";
             }),
             Contains("/nowhere/m.onnx"));
}

TEST_CASE("damaged plan files are told apart") {
  Written w;
  std::string good = read_file(w.file);
  auto message = [&](const std::string& bytes) {
    std::ofstream(w.file, std::ios::binary) << bytes;
    try {
      Session::load(w.file, plain());
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  CHECK_THAT(message(""), Contains("not a"));
  CHECK_THAT(message("PK\x03\x04 something else that is long enough to be a header"), Contains("not a"));
  CHECK_THAT(message(good.substr(0, 20)), Contains("cut short"));
  CHECK_THAT(message(good.substr(0, 200)), Contains("cut short"));
  std::string bad = good;
  bad[60] ^= 1;
  CHECK_THAT(message(bad), Contains("damaged"));
  CHECK_THAT(message(good.substr(0, good.size() - 8)), Contains("cut short") && Contains("'w'"));
  bad = good;
  bad[bad.size() - 3] ^= 1;
  CHECK_THAT(message(bad), Contains("'w'") && Contains("not those"));
  for (size_t n = 0; n < good.size(); n += 7) CHECK(message(good.substr(0, n)) != "accepted");
  for (const char* more : {"x", "0123456789abcdef"})
    CHECK_THAT(message(good + more),
               Contains(fmt::format("{} bytes where {} were", good.size() + strlen(more), good.size())));
  CHECK(message(good) == "accepted");
  CHECK_THROWS_AS(Session::load(w.directory.path() / "none.weft"), Error);
  CHECK_THROWS_AS(Session::load(w.directory.path() / "none.bin"), Error);
}

}  // namespace
}  // namespace weft::runtime
