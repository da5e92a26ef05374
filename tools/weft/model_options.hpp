#pragma once
// The options that every command on a model has: which model, for which shapes, how compiled.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "runtime/session.hpp"

namespace weft::tools {

/// "1x3x224x224" (rank 0 is the empty text) as dimensions. Throws CLI::ValidationError.
std::vector<int64_t> parse_dims(const std::string& text, const std::string& option);
/// A value on the command line: @FILE, a literal of the text language (i64[2][1, 2]), a number (i64, or f32 with a
/// point), or numbers by comma (rank 1).
ir::Tensor parse_value(const std::string& text, const std::string& option);
/// "name=rest"; throws CLI::ValidationError without '='.
std::pair<std::string, std::string> split_assignment(const std::string& text, const std::string& option);

/// Warns where steps are on the backend null, which computes nothing; whether there are any.
bool warn_if_null(const ir::Plan& plan);

/// Option values as typed; session_options() makes sense of them.
class ModelOptions {
 public:
  /// `listed`: the command has a --threads of its own.
  enum class Threads { single, listed };
  void add(CLI::App& command, Threads threads = Threads::single);

  std::string model;
  runtime::SessionOptions session_options() const;
  /// Loads the model, with progress on a terminal.
  runtime::Session load() const;
  /// A session that has a graph: of a plan, the model that it was made from, with the plan's options.
  runtime::Session load_graph() const;

 private:
  void refuse_for_plan() const;
  CLI::App* command_ = nullptr;
  std::vector<std::string> shapes_, dims_, binds_, backends_, skip_;
  int level_ = 2;
  std::string precision_ = "default", threads_ = "0", compile_threads_ = "0", print_after_, dump_dir_, cache_dir_;
  double time_limit_ = 0;
  int64_t memory_limit_ = 0;
  bool no_cache_ = false, refresh_ = false;
};

}  // namespace weft::tools
