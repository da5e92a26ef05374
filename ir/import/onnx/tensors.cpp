// TensorProto -> Tensor: raw, typed, sparse and external payloads, each checked against its dims.
#include <algorithm>
#include <charconv>
#include <cstring>

#include "ir/import/onnx/model.hpp"
#include "ir/support/error.hpp"

namespace weft::ir::onnx_import {
namespace {

using Proto = ::onnx::TensorProto;

Shape dims_of(const google::protobuf::RepeatedField<int64_t>& dims) {
  Shape shape(dims.begin(), dims.end());
  element_count(shape);  // negative dimensions, products beyond 2^58
  return shape;
}

size_t byte_count(const TensorType& type) {
  int64_t elements = type.elements(), bytes = 0;
  if (__builtin_mul_overflow(elements, static_cast<int64_t>(size_of(type.dtype)), &bytes))
    fail(ErrorCode::out_of_range, "{} has more than 2^63 bytes", to_string(type));
  return static_cast<size_t>(bytes);
}

/// The bytes as they stand where they can be read in place; else a copy: misaligned, or bools other than 0 and 1.
Tensor from_bytes(TensorType type, const void* data, std::shared_ptr<const void> owner) {
  size_t bytes = byte_count(type);
  bool aligned = reinterpret_cast<uintptr_t>(data) % size_of(type.dtype) == 0;
  auto octets = static_cast<const uint8_t*>(data);
  if (type.dtype == DType::boolean) {
    bool clean = true;
    for (size_t i = 0; i < bytes; ++i) clean &= octets[i] <= 1;
    if (!clean) {
      Tensor copy = Tensor::allocate(std::move(type));
      auto out = static_cast<uint8_t*>(copy.mutable_data());
      for (size_t i = 0; i < bytes; ++i) out[i] = octets[i] != 0;
      return copy;
    }
  }
  if (aligned || bytes == 0) return Tensor::view(std::move(type), bytes ? data : nullptr, std::move(owner));
  Tensor copy = Tensor::allocate(std::move(type));
  std::memcpy(copy.mutable_data(), data, bytes);
  return copy;
}

void expect_count(size_t found, const TensorType& type, std::string_view field) {
  if (found != static_cast<size_t>(type.elements()))
    fail(ErrorCode::parse, "{} holds {} values where {} needs {}", field, found, to_string(type), type.elements());
}

template <typename T, typename Values, typename Convert>
Tensor converted(const TensorType& type, const Values& values, Convert convert) {
  Tensor out = Tensor::allocate(type);
  auto slots = out.mutable_as<T>();
  for (size_t i = 0; i < slots.size(); ++i) slots[i] = convert(values[static_cast<int>(i)]);
  return out;
}

template <typename T>
T from_int32(int32_t v) {
  if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {  // the bits of the float in the low half
    T value;
    value.bits = static_cast<uint16_t>(v);
    return value;
  } else if constexpr (std::is_same_v<T, bool>) {
    return v != 0;
  } else {
    return static_cast<T>(v);
  }
}

template <typename Values>
Tensor in_place(const TensorType& type, const Values& values, std::string_view field,
                std::shared_ptr<const void> owner) {
  expect_count(static_cast<size_t>(values.size()), type, field);
  return Tensor::view(type, values.size() ? values.data() : nullptr, std::move(owner));
}

/// Payload in the field that belongs to the dtype (float_data, int32_data, ...).
Tensor from_typed(const Proto& proto, const TensorType& type, const std::shared_ptr<const void>& owner) {
  switch (type.dtype) {
    case DType::f32:
      return in_place(type, proto.float_data(), "float_data", owner);
    case DType::f64:
      return in_place(type, proto.double_data(), "double_data", owner);
    case DType::i64:
      return in_place(type, proto.int64_data(), "int64_data", owner);
    case DType::i32:
      return in_place(type, proto.int32_data(), "int32_data", owner);
    case DType::u64:
      return in_place(type, proto.uint64_data(), "uint64_data", owner);
    case DType::u32:
      expect_count(static_cast<size_t>(proto.uint64_data_size()), type, "uint64_data");
      return converted<uint32_t>(type, proto.uint64_data(), [](uint64_t v) { return static_cast<uint32_t>(v); });
    default:
      break;
  }
  expect_count(static_cast<size_t>(proto.int32_data_size()), type, "int32_data");
  return dispatch(type.dtype, [&]<typename T>() { return converted<T>(type, proto.int32_data(), from_int32<T>); });
}

int typed_fields(const Proto& p) {
  return (p.float_data_size() > 0) + (p.int32_data_size() > 0) + (p.int64_data_size() > 0) +
         (p.double_data_size() > 0) + (p.uint64_data_size() > 0) + (p.string_data_size() > 0);
}

std::string place(const Proto& proto) { return "tensor '" + proto.name() + "'"; }

}  // namespace

std::optional<DType> try_dtype_of(int32_t data_type) {
  switch (data_type) {
    case Proto::FLOAT:
      return DType::f32;
    case Proto::UINT8:
      return DType::u8;
    case Proto::INT8:
      return DType::i8;
    case Proto::UINT16:
      return DType::u16;
    case Proto::INT16:
      return DType::i16;
    case Proto::INT32:
      return DType::i32;
    case Proto::INT64:
      return DType::i64;
    case Proto::BOOL:
      return DType::boolean;
    case Proto::FLOAT16:
      return DType::f16;
    case Proto::DOUBLE:
      return DType::f64;
    case Proto::UINT32:
      return DType::u32;
    case Proto::UINT64:
      return DType::u64;
    case Proto::BFLOAT16:
      return DType::bf16;
    default:
      return std::nullopt;
  }
}

DType dtype_of(int32_t data_type) {
  if (auto dtype = try_dtype_of(data_type)) return *dtype;
  static constexpr const char* kNewer[] = {"FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "UINT4",
                                           "INT4",         "FLOAT4E2M1",     "FLOAT8E8M0", "UINT2",          "INT2"};
  std::string name = Proto::DataType_IsValid(data_type)       ? Proto::DataType_Name(Proto::DataType(data_type))
                     : data_type >= 17 && data_type < 17 + 10 ? kNewer[data_type - 17]
                                                              : "not a type of ONNX";
  fail(data_type == 0 ? ErrorCode::parse : ErrorCode::unsupported,
       "element type {} ({}) is not supported; supported are bool, (u)int8 to (u)int64, float16, bfloat16, float, "
       "double",
       data_type, name);
}

Tensor TensorReader::read(const Proto& proto) try {
  TensorType type{dtype_of(proto.data_type()), dims_of(proto.dims())};
  if (proto.has_segment()) fail(ErrorCode::unsupported, "a tensor stored in segments");
  if (proto.data_location() == Proto::EXTERNAL) {
    if (proto.has_raw_data() || typed_fields(proto))
      fail(ErrorCode::parse, "both external data and data in the file, expected one of them");
    return read_external(proto, std::move(type));
  }
  if (!proto.has_raw_data()) {
    if (typed_fields(proto) > 1) fail(ErrorCode::parse, "data in {} typed fields, expected one", typed_fields(proto));
    return from_typed(proto, type, owner_);
  }
  if (typed_fields(proto) && !proto.raw_data().empty())
    fail(ErrorCode::parse, "both raw_data and typed data, expected one of them");
  if (typed_fields(proto)) return from_typed(proto, type, owner_);
  const std::string& raw = proto.raw_data();
  if (raw.size() != byte_count(type))
    fail(ErrorCode::parse, "raw_data holds {} bytes where {} needs {}", raw.size(), to_string(type), byte_count(type));
  return from_bytes(std::move(type), raw.data(), owner_);
} catch (const Error& e) {
  throw e.within(place(proto));
}

Tensor TensorReader::read(const ::onnx::SparseTensorProto& proto) try {
  Tensor values = read(proto.values()), indices = read(proto.indices());
  TensorType type{values.dtype(), dims_of(proto.dims())};
  if (values.type().rank() != 1 || indices.dtype() != DType::i64)
    fail(ErrorCode::parse, "sparse values of {} and indices of {}, expected rank 1 and i64", to_string(values.type()),
         to_string(indices.type()));
  constexpr size_t kDenseLimit = size_t{1} << 32;  // a few bytes of indices must not become terabytes
  if (byte_count(type) > kDenseLimit)
    fail(ErrorCode::limit, "a sparse tensor of {} is {} bytes when dense, the limit is {}", to_string(type),
         byte_count(type), kDenseLimit);
  int64_t count = values.elements(), rank = static_cast<int64_t>(type.rank());
  bool linear = indices.type().rank() == 1;
  if (indices.elements() != (linear ? count : count * rank) || indices.type().rank() > 2)
    fail(ErrorCode::parse, "sparse indices of {} for {} values of rank {}", to_string(indices.type()), count, rank);
  std::vector<int64_t> dims = to_ints(type.shape), strides = row_major_strides(dims);
  Tensor out = Tensor::zeros(type);
  size_t size = size_of(type.dtype);
  for (int64_t i = 0; i < count; ++i) {
    int64_t flat = linear ? indices.at_int(i) : 0;
    for (int64_t axis = 0; !linear && axis < rank; ++axis) {
      int64_t index = indices.at_int(i * rank + axis);
      if (index < 0 || index >= dims[axis])
        fail(ErrorCode::out_of_range, "sparse index {} on axis {} of {}", index, axis, to_string(type));
      flat += index * strides[axis];
    }
    if (flat < 0 || flat >= type.elements())
      fail(ErrorCode::out_of_range, "sparse index {} of {}", flat, to_string(type));
    std::memcpy(static_cast<char*>(out.mutable_data()) + flat * size,
                static_cast<const char*>(values.data()) + i * size, size);
  }
  return out;
} catch (const Error& e) {
  throw e.within("sparse " + place(proto.values()));
}

std::shared_ptr<const MappedFile> TensorReader::open_external(const std::string& location) {
  auto known = files_.find(location);
  if (known != files_.end()) return known->second;
  namespace fs = std::filesystem;
  if (base_dir_.empty())
    fail(ErrorCode::invalid_argument, "external data in '{}', but the model's directory is not known (give base_dir)",
         location);
  if (location.empty()) fail(ErrorCode::parse, "external data with an empty location");
  if (location.find('\0') != std::string::npos) fail(ErrorCode::parse, "external data location holds a NUL byte");
  if (fs::path(location).is_absolute())
    fail(ErrorCode::parse, "external data at the absolute path '{}'; only files inside the model's directory are read",
         location);
  std::error_code error;
  fs::path base = fs::canonical(base_dir_, error);
  if (error) fail(ErrorCode::not_found, "the model's directory '{}': {}", base_dir_.string(), error.message());
  fs::path target = fs::canonical(base / location, error);  // resolves links and `..`
  if (error) fail(ErrorCode::not_found, "external data '{}': {}", location, error.message());
  auto [end_of_base, rest] = std::mismatch(base.begin(), base.end(), target.begin(), target.end());
  if (end_of_base != base.end() || rest == target.end())
    fail(ErrorCode::parse, "external data '{}' leads to '{}', outside the model's directory '{}'", location,
         target.string(), base.string());
  return files_[location] = MappedFile::open(target);
}

Tensor TensorReader::read_external(const Proto& proto, TensorType type) {
  std::map<std::string, std::string, std::less<>> entries;
  for (const auto& entry : proto.external_data())
    if (!entries.emplace(entry.key(), entry.value()).second)
      fail(ErrorCode::parse, "external data names '{}' twice", entry.key());
  auto number = [&](std::string_view key) -> std::optional<uint64_t> {
    auto it = entries.find(key);
    if (it == entries.end()) return std::nullopt;
    uint64_t value = 0;
    const std::string& text = it->second;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      fail(ErrorCode::parse, "external data {} '{}', expected a number of bytes", key, text);
    return value;
  };
  auto location = entries.find("location");
  if (location == entries.end()) fail(ErrorCode::parse, "external data without a location");
  uint64_t offset = number("offset").value_or(0), needed = byte_count(type);
  if (uint64_t length = number("length").value_or(needed); length != needed)
    fail(ErrorCode::parse, "external data of {} bytes where {} needs {}", length, to_string(type), needed);
  auto file = open_external(location->second);
  std::span<const std::byte> bytes = file->bytes();
  if (offset > bytes.size() || needed > bytes.size() - offset)
    fail(ErrorCode::parse, "external data '{}' has {} bytes; {} at offset {} needs {}", location->second, bytes.size(),
         to_string(type), offset, needed);
  return from_bytes(std::move(type), bytes.data() + offset, file);
}

}  // namespace weft::ir::onnx_import
