#pragma once
// The table from ONNX op to handler, split by theme. Adding an op is one line in the table of its theme.
#include <span>
#include <string>
#include <string_view>

#include "ir/import/onnx/call.hpp"

namespace weft::ir::onnx_import {

struct OpRow {
  std::string_view name;
  Handler handler;
  std::string_view domain = "";
};

std::span<const OpRow> elementwise_ops();
std::span<const OpRow> activation_ops();
std::span<const OpRow> movement_ops();
std::span<const OpRow> index_ops();
std::span<const OpRow> reduce_ops();
std::span<const OpRow> linear_ops();
std::span<const OpRow> window_ops();
std::span<const OpRow> resize_ops();
std::span<const OpRow> norm_ops();
std::span<const OpRow> shape_ops();
std::span<const OpRow> quantize_ops();
std::span<const OpRow> recurrent_ops();
std::span<const OpRow> attention_ops();

/// All rows, sorted by domain and name.
std::span<const OpRow> all_onnx_ops();
/// Null where the op is not supported.
Handler find_handler(std::string_view domain, std::string_view name);
/// The supported op whose name is nearest to this one; empty where none is near.
std::string_view nearest_op(std::string_view domain, std::string_view name);

}  // namespace weft::ir::onnx_import
