// Compile time against depth: transformers of 1 to 96 equal layers, all passes, with and without rolling them up.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/text.hpp"
#include "passes/pipeline.hpp"
#include "tests/default_targets.hpp"
#include "tests/plans/deep_networks.hpp"

using namespace weft;

namespace {

constexpr int kRuns = 5;
constexpr int kMostLayersWhole = 48;

struct Row {
  std::map<std::string, double> milliseconds;  // by pass, and "total"; medians
  ir::PlanStats stats;
};

Row measure(const std::string& text, bool roll) {
  const ir::Graph graph = ir::parse_graph(text);
  const std::vector<const ir::Target*> targets = test::default_targets();
  passes::Options options;
  if (!roll) options.skip = {"roll"};
  std::map<std::string, std::vector<double>> times;
  Row row;
  for (int run = 0; run < kRuns; ++run) {
    passes::CompileResult result = passes::compile(graph, targets, options);
    double total = 0;
    for (const passes::PassReport& pass : result.report.passes) {
      times[pass.name].push_back(pass.milliseconds);
      total += pass.milliseconds;
    }
    times["total"].push_back(total);
    row.stats = result.plan.stats;
  }
  for (auto& [name, values] : times) {
    std::nth_element(values.begin(), values.begin() + kRuns / 2, values.end());
    row.milliseconds[name] = values[kRuns / 2];
  }
  return row;
}

}  // namespace

int main() {
  fmt::print(
      "| network | layers | graph nodes | e-nodes | saturate, ms | fuse, ms | extract, ms | compile, ms | cost, us | "
      "proven | steps |\n");
  fmt::print("|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (bool decoder : {false, true})
    for (bool roll : {true, false})
      for (int layers : {1, 2, 12, 48, 96}) {
        if (!roll && layers > kMostLayersWhole) continue;
        const TransformerSize size{layers, 128, 256, 4, 1024, 128};
        Row row = measure(decoder ? decoder_text(size) : encoder_text(size), roll);
        fmt::print("| {}{} | {} | {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {} | {} |\n",
                   decoder ? "decoder" : "encoder", roll ? "" : ", whole", layers, row.stats.graph_nodes,
                   row.stats.egraph_nodes, row.milliseconds["saturate"], row.milliseconds["fuse"],
                   row.milliseconds["extract"], row.milliseconds["total"], static_cast<double>(row.stats.cost) / 1000,
                   row.stats.proven ? "yes" : "no", row.stats.steps);
      }
}
