#pragma once
// A compiled model in one file (.weft): where it comes from, the plan, and where its weights are.
//   container WEFTFILE: provenance as JSON (readable by every version)
//   container WEFTPLAN: plan, parameter table
//   padding to 64 bytes, embedded weights
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/plan.hpp"

namespace weft::runtime {

/// What a plan was made from and for. Enough to make it again, and to say why it cannot run here.
struct Provenance {
  std::string weft;  ///< version
  std::map<std::string, std::string>
      backends;                   ///< those that run steps of the plan: name -> version with libraries and CPU
  std::string cpu;                ///< model name, for people
  std::string rules;              ///< hash of the rule set
  std::string model, model_hash;  ///< absolute path and content hash of the source; empty where there is none
  std::string precision;
  int level = 2, threads = 1;
  double time_limit = 0;
  std::vector<std::string> skip, backend_names;
  std::vector<std::pair<std::string, std::vector<int64_t>>> shapes;
  std::map<std::string, int64_t> dims;
  std::vector<std::string> binds;  ///< names of inputs that were fixed to a value
};

struct ParameterSource {
  std::string name;
  ir::TensorType type;
  Hash128 content;
  std::string file;     ///< empty = embedded in the plan file
  uint64_t offset = 0;  ///< in `file`, or from the start of the embedded weights
};

struct PlanFile {
  Provenance provenance;
  ir::Plan plan;
  std::vector<ParameterSource> parameters;  ///< in the order of plan.parameters
};

/// Writes atomically. Weights that are mapped from files stay there (by path, offset and content hash) unless
/// `embed_weights`; all others are embedded.
void write_plan_file(const std::filesystem::path& file, const Provenance& provenance, const ir::Plan& plan,
                     const std::vector<ir::Tensor>& parameters, bool embed_weights);

/// Only the provenance. Throws Error(parse) telling "not a plan file", "cut short" and "damaged" apart.
Provenance read_provenance(std::string_view bytes);
/// All of it from the bytes of a file, fully checked. Throws Error(unsupported) for another format version.
PlanFile parse_plan_file(std::string_view bytes);
PlanFile read_plan_file(const std::filesystem::path& file);

/// Why a plan of this provenance cannot run in this process ("made for ..., here is ..."); empty where it can.
std::string unusable_here(const Provenance& provenance);
/// The weights, mapped, in the order of plan.parameters; each is compared with its content hash. Throws Error.
std::vector<ir::Tensor> load_parameters(const PlanFile& plan_file, const std::filesystem::path& file, int threads);

}  // namespace weft::runtime
