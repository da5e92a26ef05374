#include "ir/tensor.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "ir/support/error.hpp"
#include "ir/support/memory.hpp"

namespace weft::ir {

constexpr size_t kAlignment = 64;

Tensor Tensor::allocate(TensorType type) {
  Tensor t;
  t.type_ = std::move(type);
  // Aligned by hand: glibc's aligned_alloc does not take back a freed block of the same size, so memory would creep.
  const size_t bytes = t.bytes() + kAlignment;
  if (t.type_.bytes() >= kLeastLookedUp) require_memory(t.type_.bytes(), to_string(t.type_));
  void* memory = std::malloc(bytes);
  if (!memory) fail(ErrorCode::limit, "cannot allocate {} bytes for {}", bytes, to_string(t.type_));
  t.owner_ = std::shared_ptr<const void>(memory, [](const void* p) { std::free(const_cast<void*>(p)); });
  t.data_ = static_cast<char*>(memory) + (kAlignment - reinterpret_cast<uintptr_t>(memory) % kAlignment);
  return t;
}

Tensor Tensor::zeros(TensorType type) {
  Tensor t = allocate(std::move(type));
  std::memset(t.mutable_data(), 0, t.bytes());
  return t;
}

Tensor Tensor::view(TensorType type, const void* data, std::shared_ptr<const void> owner) {
  static const char kEmpty = 0;
  Tensor t;
  t.type_ = std::move(type);
  t.data_ = data ? data : &kEmpty;
  if (!data && t.type_.elements() != 0)
    fail(ErrorCode::invalid_argument, "no data for a tensor of type {}", to_string(t.type_));
  t.owner_ = std::move(owner);
  return t;
}

Tensor Tensor::reshaped(Shape shape) const {
  if (element_count(shape) != elements())
    fail(ErrorCode::type_mismatch, "cannot see {} as shape {}: {} against {} elements", to_string(type_),
         to_string(shape), elements(), element_count(shape));
  Tensor t = *this;
  t.type_.shape = std::move(shape);
  return t;
}

double Tensor::at_double(int64_t index) const {
  return dispatch(dtype(), [&]<typename T>() {
    T value = static_cast<const T*>(data_)[index];
    if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>)
      return static_cast<double>(static_cast<float>(value));
    else
      return static_cast<double>(value);
  });
}

int64_t Tensor::at_int(int64_t index) const {
  return dispatch(dtype(), [&]<typename T>() {
    T value = static_cast<const T*>(data_)[index];
    if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>)
      return static_cast<int64_t>(static_cast<float>(value));
    else
      return static_cast<int64_t>(value);
  });
}

void set_from_double(Tensor& tensor, int64_t index, double value) {
  dispatch(tensor.dtype(), [&]<typename T>() {
    T& slot = static_cast<T*>(tensor.mutable_data())[index];
    if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>)
      slot = T(static_cast<float>(value));
    else
      slot = static_cast<T>(value);
  });
}

Tensor filled(TensorType type, double value) {
  Tensor t = Tensor::allocate(std::move(type));
  for (int64_t i = 0, n = t.elements(); i < n; ++i) set_from_double(t, i, value);
  return t;
}

Hash128 Tensor::content_hash() const {
  Hasher h;
  h.text(to_string(type_)).raw(data_, bytes());
  return h.finish();
}

bool Tensor::same_bits(const Tensor& other) const {
  return type_ == other.type_ && std::memcmp(data_, other.data_, bytes()) == 0;
}

void Tensor::check_type(DType dtype) const {
  WEFT_CHECK(dtype == type_.dtype, "tensor of {} read as {}", to_string(type_.dtype), to_string(dtype));
}

}  // namespace weft::ir
