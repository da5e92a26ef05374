// Plans word for word, on a machine that exists on paper alone: what rules, fusion, extraction, schedule and memory
// plan make of the real models. A change of a rule shows here as a change of plans. WEFT_UPDATE_GOLDEN=1 writes them
// anew.
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <cstdlib>
#include <fstream>

#include "ir/text.hpp"
#include "passes/pass_runner.hpp"
#include "passes/pipeline.hpp"
#include "tests/catch.hpp"
#include "tests/golden.hpp"
#include "tests/models/imported.hpp"
#include "tests/plans/deep_networks.hpp"
#include "tests/plans/paper_machine.hpp"

namespace weft::models {
namespace {

std::string plan_of(const ir::Graph& graph) {
  const PaperMachine machine;
  const ir::Target* targets[] = {&machine};
  passes::Options options;
  options.threads = 1;
  return passes::print_plan(passes::compile(graph, targets, options).plan);
}

/// Compiled with so many threads to search with, also where the machine has fewer.
std::string plan_with_threads(const ir::Graph& graph, int threads) {
  tbb::global_control allow(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(threads));
  std::string plan;
  tbb::task_arena(threads).execute([&] { plan = plan_of(graph); });
  return plan;
}

void check(const std::string& name, const ir::Graph& graph) {
  const std::filesystem::path file = "tests/golden/plans/" + name + ".plan";
  const std::string plan = plan_of(graph);
  if (std::getenv("WEFT_UPDATE_GOLDEN")) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << plan;
  }
  REQUIRE(std::filesystem::exists(file));
  const std::string expected = test::read_file(file);
  size_t line = 1, at = 0;  // the first line that differs says more than two whole plans
  while (at < plan.size() && at < expected.size() && plan[at] == expected[at]) line += plan[at++] == '\n';
  INFO(file.string() << ":" << line << "\n now: " << plan.substr(at, 300) << "\n was: " << expected.substr(at, 300));
  CHECK(plan == expected);
}

}  // namespace

TEST_CASE("golden plans of the models", "[golden]") {
  auto name = GENERATE(as<std::string>(), "pp_ocr_det", "pp_ocr_cls", "blazeface_front", "blazeface_back",
                       "mlsd_tiny_320", "mlsd_large_320", "resnet50", "mobilenet_v2", "bert_base");
  if (std::optional<ir::Graph> graph = imported(name)) check(name, *graph);
}

TEST_CASE("golden plans of deep transformers", "[golden]") {
  check("encoder_9", ir::parse_graph(encoder_text({9})));
  check("decoder_9", ir::parse_graph(decoder_text({9})));
}

TEST_CASE("the plan is the same, bit for bit, at 1, 2 and 8 threads and over 20 runs", "[golden]") {
  auto name = GENERATE(as<std::string>(), "blazeface_front", "pp_ocr_cls", "bert_base", "decoder");
  std::optional<ir::Graph> graph =
      name == "decoder" ? std::optional(ir::parse_graph(decoder_text({3}))) : imported(name);
  if (!graph) return;
  const std::string first = plan_of(*graph);
  const int threads[] = {1, 2, 8};
  for (int run = 0; run < 20; ++run) REQUIRE(plan_with_threads(*graph, threads[run % 3]) == first);
}

}  // namespace weft::models
