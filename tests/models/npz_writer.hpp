#pragma once
// Tensors into numpy's .npz, for `weft run` and for people's own scripts.
#include <filesystem>

#include "ir/eval.hpp"

namespace weft::models {

/// Writes one .npy a tensor into an uncompressed zip, as numpy.savez does (numpy.lib.format, version 1.0). Equal tensors give
/// equal bytes. Throws Error(unsupported) for bf16, which numpy lacks, and Error(io) where the file cannot be written.
void write_npz(const std::filesystem::path& path, const ir::NamedTensors& tensors);

}  // namespace weft::models
