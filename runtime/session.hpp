#pragma once
// A model that runs: it is loaded once, compiles itself for the shapes that come (from the plan cache where it can),
// and runs from any number of threads.
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/eval.hpp"
#include "passes/pipeline.hpp"
#include "runtime/bound_plan.hpp"
#include "runtime/plan_cache.hpp"

namespace weft::runtime {

using NamedShapes = std::vector<std::pair<std::string, std::vector<int64_t>>>;

struct SessionOptions {
  passes::Options compile;            ///< level, precision, threads (0 = default_threads()), limits, dumps
  int compile_threads = 0;            ///< kernels compiled and weights packed at once; 0 = as compile.threads
  std::vector<std::string> backends;  ///< in order of preference; empty = all of this build but `null`
  NamedShapes shapes;                 ///< static shapes of inputs; the others keep their symbols
  ir::DimBindings dims;               ///< values of symbolic dimensions, by name
  ir::NamedTensors binds;             ///< inputs fixed to a value: they become constants of the model
  CacheOptions cache;
  size_t specializations = 16;  ///< compiled shapes kept of a symbolic model; the least recently used one goes
  int64_t memory_limit = 0;     ///< bytes that arena and outputs of one run may take; 0 = no limit
};

/// What happened to one compiled shape.
struct SpecializationReport {
  NamedShapes shapes;
  CacheOutcome cache = CacheOutcome::off;
  double plan_ms = 0;       ///< the optimizer, or reading the plan from the cache
  double kernels_ms = 0;    ///< compiling kernels
  double bind_ms = 0;       ///< prologue and packing of weights
  double first_run_ms = 0;  ///< 0 until it has run
  int64_t peak_bytes = 0;
  passes::CompileReport compile;  ///< empty where the plan came from a cache
};
struct SessionReport {
  double load_ms = 0;                                 ///< reading and importing the model
  std::vector<SpecializationReport> specializations;  ///< those still kept, oldest first
};

/// Thread-safe: run() and all queries may be called from several threads at once. Movable. Everything throws Error.
class Session {
 public:
  /// Loads a model by its extension: .onnx, or .weft (a compiled plan; where it was made on another machine or by
  /// another version it is recompiled when it holds its model's path, with one log line saying why).
  static Session load(const std::filesystem::path& model, SessionOptions options = {});
  /// The model that a .weft file was made from, to be compiled with the options it was compiled with (of `options`,
  /// those count that change no plan). Throws Error where it is not there; a changed one is a warning.
  static Session load_model_of(const std::filesystem::path& plan, SessionOptions options = {});
  explicit Session(ir::Graph graph, SessionOptions options = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Writes the compiled form for these shapes as a .weft file. Weights stay in the model file unless `embed_weights`
  /// (or where they are in no file).
  void save(const std::filesystem::path& file, const NamedShapes& shapes = {}, bool embed_weights = false) const;

  const std::vector<NamedType>& inputs() const;  ///< types may have symbolic dimensions
  const std::vector<NamedType>& outputs() const;
  /// Null where the session runs a .weft file that needed no recompiling.
  const ir::Graph* graph() const;
  /// With thread counts resolved.
  const SessionOptions& options() const;
  std::span<const ir::Target* const> targets() const;  ///< the backends in use, in order of preference

  /// Runs on tensors by name and returns fresh outputs by name. The first run of a new set of shapes compiles.
  ir::NamedTensors run(const ir::NamedTensors& inputs) const;
  /// As above into the caller's tensors: `outputs` may name some or all outputs, of the right type; the others are
  /// fresh.
  ir::NamedTensors run(const ir::NamedTensors& inputs, const ir::NamedTensors& outputs) const;

  /// The compiled form for these input shapes (none needed where the model is static); compiles it where it is not
  /// there.
  std::shared_ptr<const BoundPlan> prepare(const NamedShapes& shapes = {}) const;
  /// Bytes of arena and outputs that one run takes, known before it.
  int64_t peak_bytes(const NamedShapes& shapes = {}) const;
  SessionReport report() const;

 private:
  struct State;
  static Session load_onnx(const std::filesystem::path& model, SessionOptions options);
  static Session load_plan(const std::filesystem::path& file, SessionOptions options);
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace weft::runtime
