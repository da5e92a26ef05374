// The engine agrees to the node with the public workloads.
#include "tests/catch.hpp"
#include "tests/egraph/math_workload.hpp"

using namespace weft::egraph;
using namespace weft::egraph::test;

namespace {

struct Size {
  size_t nodes, classes;
};
constexpr Size kMicro[] = {{0, 0},      {69, 50},     {118, 71},    {208, 116},     {389, 197},      {784, 361},
                           {1576, 666}, {3160, 1347}, {8113, 3576}, {28303, 12445}, {136446, 58464}, {1047896, 443832}};

void check_micro(int k) {
  INFO("micro " << k);
  const auto work = micro();
  const PhaseReport report = work->run(k);
  CHECK(report.stop == StopReason::iterations);
  CHECK(work->graph.node_count() == kMicro[k].nodes);
  CHECK(work->graph.class_count() == kMicro[k].classes);
  work->graph.check();
}

void check_ac(int n) {
  INFO("ac " << n);
  const auto work = ac(n);
  const PhaseReport report = work->run();
  size_t three = 1;
  for (int i = 0; i < n; ++i) three *= 3;
  CHECK(report.stop == StopReason::saturated);
  CHECK(work->graph.class_count() == (size_t{1} << n) - 1);
  CHECK(work->graph.node_count() == three - (size_t{1} << (n + 1)) + 1 + n);
  work->graph.check();
}

void check_mm(int n) {
  INFO("mm " << n);
  const auto work = mm(n);
  const PhaseReport report = work->run();
  CHECK(report.stop == StopReason::saturated);
  const size_t m = n;
  CHECK(work->graph.class_count() == m * (m + 1) / 2);
  CHECK(work->graph.node_count() == (m * m * m - m) / 6 + m);
  work->graph.check();
}

}  // namespace

TEST_CASE("micro 1 to 9 have the exact sizes", "[egraph][workload]") {
  for (int k = 1; k <= 9; ++k) check_micro(k);
}
TEST_CASE("micro 10 and 11 have the exact sizes", "[.][nightly]") {
  check_micro(10);
  check_micro(11);
}
TEST_CASE("ac 2 to 9 saturate at the exact sizes", "[egraph][workload]") {
  for (int n = 2; n <= 9; ++n) check_ac(n);
}
TEST_CASE("ac 12 saturates at the exact size", "[.][nightly]") { check_ac(12); }
TEST_CASE("mm 2 to 40 saturate at the exact sizes", "[egraph][workload]") {
  for (int n : {2, 3, 5, 10, 20, 40}) check_mm(n);
}
TEST_CASE("mm 80 saturates at the exact size", "[.][nightly]") { check_mm(80); }

TEST_CASE("math: the smallest terms after 5 and 7 iterations", "[egraph][workload]") {
  const uint64_t after_five[] = {4, 6, 6, 1, 9, 11, 13}, after_seven[] = {4, 6, 6, 1, 9, 11, 4};
  for (const size_t iterations : {5, 7}) {
    MathWorkload w;
    std::vector<ClassId> roots;
    for (const char* term : kStartTerms) roots.push_back(w.terms.add(w.graph, term));
    w.run({.iterations = iterations});
    w.graph.check();
    for (size_t i = 0; i < roots.size(); ++i) {
      INFO(kStartTerms[i] << " after " << iterations << " iterations");
      CHECK(w.ast_size(roots[i]) == (iterations == 5 ? after_five : after_seven)[i]);
    }
  }
}

TEST_CASE("math: what can be proved is, what cannot is not", "[egraph][workload]") {
  const auto proves = [](const char* start, const char* goal, size_t nodes) {
    INFO(start << " = " << goal);
    MathWorkload w;
    const ClassId root = w.terms.add(w.graph, start);
    w.run({.nodes = nodes, .iterations = 12}, {1000, 5});
    w.graph.check();
    const ClassId found = w.terms.lookup(w.graph, goal);
    return found.valid() && w.graph.find(found) == w.graph.find(root);
  };
  CHECK(proves("(+ x (+ x (+ x x)))", "(* 4 x)", 50'000));
  CHECK(proves("(* (pow 2 x) (pow 2 y))", "(pow 2 (+ x y))", 50'000));
  CHECK(proves("(+ 1 (- a (* (- 2 1) a)))", "1", 50'000));
  CHECK(proves("(* (+ x 3) (+ x 1))", "(+ (+ (* x x) (* 4 x)) 3)", 50'000));
  CHECK(proves(kStartTerms[6], "(/ 1 (sqrt five))", 75'000));
  CHECK_FALSE(proves("(+ x y)", "(/ x y)", 10'000));
}
