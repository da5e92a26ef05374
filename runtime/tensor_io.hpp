#pragma once
// Tensors in files: numpy's .npy and .npz, ONNX's .pb. Malformed files give Error(parse) naming the file.
#include <filesystem>
#include <string>
#include <string_view>

#include "ir/eval.hpp"

namespace weft::runtime {

/// The bytes of a .npy file (numpy format 1.0 to 3.0, either byte order, C or Fortran order) as a tensor. bfloat16 is
/// spelled V2, as ml_dtypes writes it.
ir::Tensor parse_npy(std::string_view bytes);
std::string format_npy(const ir::Tensor& tensor);

/// A .npy file (one tensor under the empty name), the members of a .npz, or the TensorProto of a .pb (under its name).
ir::NamedTensors load_tensors(const std::filesystem::path& file);
/// The single tensor of a file; throws Error(invalid_argument) where it holds several.
ir::Tensor load_tensor(const std::filesystem::path& file);

/// Throws what save_tensors would throw of the name and its folder: to be asked before the tensors are computed.
void check_can_save(const std::filesystem::path& file);
/// Writes a .npz of all tensors, or a .npy where there is only one and the name ends so. Throws Error(io).
void save_tensors(const std::filesystem::path& file, const ir::NamedTensors& tensors);

}  // namespace weft::runtime
