// weft_bench_egraph WORKLOAD N [--threads T] [--report] [--sizes]: runs one of the public workloads (micro k, ac n,
// mm n, math k) and prints its size and time; --sizes: also the smallest term of each of math's start terms.
#include <fmt/format.h>
#include <tbb/global_control.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "tests/egraph/math_workload.hpp"

using namespace weft::egraph;

namespace {

struct Options {
  std::string name;
  int n = 0, threads = 0;
  bool report = false, sizes = false;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void tell(const Options& options, const EGraph& graph, const PhaseReport& phase, double seconds) {
  double search = 0, apply = 0, rebuild = 0;
  for (const auto& iteration : phase.iterations)
    search += iteration.search_seconds, apply += iteration.apply_seconds, rebuild += iteration.rebuild_seconds;
  if (options.report) fmt::print("{}", phase.text());
  fmt::print("{} {}: {} nodes, {} classes, {} iterations, {:.4f} s (search {:.4f}, apply {:.4f}, rebuild {:.4f})\n",
             options.name, options.n, graph.node_count(), graph.class_count(), phase.iterations.size(), seconds, search,
             apply, rebuild);
}

void run_math(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  test::MathWorkload work;
  std::vector<ClassId> roots;
  for (const char* term : test::kStartTerms) roots.push_back(work.terms.add(work.graph, term));
  const PhaseReport phase = work.run({.iterations = static_cast<size_t>(options.n)});
  const double seconds = seconds_since(start);
  if (options.sizes) {
    fmt::print("smallest terms:");
    for (ClassId root : roots) fmt::print(" {}", work.ast_size(root));
    fmt::print("\n");
  }
  tell(options, work.graph, phase, seconds);
}

void run_plain(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  const std::unique_ptr<test::Workload> work = options.name == "micro" ? test::micro()
                                               : options.name == "ac"  ? test::ac(options.n)
                                                                       : test::mm(options.n);
  const PhaseReport phase = work->run(options.name == "micro" ? options.n : 0);
  tell(options, work->graph, phase, seconds_since(start));
}

bool parse(int argc, char** argv, Options& options) {
  if (argc < 3) return false;
  options.name = argv[1], options.n = std::atoi(argv[2]);
  for (int i = 3; i < argc; ++i) {
    if (std::strcmp(argv[i], "--report") == 0)
      options.report = true;
    else if (std::strcmp(argv[i], "--sizes") == 0)
      options.sizes = true;
    else if (std::strcmp(argv[i], "--threads") == 0 && i + 1 < argc && std::atoi(argv[i + 1]) > 0)
      options.threads = std::atoi(argv[++i]);
    else
      return false;
  }
  const bool known = options.name == "micro" || options.name == "ac" || options.name == "mm" || options.name == "math";
  return known && options.n >= 1 && options.n <= 1000;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    fmt::print(stderr, "usage: weft_bench_egraph micro|ac|mm|math N [--threads T] [--report] [--sizes]\n");
    return 2;
  }
  std::optional<tbb::global_control> threads;
  if (options.threads) threads.emplace(tbb::global_control::max_allowed_parallelism, options.threads);
  options.name == "math" ? run_math(options) : run_plain(options);
}
