#include "runtime/session.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <list>
#include <mutex>

#include "backends/registry.hpp"
#include "ir/support/error.hpp"
#include "ir/support/log.hpp"
#include "runtime/session_state.hpp"
#include "runtime/threads.hpp"

namespace weft::runtime {
namespace {

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

std::vector<const ir::Target*> choose_targets(const std::vector<std::string>& names) {
  std::vector<const ir::Target*> targets;
  for (const std::string& name : names) targets.push_back(&backends::backend(name));
  if (names.empty())
    for (const backends::Backend* b : backends::registry())
      if (b->name() != "null") targets.push_back(b);
  return targets;
}

std::vector<NamedType> types_of(const std::vector<ir::PlanValue>& values) {
  std::vector<NamedType> types;
  for (const ir::PlanValue& v : values) types.push_back({v.name, v.type});
  return types;
}

/// The dimensions of all inputs in a row: what a specialization is found by.
std::vector<int64_t> shape_key(const NamedShapes& shapes) {
  std::vector<int64_t> key;
  for (const auto& [name, dims] : shapes) {
    key.push_back(-1 - static_cast<int64_t>(dims.size()));
    key.insert(key.end(), dims.begin(), dims.end());
  }
  return key;
}

}  // namespace

/// One compiled shape. Made under its own lock, so that compiling one shape holds up nobody who runs another.
struct Session::State::Entry {
  std::vector<int64_t> key;
  std::mutex making;
  std::atomic<bool> ready = false;
  std::shared_ptr<const BoundPlan> bound;  // set before `ready`
  SpecializationReport report;             // first_run_ms apart, set before `ready`
  std::atomic<double> first_run_ms = 0;
};

Session::State::State(SessionOptions given) : options(std::move(given)) {
  options.compile.threads = checked_threads(options.compile.threads);
  options.compile_threads =
      options.compile_threads == 0 ? options.compile.threads : checked_threads(options.compile_threads);
  if (options.specializations < 1) options.specializations = 1;
  targets = choose_targets(options.backends);
}

void Session::State::set_graph(ir::Graph given) {
  ir::DimBindings bindings = options.dims;
  for (const auto& [symbol, value] : ir::bind_shapes(given, options.shapes)) {
    auto [at, fresh] = bindings.emplace(symbol, value);
    if (at->second != value)
      fail(ErrorCode::invalid_argument, "dimension {} is given as {}, but the input shapes make it {}", symbol,
           at->second, value);
  }
  if (!bindings.empty()) given = ir::specialize(given, bindings);
  graph = std::make_unique<ir::Graph>(std::move(given));
  for (ir::NodeId id : graph->inputs()) inputs.push_back({graph->node(id).name, graph->node(id).types[0]});
  for (const ir::Output& output : graph->outputs()) outputs.push_back({output.name, graph->type(output.value)});
  is_static = graph->is_static();
}

void Session::State::set_bound(std::shared_ptr<const BoundPlan> bound, SpecializationReport report) {
  inputs = types_of(bound->plan().inputs);
  outputs = types_of(bound->plan().outputs);
  is_static = true;
  auto entry = std::make_shared<Entry>();
  report.peak_bytes = bound->peak_bytes();
  entry->bound = std::move(bound);
  entry->report = std::move(report);
  entry->ready = true;
  entries.push_back(entry);
}

/// Shapes of all inputs in their order: those given by name, the declared ones for the rest.
NamedShapes Session::State::complete_shapes(const NamedShapes& given) const {
  NamedShapes shapes;
  for (const NamedType& input : inputs) {
    auto found = std::find_if(given.begin(), given.end(), [&](const auto& s) { return s.first == input.name; });
    if (found != given.end())
      shapes.push_back(*found);
    else if (ir::is_static(input.type.shape))
      shapes.emplace_back(input.name, to_ints(input.type.shape));
    else
      throw Error(ErrorCode::invalid_argument, fmt::format("no shape given for {}", to_string(input.type)),
                  fmt::format("input '{}'", input.name));
  }
  for (const auto& [name, dims] : given)
    if (std::none_of(inputs.begin(), inputs.end(),
                     [&, n = std::string_view(name)](const NamedType& t) { return t.name == n; }))
      throw Error(ErrorCode::invalid_argument, "the model has no such input", fmt::format("input '{}'", name));
  return shapes;
}

std::shared_ptr<Session::State::Entry> Session::State::entry_for(const NamedShapes& shapes) {
  std::vector<int64_t> key = is_static ? std::vector<int64_t>() : shape_key(shapes);
  std::lock_guard lock(mutex);
  auto found = std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e->key == key; });
  if (found != entries.end()) {
    entries.splice(entries.end(), entries, found);
    return entries.back();
  }
  auto entry = std::make_shared<Entry>();
  entry->key = std::move(key);
  entries.push_back(entry);
  if (entries.size() > options.specializations) entries.pop_front();
  return entry;
}

/// Plan from the cache or the optimizer, kernels, weights.
void Session::State::make(Entry& entry, const NamedShapes& shapes) {
  SpecializationReport& report = entry.report;
  report.shapes = shapes;
  const ir::Graph* source = graph.get();
  ir::Graph specialized;
  if (!is_static) {
    specialized = ir::specialize(*graph, ir::bind_shapes(*graph, shapes));
    source = &specialized;
    if (!source->is_static())
      fail(ErrorCode::invalid_argument, "graph '{}' has dimensions that no input shape tells: give them by name",
           source->name());
  }
  auto start = std::chrono::steady_clock::now();
  std::shared_ptr<const ir::Plan> plan = find_or_compile(*source, report, options.cache.refresh);
  report.plan_ms = ms_since(start);
  start = std::chrono::steady_clock::now();
  std::shared_ptr<const Executable> executable;
  try {
    executable = compile_kernels(plan, options.compile_threads);
  } catch (const Error& e) {
    if (report.cache != CacheOutcome::memory && report.cache != CacheOutcome::disk) throw;
    log(LogLevel::warning, "plan cache: the cached plan of '{}' cannot be used, recompiling: {}", source->name(),
        e.what());
    executable = compile_kernels(find_or_compile(*source, report, true), options.compile_threads);
  }
  report.kernels_ms = ms_since(start);
  start = std::chrono::steady_clock::now();
  std::vector<ir::Tensor> parameters;
  for (ir::NodeId id : source->parameters()) parameters.push_back(source->node(id).tensor);
  entry.bound = BoundPlan::bind(std::move(executable), std::move(parameters), options.compile_threads, options.cache);
  report.bind_ms = ms_since(start);
  report.peak_bytes = entry.bound->peak_bytes();
}

std::shared_ptr<const ir::Plan> Session::State::find_or_compile(const ir::Graph& source, SpecializationReport& report,
                                                                bool refresh) {
  const passes::Options& compile = options.compile;
  if (!options.cache.memory && !options.cache.disk) return compile_fresh(source, report, nullptr);
  PlanKey key = plan_key(source, targets, compile);
  bool observed = !compile.print_after.empty() || !compile.dump_dir.empty() || !compile.stop_after.empty() ||
                  refresh;  // wants the passes to run
  if (!observed) {
    PlanCache::Found found = PlanCache(options.cache).find(key);
    report.cache = found.outcome;
    try {
      if (found.plan) return std::make_shared<const ir::Plan>(plan_for_graph(*found.plan, source));
    } catch (const Error& e) {
      log(LogLevel::warning, "plan cache: the cached plan of '{}' cannot be used, recompiling: {}", source.name(),
          e.what());
    }
  }
  report.cache = CacheOutcome::miss;
  return compile_fresh(source, report, compile.stop_after.empty() ? &key : nullptr);
}

std::shared_ptr<const ir::Plan> Session::State::compile_fresh(const ir::Graph& source, SpecializationReport& report,
                                                              const PlanKey* store_as) {
  passes::CompileResult result = passes::compile(source, targets, options.compile);
  report.compile = std::move(result.report);
  auto canonical = std::make_shared<const ir::Plan>(canonical_plan(result.plan, source));
  if (store_as) PlanCache(options.cache).store(*store_as, canonical);
  return std::make_shared<const ir::Plan>(plan_for_graph(*canonical, source));
}

std::shared_ptr<Session::State::Entry> Session::State::prepare(const NamedShapes& shapes) {
  std::shared_ptr<Entry> entry = entry_for(shapes);
  if (entry->ready.load(std::memory_order_acquire)) return entry;
  std::lock_guard lock(entry->making);
  if (!entry->ready) {
    try {
      make(*entry, shapes);
    } catch (...) {
      std::lock_guard all(mutex);
      entries.remove(entry);  // the next run tries again
      throw;
    }
    if (options.memory_limit > 0 && entry->report.peak_bytes > options.memory_limit)
      log(LogLevel::info, "a run takes {} bytes, {} are allowed", entry->report.peak_bytes, options.memory_limit);
    entry->ready.store(true, std::memory_order_release);
  }
  return entry;
}

ir::NamedTensors Session::State::run(const ir::NamedTensors& given, const ir::NamedTensors& results) {
  NamedShapes shapes;
  if (!is_static)
    for (const NamedType& input : inputs) {
      auto found = given.find(input.name);
      if (found == given.end())
        throw Error(ErrorCode::invalid_argument, fmt::format("missing, expected {}", to_string(input.type)),
                    fmt::format("input '{}'", input.name));
      if (!found->second.defined())
        throw Error(ErrorCode::invalid_argument, "no tensor given", fmt::format("input '{}'", input.name));
      shapes.emplace_back(input.name, to_ints(found->second.shape()));
    }
  std::shared_ptr<Entry> entry = prepare(shapes);
  if (options.memory_limit > 0 && entry->bound->peak_bytes() > options.memory_limit)
    fail(ErrorCode::limit, "a run takes {} bytes for its arena and outputs, {} are allowed", entry->bound->peak_bytes(),
         options.memory_limit);
  if (entry->first_run_ms.load(std::memory_order_relaxed) != 0) return entry->bound->run(given, results);
  auto start = std::chrono::steady_clock::now();
  ir::NamedTensors outputs_by_name = entry->bound->run(given, results);
  double expected = 0;
  entry->first_run_ms.compare_exchange_strong(expected, ms_since(start));
  return outputs_by_name;
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(ir::Graph graph, SessionOptions options) : state_(std::make_unique<State>(std::move(options))) {
  if (!state_->options.binds.empty()) graph = with_inputs_bound(graph, state_->options.binds);
  state_->set_graph(std::move(graph));
}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

const std::vector<NamedType>& Session::inputs() const { return state_->inputs; }
const std::vector<NamedType>& Session::outputs() const { return state_->outputs; }
const ir::Graph* Session::graph() const { return state_->graph.get(); }
const SessionOptions& Session::options() const { return state_->options; }
std::span<const ir::Target* const> Session::targets() const { return state_->targets; }

ir::NamedTensors Session::run(const ir::NamedTensors& inputs) const { return state_->run(inputs, {}); }
ir::NamedTensors Session::run(const ir::NamedTensors& inputs, const ir::NamedTensors& outputs) const {
  return state_->run(inputs, outputs);
}

std::shared_ptr<const BoundPlan> Session::prepare(const NamedShapes& shapes) const {
  if (!state_->is_static) return state_->prepare(state_->complete_shapes(shapes))->bound;
  for (const auto& [name, dims] : state_->complete_shapes(shapes))
    for (const NamedType& input : state_->inputs)
      if (input.name == name && ir::to_shape(dims) != input.type.shape)
        throw Error(ErrorCode::type_mismatch,
                    fmt::format("shape {} given, {} expected", to_string(ir::to_shape(dims)), to_string(input.type)),
                    fmt::format("input '{}'", name));
  return state_->prepare({})->bound;
}
int64_t Session::peak_bytes(const NamedShapes& shapes) const { return prepare(shapes)->peak_bytes(); }

SessionReport Session::report() const {
  SessionReport report;
  report.load_ms = state_->load_ms;
  std::lock_guard lock(state_->mutex);
  for (const auto& entry : state_->entries) {
    if (!entry->ready.load(std::memory_order_acquire)) continue;
    report.specializations.push_back(entry->report);
    report.specializations.back().first_run_ms = entry->first_run_ms;
  }
  return report;
}

}  // namespace weft::runtime
