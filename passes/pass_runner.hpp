#pragma once
// What happens around every pass: time, progress, verification, dumps, skip, stop.
#include <functional>
#include <string>
#include <string_view>

#include "ir/plan.hpp"
#include "passes/pipeline.hpp"

namespace weft::passes {

/// Every pass, in order; those that may be skipped keep the plan whole without them.
struct PassName {
  std::string_view name;
  bool optional;
};
inline constexpr PassName kPassNames[] = {{"canonicalise", true},  {"roll", true},      {"insert", false},
                                          {"saturate", true},      {"fuse", false},     {"extract", false},
                                          {"lower-direct", false}, {"schedule", false}, {"plan-memory", false}};

/// Throws Error(invalid_argument) where options name a pass that does not exist or cannot be skipped.
void check_names(const Options& options);

class PassRunner {
 public:
  /// Throws as check_names, and Error(io) where the dump folder cannot be made.
  PassRunner(const Options& options, CompileReport& report);

  /// Runs one pass over a graph unless it is skipped or the pipeline has stopped. `body` may return nothing or a detail
  /// line.
  void graph_pass(std::string_view name, const ir::Graph& graph, const std::function<void()>& body);
  void plan_pass(std::string_view name, const ir::Plan& plan, const std::function<void()>& body);
  /// A detail line for the pass that is running.
  void detail(std::string text) { detail_ = std::move(text); }
  bool stopped() const { return stopped_; }

 private:
  bool begin(std::string_view name);
  void end(std::string_view name, int64_t nodes, const std::function<std::string()>& dump);

  const Options& options_;
  CompileReport& report_;
  std::string detail_, previous_dump_;
  double started_ = 0;
  int number_ = 0;
  bool stopped_ = false;
};

/// The plan as text: arena, buffers and steps in order, for dumps and golden tests.
std::string print_plan(const ir::Plan& plan);

}  // namespace weft::passes
