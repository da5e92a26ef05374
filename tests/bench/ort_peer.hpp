#pragma once
// ONNX Runtime as a peer and as an oracle: its shared library is loaded at run time and spoken to through its C API.
#include <filesystem>
#include <memory>
#include <string>

#include "tests/bench/runner.hpp"

namespace weft::bench {

struct OrtOptions {
  int threads = 1;
  int optimization_level = 99;            ///< 0 none, 1 basic, 2 extended, 99 all (its default)
  std::filesystem::path optimized_model;  ///< where the optimized model is written, empty for nowhere
};

/// The library beside the fetched models, or what $WEFT_ORT_LIBRARY names.
std::filesystem::path ort_library_path();
/// False where the library was not fetched; `reason` then says what to run.
bool ort_available(std::string* reason = nullptr);

/// Loads a model; throws Error(not_found) without the library, and Error(invalid_argument) with ONNX Runtime's own
/// words where it refuses the model.
std::unique_ptr<Runner> load_ort(const std::filesystem::path& model, const OrtOptions& options = {});

}  // namespace weft::bench
