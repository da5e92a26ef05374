#include "tools/weft/model_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "ir/support/error.hpp"
#include "ir/support/log.hpp"
#include "ir/text.hpp"
#include "passes/pass_runner.hpp"
#include "runtime/tensor_io.hpp"
#include "runtime/threads.hpp"
#include "tools/weft/numbers.hpp"
#include "tools/weft/progress.hpp"

namespace weft::tools {
namespace {

/// What an option value does wrong is wrong usage.
template <typename F>
auto as_usage(const std::string& option, const F& f) {
  try {
    return f();
  } catch (const Error& e) {
    throw CLI::ValidationError(option, e.what());
  }
}

}  // namespace

std::vector<int64_t> parse_dims(const std::string& text, const std::string& option) {
  std::vector<int64_t> dims;
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    int64_t dim = -1;
    auto [next, error] = std::from_chars(at, end, dim);
    if (error != std::errc() || dim < 0 || (next < end && (*next != 'x' || next + 1 == end)))
      throw CLI::ValidationError(option, "'" + text + "' is no shape like 1x3x224x224");
    dims.push_back(dim);
    at = next < end ? next + 1 : next;
  }
  return dims;
}

std::pair<std::string, std::string> split_assignment(const std::string& text, const std::string& option) {
  size_t at = text.rfind('=');  // names of tensors may hold '='
  if (at == std::string::npos || at == 0) throw CLI::ValidationError(option, "'" + text + "' is not NAME=VALUE");
  return {text.substr(0, at), text.substr(at + 1)};
}

ir::Tensor parse_value(const std::string& text, const std::string& option) {
  if (text.starts_with("@")) return runtime::load_tensor(text.substr(1));
  return as_usage(option, [&] {
    if (text.find('[') != std::string::npos) {
      ir::Graph graph = ir::parse_graph("graph value() { return v: " + text + " }", "value");
      return ir::run_reference(graph, {})[0];
    }
    bool real = text.find_first_of(".eEn") != std::string::npos;
    std::vector<double> numbers;
    std::vector<int64_t> integers;
    for (const char *at = text.data(), *end = at + text.size();; ++at) {
      double number = 0;
      int64_t integer = 0;
      auto [next, error] = real ? std::from_chars(at, end, number) : std::from_chars(at, end, integer);
      if (error != std::errc() || (next < end && *next != ','))
        fail(ErrorCode::invalid_argument, "'{}' is no number, list of numbers, literal like i64[2][1, 2], or @FILE",
             text);
      numbers.push_back(number);
      integers.push_back(integer);
      at = next;
      if (at >= end) break;
    }
    std::vector<int64_t> shape;
    if (numbers.size() > 1) shape.push_back(static_cast<int64_t>(numbers.size()));
    return real ? ir::Tensor::from<float>(shape, std::vector<float>(numbers.begin(), numbers.end()))
                : ir::Tensor::from(shape, integers);
  });
}

void ModelOptions::add(CLI::App& command, Threads threads) {
  command_ = &command;
  command.add_option("model", model, "a .onnx model or a compiled .weft plan")->required()->check(not_empty());
  command.add_option("--shape", shapes_, "shape of an input: NAME=1x3x224x224 (repeat for more)");
  command.add_option("--dim", dims_, "value of a symbolic dimension: NAME=N (repeat for more)");
  command.add_option("--bind", binds_, "fix an input to a value: NAME=5, NAME=1,2, NAME=i64[2][1,2] or NAME=@FILE");
  command.add_option("--backend", backends_, "backends in order of preference, by comma (default: all of this build)")
      ->delimiter(',');
  command.add_option("-O,--optimize", level_, "0: no rewriting .. 3: largest search")
      ->transform(whole_number(0, 3))
      ->capture_default_str();
  command.add_option("--precision", precision_, "which rules may be used")
      ->check(CLI::IsMember({"strict", "default", "fast"}))
      ->capture_default_str();
  if (threads == Threads::single)
    command.add_option("--threads", threads_, "threads of a run; 0: as many as the process may use")
        ->transform(whole_number())
        ->capture_default_str();
  command.add_option("--compile-threads", compile_threads_, "threads of the compile; 0: as --threads")
      ->transform(whole_number())
      ->capture_default_str();
  command.add_option("--time-limit", time_limit_, "seconds of search; 0: none")
      ->transform(real_number(0, 1e9))
      ->capture_default_str();
  command.add_option("--memory-limit", memory_limit_, "bytes that a run may take; 0: no limit")
      ->transform(whole_number())
      ->capture_default_str();
  command.add_option("--skip", skip_, "passes to leave out, by comma")->delimiter(',');
  command.add_option("--print-after", print_after_,
                     "print the program after a PASS, 'all' or 'changed' passes to standard error");
  command.add_option("--dump-dir", dump_dir_, "write the program after every pass to this folder");
  command
      .add_option("--cache-dir", cache_dir_,
                  "where plans are kept (default: $WEFT_CACHE_DIR, $XDG_CACHE_HOME/weft or ~/.cache/weft)")
      ->check(not_empty());
  command.add_flag("--no-cache", no_cache_, "neither look for a cached plan nor keep one");
  command.add_flag("--refresh", refresh_, "compile again even where a plan is cached");
}

namespace {
/// Each NAME=VALUE apart. Throws CLI::ValidationError for a name that is given two values.
std::map<std::string, std::string> assignments(const std::vector<std::string>& texts, const std::string& option) {
  std::map<std::string, std::string> values;
  for (const std::string& text : texts) {
    auto [name, value] = split_assignment(text, option);
    const auto [at, fresh] = values.emplace(name, value);
    if (!fresh && at->second != value)
      throw CLI::ValidationError(option, fmt::format("'{}' is given as '{}' and as '{}'", name, at->second, value));
  }
  return values;
}
}  // namespace

/// A plan was made for its shapes and options: another one here would be ignored, and the user believe otherwise.
void ModelOptions::refuse_for_plan() const {
  if (!command_ || !std::string_view(model).ends_with(".weft")) return;
  for (const char* option : {"--shape", "--dim", "--bind", "--optimize", "--precision", "--skip", "--time-limit"})
    if (command_->count(option))
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("{} has no effect on a plan that is compiled already; compile the model again with it", option),
          model);
}

runtime::SessionOptions ModelOptions::session_options() const {
  refuse_for_plan();
  runtime::SessionOptions options;
  for (const auto& [name, dims] : assignments(shapes_, "--shape"))
    options.shapes.emplace_back(name, parse_dims(dims, "--shape"));
  for (const auto& [name, value] : assignments(dims_, "--dim")) {
    int64_t dim = -1;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), dim);
    if (error != std::errc() || end != value.data() + value.size() || dim < 0)
      throw CLI::ValidationError("--dim", "dimension '" + name + "': '" + value + "' is no whole number from 0 up");
    options.dims[name] = dim;
  }
  for (const auto& [name, value] : assignments(binds_, "--bind")) options.binds[name] = parse_value(value, "--bind");
  options.backends = backends_;
  options.compile.level = level_;
  options.compile.precision = passes::precision_from_string(precision_);
  options.compile.threads = runtime::threads_from_text(threads_);
  options.compile_threads = compile_threads_ == "0" ? 0 : runtime::threads_from_text(compile_threads_);
  options.compile.time_limit = time_limit_;
  options.compile.skip = skip_;
  options.compile.print_after = print_after_;
  options.compile.dump_dir = dump_dir_;
  as_usage("--skip, --print-after", [&] { passes::check_names(options.compile); });
  options.memory_limit = memory_limit_;
  options.cache.directory = cache_dir_;
  options.cache.memory = options.cache.disk = !no_cache_;
  options.cache.refresh = refresh_;
  options.compile.progress = progress_bar();
  return options;
}

bool warn_if_null(const ir::Plan& plan) {
  const auto count =
      std::count_if(plan.steps.begin(), plan.steps.end(), [](const ir::Step& s) { return s.backend == "null"; });
  if (count > 0)
    log(LogLevel::warning, "{} of {} steps are on backend null, which computes nothing: values and times say nothing",
        count, plan.steps.size());
  return count > 0;
}

runtime::Session ModelOptions::load() const { return runtime::Session::load(model, session_options()); }

runtime::Session ModelOptions::load_graph() const {
  return std::string_view(model).ends_with(".weft") ? runtime::Session::load_model_of(model, session_options())
                                                    : load();
}

}  // namespace weft::tools
