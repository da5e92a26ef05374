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

}  // namespace

PassRunner::PassRunner(const Options& options, CompileReport& report) : options_(options), report_(report) {
  if (options_.dump_dir.empty()) return;
  std::error_code code;
  std::filesystem::create_directories(options_.dump_dir, code);
  if (code) throw Error(ErrorCode::io, fmt::format("cannot make the dump folder: {}", code.message()), options_.dump_dir);
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
      if (options_.print) options_.print(out);
      else std::fputs(out.c_str(), stderr);
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
