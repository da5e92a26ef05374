// Sessions from files and to files. Apart from session.cpp, so that a program that builds its own graphs links no
// importer.
#include <algorithm>
#include <chrono>
#include <utility>

#include "backends/registry.hpp"
#include "ir/import/onnx.hpp"
#include "ir/support/error.hpp"
#include "ir/support/log.hpp"
#include "runtime/container.hpp"
#include "runtime/mapped_file.hpp"
#include "runtime/plan_file.hpp"
#include "runtime/session_state.hpp"
#include "runtime/version.hpp"

namespace weft::runtime {
namespace {

namespace fs = std::filesystem;

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

ir::Graph import(const fs::path& model, const SessionOptions& options) {
  return ir::import_onnx(model, {options.shapes, options.dims, options.binds});
}

/// The options of the compile that made a plan file, with those of the caller that do not change the plan.
SessionOptions recompile_options(const Provenance& p, SessionOptions options) {
  options.compile.level = p.level;
  options.compile.precision = passes::precision_from_string(p.precision);
  options.compile.threads = options.compile.threads ? options.compile.threads : p.threads;
  options.compile.time_limit = p.time_limit;
  options.compile.skip = p.skip;
  options.backends = p.backend_names;
  options.shapes = p.shapes;
  options.dims = {p.dims.begin(), p.dims.end()};
  return options;
}

/// Throws Error where the model that a plan was made from cannot be compiled anew; `before` is said first.
void check_model_of(const Provenance& p, const fs::path& plan, const std::string& before) {
  const auto refuse = [&](const std::string& why) { throw Error(ErrorCode::unsupported, before + why, plan.string()); };
  std::error_code error;
  if (!p.binds.empty()) refuse("inputs were bound to values when it was compiled: compile it again");
  if (p.model.empty()) refuse("it was made from no model file");
  if (!fs::exists(p.model, error)) refuse(fmt::format("its model '{}' is not there to compile it again", p.model));
}

std::string content_of(const fs::path& file) {
  const auto mapped = MappedFile::open(file);
  return hash_bytes(mapped->bytes().data(), mapped->bytes().size()).hex();
}

/// The plan without parameters that nothing reads; `tensors` shrinks with it.
ir::Plan without_unread_parameters(ir::Plan plan, std::vector<ir::Tensor>& tensors) {
  std::vector<ir::PlanValue> kept;
  std::vector<ir::Tensor> kept_tensors;
  for (size_t i = 0; i < plan.parameters.size(); ++i) {
    if (!plan.parameters[i].buffer.valid()) continue;
    for (ir::Buffer& b : plan.buffers)
      if (b.placement == ir::Placement::parameter && b.index == i) b.index = static_cast<uint32_t>(kept.size());
    kept.push_back(plan.parameters[i]);
    kept_tensors.push_back(tensors[i]);
  }
  plan.parameters = std::move(kept);
  tensors = std::move(kept_tensors);
  return plan;
}

}  // namespace

Session Session::load_onnx(const fs::path& model, SessionOptions options) {
  auto start = std::chrono::steady_clock::now();
  auto state = std::make_unique<State>(std::move(options));
  ir::Graph graph = import(model, state->options);
  state->given_dims = std::exchange(state->options.dims, {});  // the importer has bound them
  state->options.shapes.clear();
  state->set_graph(std::move(graph));
  state->model = fs::absolute(model).string();
  state->load_ms = ms_since(start);
  return Session(std::move(state));
}

Session Session::load_plan(const fs::path& file, SessionOptions options) {
  auto start = std::chrono::steady_clock::now();
  Provenance provenance;
  std::string reason;
  try {
    provenance = read_provenance(MappedFile::open(file)->bytes());
    reason = unusable_here(provenance);
    if (reason.empty()) {
      PlanFile plan_file = read_plan_file(file);
      auto state = std::make_unique<State>(options);
      int threads = state->options.compile_threads;
      SpecializationReport report;
      std::vector<ir::Tensor> parameters = load_parameters(plan_file, file, threads);
      state->load_ms = report.plan_ms = ms_since(start);
      start = std::chrono::steady_clock::now();
      auto executable = compile_kernels(std::make_shared<const ir::Plan>(std::move(plan_file.plan)), threads);
      report.kernels_ms = ms_since(start);
      start = std::chrono::steady_clock::now();
      auto bound = BoundPlan::bind(std::move(executable), std::move(parameters), threads, options.cache);
      report.bind_ms = ms_since(start);
      state->set_bound(std::move(bound), std::move(report));
      return Session(std::move(state));
    }
  } catch (const Error& e) {
    if (e.code() != ErrorCode::unsupported || provenance.weft.empty())
      throw e.where() == file.string() ? e : e.within(file.string());
    reason = e.what();  // another format, or a kernel that has changed
  }
  check_model_of(provenance, file, reason + "; ");
  log(LogLevel::warning, "{}: {}: compiling {} again", file.string(), reason, provenance.model);
  return load_onnx(provenance.model, recompile_options(provenance, std::move(options)));
}

Session Session::load_model_of(const fs::path& plan, SessionOptions options) {
  Provenance provenance;
  try {
    provenance = read_provenance(MappedFile::open(plan)->bytes());
  } catch (const Error& e) {
    throw e.where() == plan.string() ? e : e.within(plan.string());
  }
  check_model_of(provenance, plan, "");
  if (content_of(provenance.model) != provenance.model_hash)
    log(LogLevel::warning, "{}: {} has changed since", plan.string(), provenance.model);
  return load_onnx(provenance.model, recompile_options(provenance, std::move(options)));
}

Session Session::load(const fs::path& model, SessionOptions options) {
  std::string extension = model.extension().string();
  if (extension == ".weft") return load_plan(model, std::move(options));
  if (extension == ".onnx") return load_onnx(model, std::move(options));
  throw Error(ErrorCode::invalid_argument, "models end in .onnx or .weft", model.string());
}

void Session::save(const fs::path& file, const NamedShapes& shapes, bool embed_weights) const {
  const State& state = *state_;
  if (!state.graph)
    throw Error(ErrorCode::invalid_argument, "a session that was loaded from a plan file cannot be saved again",
                file.string());
  std::shared_ptr<const BoundPlan> bound = prepare(shapes);
  const ir::Plan& plan = bound->plan();
  Provenance p;
  p.weft = version();
  for (const auto* steps : {&plan.prologue, &plan.steps})
    for (const ir::Step& step : *steps) p.backends.emplace(step.backend, backends::backend(step.backend).version());
  p.cpu = cpu_model();
  p.rules = passes::rule_set_hash(state.targets, state.options.compile).hex();
  p.model = state.model;
  if (!p.model.empty()) p.model_hash = content_of(p.model);
  p.precision = passes::to_string(state.options.compile.precision);
  p.level = state.options.compile.level;
  p.threads = state.options.compile.threads;
  p.time_limit = state.options.compile.time_limit;
  p.skip = state.options.compile.skip;
  p.backend_names = state.options.backends;
  for (const ir::PlanValue& input : plan.inputs) p.shapes.emplace_back(input.name, to_ints(input.type.shape));
  for (const auto& [symbol, value] : state.given_dims) p.dims.emplace(symbol, value);
  for (const auto& [name, tensor] : state.options.binds) p.binds.push_back(name);
  std::vector<ir::Tensor> parameters;
  for (ir::NodeId id : state.graph->parameters()) parameters.push_back(state.graph->node(id).tensor);
  ir::Plan lean = without_unread_parameters(plan, parameters);
  write_plan_file(file, p, lean, parameters, embed_weights);
}

}  // namespace weft::runtime
