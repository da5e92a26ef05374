#pragma once
// A model of the list as tests take it: imported for the shapes of its first case.
#include <cstdlib>
#include <optional>
#include <string>

#include "ir/import/onnx.hpp"
#include "tests/catch.hpp"
#include "tests/models/model_list.hpp"

namespace weft::models {

/// Nothing, and a warning, where the model's file is not there; a failure where $WEFT_REQUIRE_MODELS asks for it.
inline std::optional<ir::Graph> imported(const std::string& name) {
  const Model& model = find_model(name);
  std::string reason;
  if (!model_available(model, &reason)) {
    if (std::getenv("WEFT_REQUIRE_MODELS")) FAIL(reason);
    WARN("skipped: " << reason);
    return std::nullopt;
  }
  ir::OnnxOptions options;
  for (const ModelInput& input : model.cases[0].inputs)
    options.shapes.emplace_back(input.name, ir::to_ints(input.type.shape));
  return ir::import_onnx(model_path(model), options);
}

}  // namespace weft::models
