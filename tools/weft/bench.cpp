// weft bench: how long a model takes, load and first run apart.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "ir/support/readable.hpp"
#include "runtime/threads.hpp"
#include "runtime/version.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/inputs.hpp"
#include "tools/weft/model_options.hpp"
#include "tools/weft/numbers.hpp"

namespace weft::tools {
namespace {

using Clock = std::chrono::steady_clock;
double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Result {
  int threads = 1;
  double load_ms = 0, compile_ms = 0, first_ms = 0;
  std::string cache;
  int64_t steps = 0, peak_bytes = 0;
  std::vector<double> times;  // ms, ascending

  double mean() const { return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size()); }
  /// Nearest rank.
  double percentile(double p) const {
    auto rank = static_cast<size_t>(std::ceil(p / 100 * static_cast<double>(times.size())));
    return times[std::clamp<size_t>(rank, 1, times.size()) - 1];
  }
};

struct Bench {
  ModelOptions model;
  InputOptions inputs;
  std::vector<std::string> threads = {"0"};
  double warmup = 0.2, duration = 3;
  int64_t iterations = 0;
  std::vector<double> percentiles = {50, 90, 99};
  std::string format = "md";

  void run() const {
    std::vector<Result> results;
    for (const std::string& count : threads) results.push_back(measure(runtime::threads_from_text(count)));
    if (format == "json")
      json(results);
    else if (format == "csv")
      csv(results);
    else
      markdown(results);
  }

  Result measure(int count) const {
    runtime::SessionOptions options = model.session_options();
    options.compile.threads = count;
    Result result;
    result.threads = count;
    auto start = Clock::now();
    runtime::Session session = runtime::Session::load(model.model, options);
    result.load_ms = ms_since(start);
    ir::NamedTensors feeds = inputs.gather(session);
    start = Clock::now();
    std::shared_ptr<const runtime::BoundPlan> bound = session.prepare(shapes_of(feeds));
    result.compile_ms = ms_since(start);
    warn_if_null(bound->plan());
    start = Clock::now();
    ir::NamedTensors outputs = session.run(feeds);
    result.first_ms = ms_since(start);
    result.cache = to_string(session.report().specializations.back().cache);
    result.steps = static_cast<int64_t>(bound->plan().steps.size());
    result.peak_bytes = bound->peak_bytes();
    bound->wait_until_stored();
    time_runs(*bound, feeds, outputs, result);
    return result;
  }

  void time_runs(const runtime::BoundPlan& bound, const ir::NamedTensors& feeds, const ir::NamedTensors& outputs,
                 Result& result) const {
    std::vector<ir::Tensor> in, out;
    for (const ir::PlanValue& v : bound.plan().inputs) in.push_back(feeds.at(v.name));
    for (const ir::PlanValue& v : bound.plan().outputs) out.push_back(outputs.at(v.name));
    for (auto start = Clock::now(); ms_since(start) < warmup * 1000;) bound.run(in, out);
    for (auto start = Clock::now();
         result.times.empty() || (iterations > 0 ? static_cast<int64_t>(result.times.size()) < iterations
                                                 : ms_since(start) < duration * 1000);) {
      auto begin = Clock::now();
      bound.run(in, out);
      result.times.push_back(ms_since(begin));
    }
    std::sort(result.times.begin(), result.times.end());
  }

  std::string heading(double p) const { return fmt::format("p{:g}", p); }

  void markdown(const std::vector<Result>& results) const {
    fmt::print("weft {} ({}), {}\n\n", runtime::version(), runtime::build_info(), runtime::cpu_model());
    fmt::print("| model | threads | load ms | compile ms | cache | first run ms | runs | min | mean |");
    for (double p : percentiles) fmt::print(" {} |", heading(p));
    fmt::print(" runs/s | steps | peak MB |\n|---|---|---|---|---|---|---|---|---|");
    for (size_t i = 0; i < percentiles.size() + 3; ++i) fmt::print("---|");
    fmt::print("\n");
    for (const Result& r : results) {
      fmt::print("| {} | {} | {:.1f} | {:.1f} | {} | {:.2f} | {} | {:.3f} | {:.3f} |", readable(model.model), r.threads,
                 r.load_ms, r.compile_ms, r.cache, r.first_ms, r.times.size(), r.times.front(), r.mean());
      for (double p : percentiles) fmt::print(" {:.3f} |", r.percentile(p));
      fmt::print(" {:.1f} | {} | {:.2f} |\n", 1000 / r.mean(), r.steps, static_cast<double>(r.peak_bytes) / 1e6);
    }
  }

  void csv(const std::vector<Result>& results) const {
    fmt::print("model,weft,build,cpu,threads,load_ms,compile_ms,cache,first_run_ms,runs,min_ms,mean_ms");
    for (double p : percentiles) fmt::print(",{}_ms", heading(p));
    fmt::print(",steps,peak_bytes\n");
    auto quoted = [](std::string text) {
      for (size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2) text.insert(at, 1, '"');
      return '"' + text + '"';
    };
    for (const Result& r : results) {
      fmt::print("{},{},{},{},{},{:.3f},{:.3f},{},{:.4f},{},{:.4f},{:.4f}", quoted(model.model), runtime::version(),
                 quoted(std::string(runtime::build_info())), quoted(runtime::cpu_model()), r.threads, r.load_ms,
                 r.compile_ms, r.cache, r.first_ms, r.times.size(), r.times.front(), r.mean());
      for (double p : percentiles) fmt::print(",{:.4f}", r.percentile(p));
      fmt::print(",{},{}\n", r.steps, r.peak_bytes);
    }
  }

  void json(const std::vector<Result>& results) const {
    nlohmann::ordered_json j;
    j["model"] = model.model;
    j["weft"] = runtime::version();
    j["build"] = runtime::build_info();
    j["cpu"] = runtime::cpu_model();
    for (const auto& [name, version] : runtime::backend_versions()) j["backends"][name] = version;
    for (const Result& r : results) {
      nlohmann::ordered_json row = {
          {"threads", r.threads},       {"load_ms", r.load_ms},   {"compile_ms", r.compile_ms}, {"cache", r.cache},
          {"first_run_ms", r.first_ms}, {"runs", r.times.size()}, {"min_ms", r.times.front()},  {"mean_ms", r.mean()}};
      for (double p : percentiles) row[heading(p) + "_ms"] = r.percentile(p);
      row["steps"] = r.steps;
      row["peak_bytes"] = r.peak_bytes;
      j["results"].push_back(row);
    }
    fmt::print("{}\n", j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  }
};

}  // namespace

void add_bench(CLI::App& app, Outcome&) {
  CLI::App* command = app.add_subcommand("bench", "time a model");
  auto state = std::make_shared<Bench>();
  state->model.add(*command, ModelOptions::Threads::listed);
  state->inputs.add(*command);
  command
      ->add_option("--threads", state->threads, "thread counts to measure, by comma; 0: as many as the process may use")
      ->delimiter(',')
      ->transform(whole_number())
      ->capture_default_str();
  command->add_option("--warmup", state->warmup, "seconds of runs before those that count")
      ->transform(real_number(0, 1e9))
      ->capture_default_str();
  auto* duration = command->add_option("--duration", state->duration, "seconds of runs that count")
                       ->transform(real_number(0, 1e9, true))
                       ->capture_default_str();
  command->add_option("--iterations", state->iterations, "runs that count, instead of --duration")
      ->transform(whole_number(1))
      ->excludes(duration);
  command->add_option("--percentile", state->percentiles, "percentiles to report, by comma")
      ->delimiter(',')
      ->transform(real_number(0, 100))
      ->capture_default_str();
  command->add_option("--format", state->format, "md, json or csv")
      ->check(CLI::IsMember({"md", "json", "csv"}))
      ->capture_default_str();
  command->callback([state] { state->run(); });
}

}  // namespace weft::tools
