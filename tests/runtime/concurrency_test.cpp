// M02 and M03 through sessions: one compiled model, many threads.
#include <thread>

#include "ir/support/error.hpp"
#include "runtime/compare.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/graphs.hpp"

namespace weft::runtime {
namespace {

using ir::Tensor;
using namespace test;

Tensor all(const ir::TensorType& type, int thread) { return ir::filled(type, 0.25 * thread - 1); }

TEST_CASE("M02: threads of one session get what a single thread gets", "[peer-bugs]") {
  for (int threads : {1, 2}) {
    std::unique_ptr<Session> session;
    std::vector<Tensor> want;
    std::thread([&] {
      SessionOptions options = plain();
      options.compile.threads = threads;
      session = std::make_unique<Session>(make_session(kSmallNet, options));
      for (int t = 0; t < 8; ++t) want.push_back(session->run({{"x", all(session->inputs()[0].type, t)}}).at("y"));
    }).join();
    std::vector<int> wrong(8, 0);
    std::vector<std::thread> users;
    for (int t = 0; t < 8; ++t)
      users.emplace_back([&, t] {
        Tensor x = all(session->inputs()[0].type, t);
        for (int i = 0; i < 50; ++i)
          wrong[static_cast<size_t>(t)] += !session->run({{"x", x}}).at("y").same_bits(want[static_cast<size_t>(t)]);
      });
    for (std::thread& user : users) user.join();
    for (int count : wrong) CHECK(count == 0);
  }
}

TEST_CASE("M02: compiling on one thread while another runs, and first runs at the same time", "[peer-bugs]") {
  SessionOptions options = plain();
  Session symbolic = make_session(
      "graph g(x: f32[N,8]) { w = parameter f32[8,8] \"w\"\n return y: softmax(matmul(x, w), axis=-1) }", options);
  std::vector<std::thread> users;
  std::vector<int> wrong(6, 0);
  for (int t = 0; t < 6; ++t)
    users.emplace_back([&, t] {
      for (int64_t n : {1, 2, 3, 4}) {
        ir::NamedTensors in = {{"x", random_tensor({ir::DType::f32, {n, 8}}, 1)}};
        Tensor y = symbolic.run(in).at("y");
        ir::Graph fixed = ir::specialize(*symbolic.graph(), {{"N", n}});
        wrong[static_cast<size_t>(t)] += !compare(y, ir::run_reference(fixed, in)[0], {1e-5, 1e-6}).agrees();
      }
    });
  for (std::thread& user : users) user.join();
  for (int count : wrong) CHECK(count == 0);
  CHECK(symbolic.report().specializations.size() == 4);
}

TEST_CASE("M03: a bad index deep in a gather is one error, and the session goes on", "[peer-bugs]") {
  SessionOptions options = plain();
  options.compile.threads = 8;
  Session session =
      make_session("graph g(t: f32[16,2], i: i64[100000]) { return y: neg(gather(t, i, axis=0)) }", options);
  Tensor table = random_tensor({ir::DType::f32, {16, 2}}, 1), good = Tensor::zeros({ir::DType::i64, {100000}});
  Tensor bad = Tensor::zeros({ir::DType::i64, {100000}});
  bad.mutable_as<int64_t>()[77777] = 99;
  bad.mutable_as<int64_t>()[88888] = -99;
  Tensor want = session.run({{"t", table}, {"i", good}}).at("y");
  for (int round = 0; round < 50; ++round) {
    try {
      session.run({{"t", table}, {"i", bad}});
      FAIL("no error");
    } catch (const Error& e) {
      std::string text = e.what();
      REQUIRE((text.find("99") != std::string::npos));
    }
    REQUIRE(session.run({{"t", table}, {"i", good}}).at("y").same_bits(want));
  }
}

TEST_CASE("sessions of one process share kernels and packed weights, and arenas are bounded") {
  ir::Graph graph = with_weights(ir::parse_graph(kSmallNet));
  Session a(graph, plain()), b(graph, plain());
  auto pa = a.prepare(), pb = b.prepare();
  auto ea = compile_kernels(std::make_shared<const ir::Plan>(pa->plan()), 1),
       eb = compile_kernels(std::make_shared<const ir::Plan>(pb->plan()), 1);
  REQUIRE(ea->steps.size() == eb->steps.size());
  for (size_t s = 0; s < ea->steps.size(); ++s) CHECK(ea->steps[s] == eb->steps[s]);
  pa->trim();
  CHECK(a.peak_bytes() == pa->peak_bytes());
}

}  // namespace
}  // namespace weft::runtime
