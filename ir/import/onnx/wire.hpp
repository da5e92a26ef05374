#pragma once
// A look at the protobuf wire format before the parser runs: how deep messages nest, and where a file breaks off.
#include <cstddef>
#include <span>

namespace weft::ir::onnx_import {

/// Nesting of messages that is accepted: 3 levels an If, so 32 nested Ifs.
inline constexpr int kMaxDepth = 99;

/// Walks the fields through which an ONNX model can nest (graphs, nodes, attributes, functions, types), without
/// recursion, in time linear in the size. Throws Error(parse) with the offset of a field that runs past its message,
/// Error(limit) where messages nest deeper than kMaxDepth.
void check_wire(std::span<const std::byte> bytes);

}  // namespace weft::ir::onnx_import
