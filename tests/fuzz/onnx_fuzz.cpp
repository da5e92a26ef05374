// Any bytes are a model or an Error. Models that come out are verified and their text is printed.
#include <cstdint>
#include <span>

#include "ir/import/onnx.hpp"
#include "ir/support/error.hpp"
#include "ir/text.hpp"
#include "ir/verify.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    weft::ir::Graph graph = weft::ir::import_onnx_bytes(std::as_bytes(std::span(data, size)));
    weft::ir::verify(graph);
    weft::ir::print_graph(graph);
  } catch (const weft::Error& e) {
    if (e.code() == weft::ErrorCode::internal) throw;  // a bug of weft, not of the input
  }
  return 0;
}
