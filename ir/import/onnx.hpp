#pragma once
// ONNX models (opset 1 to 25, IR version 3 and later) as graphs.
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/eval.hpp"
#include "ir/graph.hpp"

namespace weft::ir {

struct OnnxOptions {
  /// Shapes of inputs by name; bind the symbolic dimensions that they meet.
  std::vector<std::pair<std::string, std::vector<int64_t>>> shapes = {};
  /// Values of named dimensions (`dim_param`, or `<input>_<axis>` of a dimension without a name).
  DimBindings dims = {};
  /// Inputs that become constants: they are no longer inputs of the graph. Also overrides an initializer.
  NamedTensors binds = {};
};

/// Reads a model file. External data is read from files inside the model's own directory only; large ones stay mapped.
/// Symbolic dimensions stay symbolic where the options do not bind them. An initializer that is also an input is a
/// parameter. Two outputs of one name: the later ones get `_1`, `_2`... so that positions are kept.
/// Throws Error: io/not_found (file), parse (malformed model, broken SSA, cycle), unsupported (every unsupported op in
/// one message), type_mismatch, invalid_argument (options), limit.
Graph import_onnx(const std::filesystem::path& path, const OnnxOptions& options = {});

/// The same from memory. `base_dir` is where external data may stand; empty refuses it.
Graph import_onnx_bytes(std::span<const std::byte> bytes, const OnnxOptions& options = {},
                        const std::filesystem::path& base_dir = {});

/// A serialized TensorProto (the `.pb` files of the ONNX test data) and its name.
std::pair<std::string, Tensor> read_onnx_tensor(const std::filesystem::path& path);

/// One op that the importer spells in the IR.
struct OnnxOpSupport {
  std::string_view domain;  ///< "" is ai.onnx
  std::string_view name;
};
/// All of them, sorted by domain and name.
std::vector<OnnxOpSupport> onnx_ops();

}  // namespace weft::ir
