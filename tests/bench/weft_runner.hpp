#pragma once
// weft as one more engine of the model benches.
#include <filesystem>
#include <memory>

#include "tests/bench/runner.hpp"
#include "tests/models/model_list.hpp"

namespace weft::bench {

/// Loads and compiles the model for the shapes of `model_case`; no plan cache.
std::unique_ptr<Runner> load_weft(const std::filesystem::path& model, const models::ModelCase& model_case, int threads);

}  // namespace weft::bench
