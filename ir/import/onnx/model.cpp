// Reading the file: mapping, protobuf, header.
#include "ir/import/onnx/model.hpp"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "ir/import/onnx/wire.hpp"
#include "ir/support/error.hpp"

namespace weft::ir::onnx_import {

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a FIFO without a writer must not wait for one.
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    int error = errno;
    fail(error == ENOENT || error == ENOTDIR ? ErrorCode::not_found : ErrorCode::io, "cannot open '{}': {}",
         path.string(), std::strerror(error));
  }
  struct Closer {
    int fd;
    ~Closer() { ::close(fd); }
  } closer{fd};
  struct stat info {};
  if (::fstat(fd, &info) != 0) fail(ErrorCode::io, "cannot stat '{}': {}", path.string(), std::strerror(errno));
  if (S_ISDIR(info.st_mode)) fail(ErrorCode::io, "'{}' is a directory, expected a file", path.string());
  if (!S_ISREG(info.st_mode)) fail(ErrorCode::io, "'{}' is not a regular file", path.string());
  size_t size = static_cast<size_t>(info.st_size);
  if (size == 0) return std::make_shared<MappedFile>(nullptr, 0);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) fail(ErrorCode::io, "cannot map '{}': {}", path.string(), std::strerror(errno));
  return std::make_shared<MappedFile>(data, size);
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<void*>(data_), size_);
}

std::string canonical_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

Opsets read_opsets(const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>& imports) {
  Opsets opsets;
  for (const auto& import : imports) {
    std::string domain = canonical_domain(import.domain());
    if (import.version() < 1)
      fail(ErrorCode::parse, "opset_import of domain '{}' has version {}, expected 1 or more", domain,
           import.version());
    if (domain.empty() && import.version() > kNewestOpset)
      fail(ErrorCode::unsupported, "opset {} of ai.onnx is not known; the newest supported one is {}", import.version(),
           kNewestOpset);
    auto [it, fresh] = opsets.emplace(domain, import.version());
    if (!fresh && it->second != import.version())
      fail(ErrorCode::parse, "opset_import names domain '{}' twice, with versions {} and {}", domain, it->second,
           import.version());
  }
  return opsets;
}

Model parse_model(std::span<const std::byte> bytes) {
  if (bytes.empty()) fail(ErrorCode::parse, "the model is empty (0 bytes)");
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max()))
    fail(ErrorCode::limit, "the model has {} bytes; a protobuf message ends at 2 GiB (keep weights as external data)",
         bytes.size());
  check_wire(bytes);
  auto proto = std::make_shared<::onnx::ModelProto>();
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kMaxDepth + 1);
  if (!proto->ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage())
    fail(ErrorCode::parse, "not an ONNX model: the protobuf message of {} bytes is malformed", bytes.size());
  Model model;
  if (!proto->has_graph())
    fail(ErrorCode::parse, "not an ONNX model: no graph in the message of {} bytes", bytes.size());
  if (proto->has_ir_version() && proto->ir_version() < 1)
    fail(ErrorCode::parse, "IR version {} in the model, expected 1 or more", proto->ir_version());
  model.opsets = read_opsets(proto->opset_import());
  // Files of IR version 1 and 2 came before opset_import and mean opset 1.
  if (model.opsets.empty() && proto->has_ir_version() && proto->ir_version() < 3) model.opsets[""] = 1;
  if (model.opsets.empty())
    fail(ErrorCode::parse, "the model has no opset_import, so the meaning of its ops is unknown (IR version {})",
         proto->ir_version());
  model.proto = std::move(proto);
  return model;
}

}  // namespace weft::ir::onnx_import
