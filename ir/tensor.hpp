#pragma once
// A tensor in host memory: row-major, contiguous, shared storage.
#include <memory>
#include <span>
#include <vector>

#include "ir/support/hash.hpp"
#include "ir/types.hpp"

namespace weft::ir {

/// Shared handle: copies share the bytes. Storage is aligned to 64 bytes when allocated here. The shape is static.
class Tensor {
 public:
  Tensor() = default;
  /// Uninitialised storage; throws Error(limit) where the size cannot be allocated.
  static Tensor allocate(TensorType type);
  static Tensor zeros(TensorType type);
  /// A view of foreign bytes, kept alive by `owner` (may be null: the caller keeps them alive).
  static Tensor view(TensorType type, const void* data, std::shared_ptr<const void> owner);
  template <typename T>
  static Tensor from(std::vector<int64_t> dims, const std::vector<T>& values);
  template <typename T>
  static Tensor scalar(T value) {
    return from<T>({}, {value});
  }

  bool defined() const { return data_ != nullptr; }
  const TensorType& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const Shape& shape() const { return type_.shape; }
  int64_t elements() const { return type_.elements(); }
  size_t bytes() const { return static_cast<size_t>(type_.bytes()); }
  const void* data() const { return data_; }
  void* mutable_data() { return const_cast<void*>(data_); }
  template <typename T>
  std::span<const T> as() const {
    check_type(DTypeOf<T>::value);
    return {static_cast<const T*>(data_), static_cast<size_t>(elements())};
  }
  template <typename T>
  std::span<T> mutable_as() {
    check_type(DTypeOf<T>::value);
    return {static_cast<T*>(mutable_data()), static_cast<size_t>(elements())};
  }

  /// The same bytes under another shape of equal element count.
  Tensor reshaped(Shape shape) const;
  /// Element `index` (row-major) as a double or integer, whatever the dtype.
  double at_double(int64_t index) const;
  int64_t at_int(int64_t index) const;
  Hash128 content_hash() const;  ///< of dtype, shape and bytes
  /// True where dtype, shape and all bytes are equal.
  bool same_bits(const Tensor& other) const;

 private:
  void check_type(DType dtype) const;
  TensorType type_;
  const void* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

/// A tensor whose every element equals `value`, converted to the dtype.
Tensor filled(TensorType type, double value);
void set_from_double(Tensor& tensor, int64_t index, double value);

template <typename T>
Tensor Tensor::from(std::vector<int64_t> dims, const std::vector<T>& values) {
  Tensor t = allocate({DTypeOf<T>::value, to_shape(dims)});
  std::span<T> out = t.mutable_as<T>();
  for (size_t i = 0; i < out.size(); ++i) out[i] = i < values.size() ? static_cast<T>(values[i]) : T{};
  return t;
}

}  // namespace weft::ir
