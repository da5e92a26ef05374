// weft run: a model and inputs in, outputs out.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>

#include "ir/support/error.hpp"
#include "ir/support/readable.hpp"
#include "ir/text.hpp"
#include "runtime/compare.hpp"
#include "runtime/tensor_io.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/inputs.hpp"
#include "tools/weft/model_options.hpp"
#include "tools/weft/numbers.hpp"

namespace weft::tools {
namespace {

std::string summary(const ir::Tensor& tensor) {
  int64_t n = tensor.elements(), nan = 0;
  if (n == 0) return "empty";
  double least = std::numeric_limits<double>::infinity(), most = -least, sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    double v = tensor.at_double(i);
    if (std::isnan(v)) {
      ++nan;
      continue;
    }
    least = std::min(least, v);
    most = std::max(most, v);
    sum += v;
  }
  std::string text =
      nan == n ? "all NaN"
               : fmt::format("min {:.6g}, mean {:.6g}, max {:.6g}", least, sum / static_cast<double>(n - nan), most);
  return nan && nan < n ? text + fmt::format(", {} NaN", nan) : text;
}

struct Run {
  ModelOptions model;
  InputOptions inputs;
  std::string output;
  std::vector<std::string> expect;
  runtime::Tolerance tolerance;
  bool print = false;
  int repeat = 1;

  int run() const {
    if (!output.empty()) runtime::check_can_save(output);
    std::vector<std::pair<std::string, ir::NamedTensors>> wanted;
    for (const std::string& file : expect) wanted.emplace_back(file, runtime::load_tensors(file));
    runtime::Session session = model.load();
    ir::NamedTensors feeds = inputs.gather(session);
    ir::NamedTensors results;
    const bool nothing = warn_if_null(session.prepare(shapes_of(feeds))->plan());
    for (int i = 0; i < repeat; ++i) results = session.run(feeds);
    for (const runtime::NamedType& out : session.outputs()) {
      const ir::Tensor& tensor = results.at(out.name);
      fmt::print("{} {}: {}\n", readable(out.name), readable(to_string(tensor.type())),
                 nothing ? "not computed" : summary(tensor));
      if (print) fmt::print("{}\n", ir::print_tensor(tensor));
    }
    if (!output.empty()) runtime::save_tensors(output, results);
    return check(session, results, wanted) ? 0 : 1;
  }

  bool check(const runtime::Session& session, const ir::NamedTensors& results,
             const std::vector<std::pair<std::string, ir::NamedTensors>>& wanted) const {
    bool right = true;
    size_t position = 0;
    for (const auto& [file, tensors] : wanted)
      for (const auto& [given, want] : tensors) {
        std::string name = given;
        if (!results.contains(name) && position < session.outputs().size()) name = session.outputs()[position].name;
        ++position;
        auto got = results.find(name);
        if (got == results.end())
          throw Error(ErrorCode::not_found, fmt::format("the model has no output '{}'", given), file);
        runtime::Difference d = runtime::compare(got->second, want, tolerance);
        fmt::print("{}: {} ({})\n", d.agrees() ? "as expected" : "WRONG", readable(name), d.text());
        right = right && d.agrees();
      }
    return right;
  }
};

}  // namespace

void add_run(CLI::App& app, Outcome& outcome) {
  CLI::App* command = app.add_subcommand("run", "run a model once");
  auto state = std::make_shared<Run>();
  state->model.add(*command);
  state->inputs.add(*command);
  command->add_option("-o,--output", state->output, "write the outputs to this .npz (or .npy where there is one)");
  command->add_option("--expect", state->expect,
                      "compare the outputs with a .npz, .npy or .pb; exit 1 where they differ (repeat for more)");
  command->add_option("--rtol", state->tolerance.relative, "relative tolerance")
      ->transform(real_number())
      ->capture_default_str();
  command->add_option("--atol", state->tolerance.absolute, "absolute tolerance")
      ->transform(real_number())
      ->capture_default_str();
  command->add_option("--repeat", state->repeat, "run so many times")
      ->transform(whole_number(1, std::numeric_limits<int>::max()))
      ->capture_default_str();
  command->add_flag("--print", state->print, "print the outputs' values");
  command->callback([state, &outcome] { outcome.exit_code = state->run(); });
}

}  // namespace weft::tools
