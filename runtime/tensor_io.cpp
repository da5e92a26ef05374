#include "runtime/tensor_io.hpp"

#include <zip.h>

#include <algorithm>
#include <memory>

#include "ir/import/onnx.hpp"
#include "ir/support/error.hpp"
#include "runtime/container.hpp"

namespace weft::runtime {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kDeflateMost = 1032;  // deflate cannot expand a byte to more (zlib, "Maximum Expansion Factor")

std::string zip_message(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

using Archive = std::unique_ptr<zip_t, decltype([](zip_t* z) { zip_discard(z); })>;
using Member = std::unique_ptr<zip_file_t, decltype([](zip_file_t* f) { zip_fclose(f); })>;

std::string read_member(zip_t* archive, zip_int64_t index, std::string& name) {
  zip_stat_t stat;
  if (zip_stat_index(archive, static_cast<zip_uint64_t>(index), 0, &stat) != 0)
    fail(ErrorCode::parse, "npz: {}", zip_strerror(archive));
  constexpr zip_uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
  if ((stat.valid & kNeeded) != kNeeded) fail(ErrorCode::parse, "npz: member {} has no size", index);
  name = stat.name;
  if (stat.size > (stat.comp_size + 1) * kDeflateMost)
    fail(ErrorCode::parse, "npz: '{}' claims {} bytes in {}", name, stat.size, stat.comp_size);
  Member member(zip_fopen_index(archive, static_cast<zip_uint64_t>(index), 0));
  if (!member) fail(ErrorCode::parse, "npz: '{}': {}", name, zip_strerror(archive));
  std::string bytes(stat.size, '\0');
  size_t at = 0;
  while (at < bytes.size()) {
    zip_int64_t n = zip_fread(member.get(), bytes.data() + at, bytes.size() - at);
    if (n <= 0) fail(ErrorCode::parse, "npz: '{}' is damaged at byte {}", name, at);
    at += static_cast<size_t>(n);
  }
  char beyond;
  if (zip_fread(member.get(), &beyond, 1) != 0)
    fail(ErrorCode::parse, "npz: '{}' is damaged", name);  // also checks the CRC
  return bytes;
}

ir::NamedTensors load_npz(const fs::path& file) {
  int code = 0;
  Archive archive(zip_open(file.c_str(), ZIP_RDONLY, &code));
  if (!archive) fail(code == ZIP_ER_NOENT ? ErrorCode::not_found : ErrorCode::parse, "{}", zip_message(code));
  ir::NamedTensors tensors;
  for (zip_int64_t i = 0, n = zip_get_num_entries(archive.get(), 0); i < n; ++i) {
    std::string name, bytes = read_member(archive.get(), i, name);
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    ir::Tensor tensor;
    try {
      tensor = parse_npy(bytes);
    } catch (const Error& e) {
      throw e.within(fmt::format("member '{}'", name));
    }
    if (!tensors.emplace(name, std::move(tensor)).second) fail(ErrorCode::parse, "npz: two members named '{}'", name);
  }
  return tensors;
}

void save_npz(const fs::path& file, const ir::NamedTensors& tensors) {
  int code = 0;
  Archive archive(zip_open(file.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
  if (!archive) fail(ErrorCode::io, "{}", zip_message(code));
  std::vector<std::string> contents;  // zip reads them at zip_close
  for (const auto& [name, tensor] : tensors) contents.push_back(format_npy(tensor));
  size_t i = 0;
  for (const auto& [name, tensor] : tensors) {
    zip_source_t* source = zip_source_buffer(archive.get(), contents[i].data(), contents[i].size(), 0);
    zip_int64_t index = source ? zip_file_add(archive.get(), (name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8) : -1;
    if (index < 0) {
      if (source) zip_source_free(source);
      fail(ErrorCode::io, "cannot add '{}': {}", name, zip_strerror(archive.get()));
    }
    zip_set_file_compression(archive.get(), static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0);  // as numpy.savez
    ++i;
  }
  if (zip_close(archive.get()) != 0) fail(ErrorCode::io, "{}", zip_strerror(archive.get()));
  archive.release();  // zip_close has freed it
}

template <typename F>
auto within_file(const fs::path& file, const F& f) {
  try {
    return f();
  } catch (const Error& e) {
    if (e.where() == file.string()) throw;
    throw e.within(file.string());
  }
}

}  // namespace

ir::NamedTensors load_tensors(const fs::path& file) {
  return within_file(file, [&]() -> ir::NamedTensors {
    std::string extension = file.extension().string();
    if (extension == ".npy") return {{"", parse_npy(read_file(file))}};
    if (extension == ".npz") {
      if (!fs::is_regular_file(file) && fs::exists(file)) fail(ErrorCode::io, "is no regular file");
      return load_npz(file);
    }
    if (extension == ".pb") {
      auto [name, tensor] = ir::read_onnx_tensor(file);
      return {{name, tensor}};
    }
    fail(ErrorCode::invalid_argument, "tensor files end in .npy, .npz or .pb");
  });
}

ir::Tensor load_tensor(const fs::path& file) {
  ir::NamedTensors tensors = load_tensors(file);
  if (tensors.size() != 1)
    throw Error(ErrorCode::invalid_argument, fmt::format("holds {} tensors, one expected", tensors.size()),
                file.string());
  return tensors.begin()->second;
}

void check_can_save(const fs::path& file) {
  std::string extension = file.extension().string();
  if (extension != ".npz" && extension != ".npy")
    throw Error(ErrorCode::invalid_argument, "tensors are written to .npz or .npy", file.string());
  check_writable(file);
}

void save_tensors(const fs::path& file, const ir::NamedTensors& tensors) {
  within_file(file, [&] {
    std::string extension = file.extension().string();
    if (extension == ".npz") return save_npz(file, tensors);
    if (extension != ".npy") fail(ErrorCode::invalid_argument, "tensors are written to .npz or .npy");
    if (tensors.size() != 1)
      fail(ErrorCode::invalid_argument, "{} tensors do not fit in one .npy: name a .npz", tensors.size());
    write_file_atomically(file, format_npy(tensors.begin()->second));
  });
}

}  // namespace weft::runtime
