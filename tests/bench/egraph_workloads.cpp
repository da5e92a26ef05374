// weft_bench_egraph WORKLOAD N [--report]: runs one of the exact workloads (micro k, ac n, mm n) and prints its size
// and time.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "tests/egraph/workloads.hpp"

using namespace weft::egraph;

namespace {

int run(const std::string& name, int n, bool report) {
  auto start = std::chrono::steady_clock::now();
  const std::unique_ptr<test::Workload> workload = name == "micro" ? test::micro()
                                                   : name == "ac"  ? test::ac(n)
                                                                   : test::mm(n);
  const PhaseReport phase = workload->run(name == "micro" ? n : 0);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (report) fmt::print("{}", phase.text());
  fmt::print("{} {}: {} nodes, {} classes, {} iterations, {:.4f} s\n", name, n, workload->graph.node_count(),
             workload->graph.class_count(), phase.iterations.size(), seconds);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  const int n = argc > 2 ? std::atoi(argv[2]) : 0;
  if ((name != "micro" && name != "ac" && name != "mm") || n < 1 || n > 1000) {
    fmt::print(stderr, "usage: weft_bench_egraph micro|ac|mm N [--report]\n");
    return 2;
  }
  return run(name, n, argc > 3 && std::strcmp(argv[3], "--report") == 0);
}
