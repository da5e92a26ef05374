// Times models on weft, ONNX Runtime and OpenVINO in turns (A B A B, the first two in one process), as a markdown
// table.
//   bench_models [MODEL...] [--threads 1,2] [--rounds 20] [--seconds 20] [--openvino] [--neighbour] [--no-weft]
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "ir/support/error.hpp"
#include "tests/bench/busy_neighbour.hpp"
#include "tests/bench/openvino_peer.hpp"
#include "tests/bench/ort_peer.hpp"
#include "tests/bench/statistics.hpp"
#include "tests/bench/weft_runner.hpp"
#include "tests/models/compare.hpp"
#include "tests/models/model_list.hpp"

namespace weft::bench {
namespace {

struct Options {
  std::vector<std::string> models;
  std::vector<int> threads{1, 2};
  int rounds = 20;
  double seconds = 20;
  bool neighbour = false, weft = true, openvino = false;
};

/// The engines take turns: in each round each runs once unmeasured (its caches are then its own), then for about 30
/// ms.
std::vector<Summary> take_turns(const std::vector<std::unique_ptr<Runner>>& runners, const Options& options) {
  std::vector<std::vector<double>> times(runners.size());
  double spent = 0;
  for (int round = 0; round < options.rounds && (spent < options.seconds || round < 5); ++round)
    for (size_t i = 0; i < runners.size(); ++i) {
      Runner& runner = *runners[i];
      double warm = runner.timed_run();
      int repeats = std::clamp(static_cast<int>(0.03 / warm), 1, 20);
      for (int k = 0; k < repeats; ++k) times[i].push_back(1e3 * runner.timed_run());
      spent += warm * (1 + repeats);
    }
  std::vector<Summary> summaries;
  for (std::vector<double>& list : times) summaries.push_back(summarize(std::move(list)));
  return summaries;
}

std::string cell(const Summary& s) {
  return fmt::format("{:.2f} ({:.2f}-{:.2f}, n={})", s.median, s.p10, s.p90, s.count);
}

struct Row {
  std::string weft = "-", agreement = "-";
  std::string peers;    // "| 1.23 (1.20-1.30, n=20) | 1.50 ", a pair of cells a peer: its time and its time over weft's
  std::string engines;  // their versions
};

Row time_model(const models::Model& model, int threads, const Options& options) {
  const models::ModelCase& timed = model.cases.front();
  ir::NamedTensors inputs = models::random_inputs(timed, 1);
  OrtOptions peer_options;
  peer_options.threads = threads;
  std::vector<std::unique_ptr<Runner>> runners;
  if (options.weft) runners.push_back(load_weft(model_path(model), timed, threads));
  runners.push_back(load_ort(model_path(model), peer_options));
  if (options.openvino) runners.push_back(load_openvino(model_path(model), threads));
  for (auto& runner : runners) {
    runner->bind(inputs);
    runner->run();
  }
  Row row;
  for (auto& runner : runners) row.engines += (row.engines.empty() ? "" : ", ") + runner->engine();
  if (options.weft) {
    models::Comparison comparison = models::compare(runners[0]->outputs(), runners[1]->outputs(), 1e-3, 1e-5);
    row.agreement =
        comparison.agrees ? comparison.text() : fmt::format("NO, {:.1f} times the tolerance", comparison.worst_excess);
  }
  std::vector<Summary> times = take_turns(runners, options);
  if (options.weft) row.weft = cell(times[0]);
  for (size_t i = options.weft; i < times.size(); ++i)
    row.peers += fmt::format("| {} | {} ", cell(times[i]),
                             options.weft ? fmt::format("{:.2f}", times[i].median / times[0].median) : "-");
  return row;
}

void run(const Options& options) {
  std::vector<const models::Model*> list;
  for (const std::string& name : options.models) list.push_back(&models::find_model(name));
  if (list.empty())
    for (const models::Model& model : models::all_models())
      if (!model.tiny) list.push_back(&model);
  BusyNeighbour neighbour(options.neighbour);
  fmt::print("{}; {}{}; load before: {}\n\n", machine_line(), today(),
             options.neighbour ? "; one busy neighbour process" : "", load_average());
  fmt::print(
      "| model | input | threads | weft, ms: median (p10-p90) | ONNX Runtime, ms | ratio {}| agreement "
      "|\n|---{}|---|---|---|---|---|---|\n",
      options.openvino ? "| OpenVINO, ms | ratio " : "", options.openvino ? "|---|---" : "");
  std::vector<std::string> missing;
  std::string engines;
  for (const models::Model* model : list)
    for (int threads : options.threads) {
      std::string reason;
      if (!model_available(*model, &reason)) {
        missing.push_back(reason);
        continue;
      }
      Row row = time_model(*model, threads, options);
      engines = row.engines;
      fmt::print("| {} | {} | {} | {} {}| {} |\n", model->name, model->cases.front().label, threads, row.weft,
                 row.peers, row.agreement);
      std::fflush(stdout);
    }
  fmt::print("\n{}; load after: {}\n", engines, load_average());
  for (const std::string& reason : missing) fmt::print("left out: {}\n", reason);
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  CLI::App app("times models on weft beside ONNX Runtime in one process, A B A B");
  weft::bench::Options options;
  app.add_option("models", options.models, "names of tests/models/model_list.cpp; none = all but the tiny ones");
  app.add_option("--threads", options.threads, "thread counts, as 1,2")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "turns that each engine takes")->capture_default_str();
  app.add_option("--seconds", options.seconds, "no further turn after this many seconds a model (but five at least)")
      ->capture_default_str();
  app.add_flag("--neighbour", options.neighbour, "with a process beside that keeps one core busy");
  app.add_flag("--openvino", options.openvino, "OpenVINO takes turns too (python3 and PyPI are needed)");
  app.add_flag("!--no-weft", options.weft, "the peers alone");
  CLI11_PARSE(app, argc, argv);
  try {
    weft::bench::run(options);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_models: {}\n", error.what());
    return 1;
  }
}
