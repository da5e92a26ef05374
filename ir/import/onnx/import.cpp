// The public functions of ir/import/onnx.hpp.
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "ir/import/onnx.hpp"
#include "ir/import/onnx/handlers.hpp"
#include "ir/import/onnx/lower.hpp"
#include "ir/import/onnx/model.hpp"
#include "ir/support/error.hpp"

namespace weft::ir {

namespace fs = std::filesystem;

Graph import_onnx_bytes(std::span<const std::byte> bytes, const OnnxOptions& options, const fs::path& base_dir) {
  onnx_import::Model model = onnx_import::parse_model(bytes);
  return onnx_import::Lowering(model, options, base_dir).run();
}

Graph import_onnx(const fs::path& path, const OnnxOptions& options) try {
  onnx_import::Model model = onnx_import::parse_model(onnx_import::MappedFile::open(path)->bytes());
  fs::path base = path.parent_path();
  return onnx_import::Lowering(model, options, base.empty() ? "." : base).run();
} catch (const Error& e) {
  throw e.within(path.string());
}

std::pair<std::string, Tensor> read_onnx_tensor(const fs::path& path) try {
  auto file = onnx_import::MappedFile::open(path);
  auto proto = std::make_shared<::onnx::TensorProto>();
  if (file->bytes().size() > static_cast<size_t>(std::numeric_limits<int>::max()) ||
      !proto->ParseFromArray(file->bytes().data(), static_cast<int>(file->bytes().size())))
    fail(ErrorCode::parse, "not a serialized TensorProto");
  fs::path base = path.parent_path();
  onnx_import::TensorReader reader(proto, base.empty() ? "." : base);
  return {proto->name(), reader.read(*proto)};
} catch (const Error& e) {
  throw e.within(path.string());
}

std::vector<OnnxOpSupport> onnx_ops() {
  std::vector<OnnxOpSupport> out{{"", "If"}};
  for (const auto& row : onnx_import::all_onnx_ops()) out.push_back({row.domain, row.name});
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return std::tie(a.domain, a.name) < std::tie(b.domain, b.name); });
  return out;
}

}  // namespace weft::ir
