// Files that are read by their path: .npz, .pb and packed weights. The first byte says which (3: the table of packed
// weights in a sound envelope, whose checksum keeps damage out otherwise); any bytes are tensors, images, or an Error.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>

#include "ir/support/error.hpp"
#include "runtime/container.hpp"
#include "runtime/packed_store.hpp"
#include "runtime/tensor_io.hpp"

namespace {

using namespace weft;
namespace fs = std::filesystem;

/// A folder of this process, in memory where that is to be had.
fs::path folder() {
  const fs::path base = fs::is_directory("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path();
  fs::path made = base / ("weft_files_fuzz_" + std::to_string(getpid()));
  fs::create_directories(made);
  return made;
}

struct Folder {
  fs::path path = folder();
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

void read(char kind, std::span<const char> bytes) {
  static const Folder folder;
  const char* names[] = {"t.npz", "t.pb", "w.packed", "w.packed"};
  const int which = static_cast<unsigned char>(kind) % 4;
  const fs::path file = folder.path / names[which];
  const std::string_view body(bytes.data(), bytes.size());
  std::ofstream out(file, std::ios::binary);
  if (which == 3)
    out << runtime::container_header("WEFTPACK", 1, body) << body << std::string(256, '\0');
  else
    out << body;
  out.close();
  try {
    if (file.extension() == ".packed")
      runtime::PackedFile::open(file);
    else
      runtime::load_tensors(file);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::internal) return;
    std::fprintf(stderr, "%s\n", e.what());
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::span<const char> bytes(reinterpret_cast<const char*>(data), size);
  read(bytes[0], bytes.subspan(1));
  return 0;
}
