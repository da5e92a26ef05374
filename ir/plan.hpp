#pragma once
// An ordered, placed graph: what passes give and backends take. Static shapes; one arena for everything that lives and
// dies in a run.
#include <cstdint>
#include <string>
#include <vector>

#include "ir/program.hpp"
#include "ir/support/ids.hpp"
#include "ir/target.hpp"

namespace weft::ir {

using BufferId = Id<struct BufferTag>;

/// Where the bytes of a buffer are.
enum class Placement : uint8_t {
  input,      ///< the caller's tensor number `index`
  parameter,  ///< the graph's parameter number `index` (mapped weights)
  constant,   ///< plan.constants[index]
  bound,      ///< computed by the prologue when parameters are bound, kept with them
  arena,      ///< at `offset` of the arena of a run
  output      ///< the caller's output tensor number `index`
};

/// Storage of one value, row-major. A reshape is no step: the same buffer is read under another shape.
struct Buffer {
  Placement placement = Placement::arena;
  DType dtype = DType::f32;
  int64_t bytes = 0;
  int64_t offset = 0;  ///< of arena buffers
  uint32_t index = 0;
};

/// One kernel launch.
struct Step {
  std::string backend, kernel;  ///< who runs it
  ProgramRef program;           ///< what it computes
  std::vector<BufferId> inputs, outputs;
  std::vector<OperandKind> operands;  ///< `parameter` = fixed when parameters are bound: may be packed once
  KernelResources resources;
  int64_t scratch_offset = 0;  ///< in the arena; parts * scratch_bytes, 64-byte aligned a part
  uint64_t nanoseconds = 0;    ///< estimated
  std::string source;          ///< provenance: names of the user's nodes that it computes
};

struct PlanValue {
  std::string name;
  TensorType type;
  BufferId buffer;
};

struct PlanStats {
  int64_t graph_nodes = 0, egraph_nodes = 0, egraph_classes = 0, steps = 0;
  uint64_t cost = 0, lower_bound = 0;
  bool proven = false;            ///< nothing is cheaper among plans that treat equal layers alike (passes/roll.hpp)
  int64_t arena_lower_bound = 0;  ///< bytes: largest sum of simultaneously live buffers under this schedule
};

struct Plan {
  std::string graph_name;
  std::vector<Buffer> buffers;
  std::vector<PlanValue> inputs, outputs, parameters;  ///< parameters in the order of the graph's
  std::vector<Tensor> constants;
  std::vector<Step> prologue;  ///< run once when parameters are bound
  std::vector<Step> steps;
  /// Outputs that are no step's result: copies of another buffer (an input, parameter, constant or another output).
  std::vector<std::pair<BufferId, BufferId>> copies;  ///< (from, to)
  int64_t arena_bytes = 0;
  int threads = 1;
  bool contract = false;  ///< of every step's KernelRequest
  PlanStats stats;
};

}  // namespace weft::ir
