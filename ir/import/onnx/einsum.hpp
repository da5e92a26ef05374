#pragma once
// Einstein summation as transposes, matrix products and sums.
#include <string>

#include "ir/import/onnx/builder.hpp"

namespace weft::ir::onnx_import {

/// numpy.einsum: labels are letters, `...` stands for broadcast axes, a label repeated in one operand takes its
/// diagonal. Operands are contracted from left to right.
Ref einsum(Builder& b, const std::string& equation, const Refs& operands);

}  // namespace weft::ir::onnx_import
