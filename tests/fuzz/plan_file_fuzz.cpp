// Plan bytes, plan files and .npy from anybody: an Error or a value, nothing else.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ir/support/error.hpp"
#include "runtime/plan_codec.hpp"
#include "runtime/plan_file.hpp"
#include "runtime/tensor_io.hpp"

namespace {
template <typename F>
void try_it(const F& f) {
  try {
    f();
  } catch (const weft::Error&) {
  }
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try_it([&] { weft::runtime::decode_plan(bytes); });  // without the checksum that keeps most damage out
  try_it([&] { weft::runtime::parse_plan_file(bytes); });
  try_it([&] { weft::runtime::parse_npy(bytes); });
  return 0;
}
