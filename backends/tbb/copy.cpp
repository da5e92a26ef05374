#include "backends/tbb/copy.hpp"

#include <algorithm>
#include <cstring>

#include "backends/tbb/vector_ops.hpp"

namespace weft::backends::tbb {
namespace {

struct Axis {
  int64_t dim, dst, src;
};

/// Axes of size 1 dropped, neighbours that continue each other joined.
size_t collapse(const int64_t* dst_strides, const int64_t* src_strides, const int64_t* dims, size_t rank, Axis* axes) {
  size_t count = 0;
  for (size_t i = 0; i < rank; ++i) {
    if (dims[i] == 1) continue;
    if (count > 0) {
      Axis& last = axes[count - 1];
      if (last.dst == dst_strides[i] * dims[i] && last.src == src_strides[i] * dims[i]) {
        last = {last.dim * dims[i], dst_strides[i], src_strides[i]};
        continue;
      }
    }
    axes[count++] = {dims[i], dst_strides[i], src_strides[i]};
  }
  return count;
}

template <typename T>
void transpose(const T* src, int64_t src_stride, T* dst, int64_t dst_stride, int64_t rows, int64_t columns) {
  if constexpr (sizeof(T) == 4) {
    row_functions().transpose32(src, src_stride, dst, dst_stride, rows, columns);
  } else {
    constexpr int64_t kTile = 16;
    for (int64_t i = 0; i < rows; i += kTile) {
      for (int64_t j = 0; j < columns; j += kTile) {
        for (int64_t k = i; k < std::min(i + kTile, rows); ++k) {
          for (int64_t l = j; l < std::min(j + kTile, columns); ++l) dst[k * dst_stride + l] = src[l * src_stride + k];
        }
      }
    }
  }
}

template <typename T>
void fill_as(T* dst, T value, size_t n) {
  for (size_t i = 0; i < n; ++i) dst[i] = value;
}

/// Rows of a few hundred bytes by pieces of a fixed size: a call of memcpy for each would take longer than the copy.
template <typename T>
void copy_dense(T* dst, const T* src, int64_t n) {
  constexpr int64_t kPiece = 16 / sizeof(T);
  if (n < kPiece) {
    for (int64_t i = 0; i < n; ++i) dst[i] = src[i];
  } else if (n <= 8 * kPiece) {
    for (int64_t i = 0; i + kPiece <= n; i += kPiece) std::memcpy(dst + i, src + i, 16);
    std::memcpy(dst + n - kPiece, src + n - kPiece, 16);  // the rest, with some of it again
  } else {
    std::memcpy(dst, src, static_cast<size_t>(n) * sizeof(T));
  }
}

/// The innermost axis alone.
template <typename T>
void copy_row(T* dst, const T* src, const Axis& axis) {
  if (axis.dst == 1 && axis.src == 1) {
    copy_dense(dst, src, axis.dim);
  } else if (axis.dst == 1 && axis.src == 0) {
    fill_as(dst, *src, static_cast<size_t>(axis.dim));
  } else {
    for (int64_t i = 0; i < axis.dim; ++i) dst[i * axis.dst] = src[i * axis.src];
  }
}

/// The two innermost axes: rows one by one, without a call for each; the shortest dense ones without a loop.
template <typename T>
void copy_rows(T* dst, const T* src, const Axis& rows, const Axis& inner) {
  constexpr int64_t kPiece = 16 / sizeof(T);
  const bool dense = inner.dst == 1 && inner.src == 1;
  if (dense && inner.dim == kPiece) {
    for (int64_t i = 0; i < rows.dim; ++i) std::memcpy(dst + i * rows.dst, src + i * rows.src, 16);
  } else if (dense && inner.dim > kPiece && inner.dim <= 2 * kPiece) {
    const int64_t rest = inner.dim - kPiece;
    for (int64_t i = 0; i < rows.dim; ++i) {
      std::memcpy(dst + i * rows.dst, src + i * rows.src, 16);
      std::memcpy(dst + i * rows.dst + rest, src + i * rows.src + rest, 16);
    }
  } else {
    for (int64_t i = 0; i < rows.dim; ++i) copy_row(dst + i * rows.dst, src + i * rows.src, inner);
  }
}

/// Calls f(dst, src) for every index of the axes, outermost first.
template <typename T, typename F>
void for_each(const Axis* axes, size_t count, T* dst, const T* src, const F& f) {
  if (count == 0) return f(dst, src);
  for (int64_t i = 0; i < axes[0].dim; ++i)
    for_each(axes + 1, count - 1, dst + i * axes[0].dst, src + i * axes[0].src, f);
}

template <typename T>
void copy_as(T* dst, const T* src, Axis* axes, size_t count) {
  if (count == 0) {
    *dst = *src;
    return;
  }
  // An axis contiguous in the destination goes last, then one contiguous in the source before it: a transposition.
  for (size_t i = 0; i + 1 < count; ++i) {
    if (axes[i].dst == 1 && axes[count - 1].dst != 1) std::swap(axes[i], axes[count - 1]);
  }
  const Axis inner = axes[count - 1];
  if (count >= 2 && inner.dst == 1 && inner.src != 1 && inner.src != 0) {
    for (size_t i = 0; i + 1 < count; ++i) {
      if (axes[i].src == 1) {
        std::swap(axes[i], axes[count - 2]);
        const Axis rows = axes[count - 2];
        return for_each(axes, count - 2, dst, src,
                        [&](T* d, const T* s) { transpose(s, inner.src, d, rows.dst, rows.dim, inner.dim); });
      }
    }
  }
  if (count == 1) return copy_row(dst, src, inner);
  const Axis rows = axes[count - 2];
  for_each(axes, count - 2, dst, src, [&](T* d, const T* s) { copy_rows(d, s, rows, inner); });
}

}  // namespace

void copy_strided(void* dst, const int64_t* dst_strides, const void* src, const int64_t* src_strides,
                  const int64_t* dims, size_t rank, size_t element_bytes) {
  Axis axes[kMaxRank];
  const size_t count = collapse(dst_strides, src_strides, dims, rank, axes);
  for (size_t i = 0; i < count; ++i) {
    if (axes[i].dim == 0) return;
  }
  switch (element_bytes) {
    case 1:
      return copy_as(static_cast<uint8_t*>(dst), static_cast<const uint8_t*>(src), axes, count);
    case 2:
      return copy_as(static_cast<uint16_t*>(dst), static_cast<const uint16_t*>(src), axes, count);
    case 4:
      return copy_as(static_cast<uint32_t*>(dst), static_cast<const uint32_t*>(src), axes, count);
    default:
      return copy_as(static_cast<uint64_t*>(dst), static_cast<const uint64_t*>(src), axes, count);
  }
}

void fill(void* dst, const void* element, size_t n, size_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return fill_as(static_cast<uint8_t*>(dst), *static_cast<const uint8_t*>(element), n);
    case 2:
      return fill_as(static_cast<uint16_t*>(dst), *static_cast<const uint16_t*>(element), n);
    case 4:
      return fill_as(static_cast<uint32_t*>(dst), *static_cast<const uint32_t*>(element), n);
    default:
      return fill_as(static_cast<uint64_t*>(dst), *static_cast<const uint64_t*>(element), n);
  }
}

}  // namespace weft::backends::tbb
