#pragma once
// The few functions of ONNX Runtime's C API that the peer calls, by their place in its function table. The table is
// append-only by ONNX Runtime's promise of a stable ABI (docs of OrtApi), so a place never changes its meaning.
#include <cstddef>
#include <cstdint>

namespace weft::bench::ort {

// Opaque handles.
struct Status;
struct Env;
struct Session;
struct SessionOptions;
struct Value;
struct MemoryInfo;
struct Allocator;
struct TypeInfo;
struct TensorInfo;

struct ApiBase {
  const void* const* (*get_api)(uint32_t version);  ///< the table, or null where that version is not served
  const char* (*get_version)();
};

inline constexpr uint32_t kTableVersion = 11;  ///< the oldest table that has every function below

enum class Place : size_t {
  get_error_message = 2,
  create_env = 3,
  create_session = 7,
  run = 9,
  create_session_options = 10,
  set_optimized_model_path = 11,
  set_optimization_level = 23,
  set_intra_op_threads = 24,
  set_inter_op_threads = 25,
  session_input_count = 30,
  session_output_count = 31,
  session_input_type = 33,
  session_output_type = 34,
  session_input_name = 36,
  session_output_name = 37,
  create_tensor_with_data = 49,
  tensor_data = 51,
  type_to_tensor_info = 55,  // the result belongs to the type info
  element_type = 60,
  dimension_count = 61,
  dimensions = 62,
  value_tensor_info = 65,
  create_cpu_memory_info = 69,
  allocator_free = 76,
  default_allocator = 78,
  release_env = 92,
  release_status = 93,
  release_memory_info = 94,
  release_session = 95,
  release_value = 96,
  release_type_info = 98,
  release_tensor_info = 99,
  release_session_options = 100,
  add_session_config_entry = 130,
};

/// ONNX's numbers of element types, which ONNX Runtime shares.
enum class Element : int {
  f32 = 1,
  u8 = 2,
  i8 = 3,
  u16 = 4,
  i16 = 5,
  i32 = 6,
  i64 = 7,
  boolean = 9,
  f16 = 10,
  f64 = 11,
  u32 = 12,
  u64 = 13,
  bf16 = 16
};

}  // namespace weft::bench::ort
