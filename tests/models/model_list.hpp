#pragma once
// The models of the end-to-end tests and benches: file, inputs and shapes, in one table.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ir/eval.hpp"

namespace weft::models {

/// One input of a case: elements are drawn evenly from [low, high); integers likewise, so ids use {0, vocabulary}.
struct ModelInput {
  std::string name;
  ir::TensorType type;
  double low = -1, high = 1;
};

/// One set of input shapes.
struct ModelCase {
  std::string label;  ///< "320x320"
  std::vector<ModelInput> inputs;
};

struct Model {
  std::string name;
  std::string file;              ///< under models_folder()
  std::vector<ModelCase> cases;  ///< the first is the one that is timed
  bool tiny = false;             ///< made in a moment and quick to run on the reference backend
};

/// Every model, real ones first.
const std::vector<Model>& all_models();
/// Throws Error(not_found) listing the known names.
const Model& find_model(std::string_view name);

/// $WEFT_MODELS, or the folder of the build that tools/scripts/fetch_models.sh fills.
std::filesystem::path models_folder();
std::filesystem::path model_path(const Model& model);
/// False where the file was not fetched or made; `reason` then says what to run.
bool model_available(const Model& model, std::string* reason = nullptr);

/// The same seed gives the same bits on every machine. Floats are multiples of 2^-24 of the range: never denormal.
ir::NamedTensors random_inputs(const ModelCase& model_case, uint64_t seed);

}  // namespace weft::models
