#pragma once
// A parsed model file and its tensors' bytes.
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/tensor.hpp"

namespace weft::ir::onnx_import {

/// The newest opset of the default domain whose ops are known here.
inline constexpr int64_t kNewestOpset = 25;

/// A file mapped read-only for as long as a shared pointer to it lives.
class MappedFile {
 public:
  /// Regular files only; never blocks. Throws Error(not_found, io).
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  MappedFile(const void* data, size_t size) : data_(data), size_(size) {}
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }

 private:
  const void* data_;
  size_t size_;
};

struct Model {
  std::shared_ptr<const ::onnx::ModelProto> proto;
  std::map<std::string, int64_t, std::less<>> opsets;  ///< by domain; "ai.onnx" is ""
};

/// Parses and checks the header (IR version, opsets). Throws Error(parse, unsupported, limit).
Model parse_model(std::span<const std::byte> bytes);

/// Version of a domain ("" for the default one) among the imports of the model or of a function.
using Opsets = std::map<std::string, int64_t, std::less<>>;
Opsets read_opsets(const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>& imports);
/// "ai.onnx" and "" name one domain.
std::string canonical_domain(const std::string& domain);

/// The dtype of a TensorProto::DataType; throws Error(unsupported) naming it.
DType dtype_of(int32_t data_type);
std::optional<DType> try_dtype_of(int32_t data_type);

/// Tensors of a model: views into the parsed message or into mapped external files wherever the bytes can be used as
/// they are.
class TensorReader {
 public:
  /// `owner` keeps the messages alive; `base_dir` may be empty (no external data).
  TensorReader(std::shared_ptr<const void> owner, std::filesystem::path base_dir)
      : owner_(std::move(owner)), base_dir_(std::move(base_dir)) {}
  /// Throws Error(parse) naming dims, dtype and both byte counts where the payload does not fit.
  Tensor read(const ::onnx::TensorProto& proto);
  Tensor read(const ::onnx::SparseTensorProto& proto);

 private:
  Tensor read_external(const ::onnx::TensorProto& proto, TensorType type);
  std::shared_ptr<const MappedFile> open_external(const std::string& location);
  std::shared_ptr<const void> owner_;
  std::filesystem::path base_dir_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

}  // namespace weft::ir::onnx_import
