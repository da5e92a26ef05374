// weft_bench_extract [--fuel N] FILE.json...: extracts each e-graph-serialize file and prints cost, bound and time.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "egraph/json.hpp"
#include "ir/support/error.hpp"

using namespace weft::egraph;

namespace {

void run(const std::string& path, const ExtractOptions& options) {
  std::ifstream in(path);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const JsonGraph file = read_json(text);
  const FrozenGraph frozen(*file.graph);
  bool whole = true;
  for (double cost : file.cost) whole &= cost == std::floor(cost);
  const double scale = whole ? 1 : 1e9;  // costs in files are numbers of any kind, ours are whole
  const ExtractResult result = extract(
      frozen, file.roots,
      [&](NodeId node) { return static_cast<uint64_t>(std::llround(file.cost[node.value] * scale)); }, options);
  const ExtractStats& s = result.stats;
  fmt::print(
      "{} cost {:.6f} bound {:.6f} {} {:.3f} s | {} nodes {} classes -> {} nodes {} classes {} parts, largest {} | "
      "tree {:.6f} "
      "greedy {:.6f} landmarks {} search {} fuel {}\n",
      path, result.cost / scale, result.lower_bound / scale, result.proven ? "proven" : "OPEN", s.seconds, s.nodes,
      s.classes, s.reduced_nodes, s.reduced_classes, s.components, s.largest_component, s.tree_cost / scale,
      s.greedy_cost / scale, s.landmarks, s.search_nodes, s.fuel);
}

}  // namespace

int main(int argc, char** argv) {
  ExtractOptions options;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--fuel" && i + 1 < argc) {
      options.fuel = std::strtoull(argv[++i], nullptr, 10);
      continue;
    }
    try {
      run(argv[i], options);
    } catch (const weft::Error& error) {
      fmt::print("{} error: {}\n", argv[i], error.what());
      return 1;
    }
  }
}
