#include "tests/models/npz_writer.hpp"

#include <fmt/ranges.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "ir/support/error.hpp"

namespace weft::models {
namespace {

std::string numpy_dtype(ir::DType dtype) {
  if (dtype == ir::DType::bf16) fail(ErrorCode::unsupported, "numpy has no bf16");
  if (dtype == ir::DType::boolean) return "|b1";
  char kind = ir::is_float(dtype) ? 'f' : ir::is_signed(dtype) ? 'i' : 'u';
  return fmt::format("{}{}{}", ir::size_of(dtype) == 1 ? '|' : '<', kind, ir::size_of(dtype));
}

std::string npy_bytes(const ir::Tensor& tensor) {
  std::vector<int64_t> dims = ir::to_ints(tensor.shape());
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", numpy_dtype(tensor.dtype()),
                                   fmt::join(dims, ", "), dims.size() == 1 ? "," : "");
  constexpr size_t kPreamble = 10, kAlign = 64;
  header.append(kAlign - (kPreamble + header.size() + 1) % kAlign, ' ').push_back('\n');
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes.push_back(static_cast<char>(header.size() & 0xff));
  bytes.push_back(static_cast<char>(header.size() >> 8));
  bytes += header;
  return bytes.append(static_cast<const char*>(tensor.data()), tensor.bytes());
}

void put(std::string& to, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to.push_back(static_cast<char>(value >> (8 * i)));
}

/// The fields that a zip's local header and its directory entry share (APPNOTE.TXT 4.3.7 and 4.3.12).
std::string shared_fields(const std::string& name, const std::string& content) {
  if (content.size() >= 0xffffffffu) fail(ErrorCode::limit, "'{}' has {} bytes; this writer stops at 4 GiB", name, content.size());
  std::string fields;
  put(fields, 20, 2);         // version needed
  put(fields, 0x0800, 2);     // names are UTF-8
  put(fields, 0, 2);          // stored
  put(fields, 0x00210000, 4); // 1980-01-01
  put(fields, crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()), 4);
  put(fields, content.size(), 4);
  put(fields, content.size(), 4);
  put(fields, name.size(), 2);
  put(fields, 0, 2);
  return fields;
}

}  // namespace

void write_npz(const std::filesystem::path& path, const ir::NamedTensors& tensors) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  std::string directory;
  uint64_t offset = 0;
  for (const auto& [key, tensor] : tensors) {
    std::string name = key + ".npy", content = npy_bytes(tensor), fields = shared_fields(name, content);
    std::string local;
    put(local, 0x04034b50, 4);
    local += fields + name;
    put(directory, 0x02014b50, 4);
    put(directory, 20, 2);
    directory += fields;
    put(directory, 0, 2 + 2 + 2 + 4);  // comment, disk, attributes
    put(directory, offset, 4);
    directory += name;
    offset += local.size() + content.size();
    if (offset >= 0xffffffffu) fail(ErrorCode::limit, "{} would pass 4 GiB", path.string());
    file << local << content;
  }
  std::string end;
  put(end, 0x06054b50, 4);
  put(end, 0, 4);
  put(end, tensors.size(), 2);
  put(end, tensors.size(), 2);
  put(end, directory.size(), 4);
  put(end, offset, 4);
  put(end, 0, 2);
  file << directory << end;
  file.close();
  if (!file) fail(ErrorCode::io, "cannot write {}: {}", path.string(), std::strerror(errno));
}

}  // namespace weft::models
