#include "passes/pass_runner.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "ir/support/error.hpp"
#include "ir/text.hpp"
#include "ir/verify.hpp"

namespace weft::passes {
namespace {

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

const PassName& pass_named(std::string_view name, std::string_view option) {
  std::string known;
  for (const PassName& pass : kPassNames) {
    if (pass.name == name) return pass;
    known += (known.empty() ? "" : ", ") + std::string(pass.name);
  }
  throw Error(ErrorCode::invalid_argument, fmt::format("no pass is named '{}'; there are {}", name, known),
              std::string(option));
}

}  // namespace

void check_names(const Options& options) {
  for (const std::string& name : options.skip)
    if (!pass_named(name, "skip").optional)
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("pass '{}' cannot be skipped: no plan comes out without it", name), "skip");
  if (!options.stop_after.empty()) pass_named(options.stop_after, "stop-after");
  if (!options.print_after.empty() && options.print_after != "all" && options.print_after != "changed")
    pass_named(options.print_after, "print-after");
}

PassRunner::PassRunner(const Options& options, CompileReport& report) : options_(options), report_(report) {
  check_names(options);
  if (options_.dump_dir.empty()) return;
  std::error_code code;
  std::filesystem::create_directories(options_.dump_dir, code);
  if (code)
    throw Error(ErrorCode::io, fmt::format("cannot make the dump folder: {}", code.message()), options_.dump_dir);
}

bool PassRunner::begin(std::string_view name) {
  if (stopped_ || std::find(options_.skip.begin(), options_.skip.end(), name) != options_.skip.end()) return false;
  if (options_.progress) options_.progress(name, 0);
  detail_.clear();
  started_ = now_ms();
  return true;
}

void PassRunner::end(std::string_view name, int64_t nodes, const std::function<std::string()>& dump) {
  report_.passes.push_back({std::string(name), now_ms() - started_, nodes, detail_});
  bool to_file = !options_.dump_dir.empty();
  bool wanted = options_.print_after == "all" || options_.print_after == "changed" || options_.print_after == name;
  if (to_file || wanted) {
    std::string text = dump();
    bool changed = text != previous_dump_;
    if (wanted && (changed || options_.print_after != "changed")) {
      std::string out = fmt::format("# after {}\n{}", name, text);
      if (options_.print)
        options_.print(out);
      else
        std::fputs(out.c_str(), stderr);
    }
    if (to_file) std::ofstream(fmt::format("{}/{:02}-{}.txt", options_.dump_dir, number_, name)) << text;
    previous_dump_ = std::move(text);
  }
  ++number_;
  if (options_.progress) options_.progress(name, 1);
  if (options_.stop_after == name) stopped_ = true;
}

void PassRunner::graph_pass(std::string_view name, const ir::Graph& graph, const std::function<void()>& body) {
  if (!begin(name)) return;
  body();
#ifndef NDEBUG
  ir::verify(graph);
#endif
  end(name, static_cast<int64_t>(graph.size()), [&] { return ir::print_graph(graph); });
}

void PassRunner::plan_pass(std::string_view name, const ir::Plan& plan, const std::function<void()>& body) {
  if (!begin(name)) return;
  body();
  end(name, static_cast<int64_t>(plan.steps.size()), [&] { return print_plan(plan); });
}

}  // namespace weft::passes
