#pragma once
// Strided copies: the one mover of elements behind transposes, slices, concats and the packing of operands.
#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::backends::tbb {

inline constexpr size_t kMaxRank = 12;  ///< of collapsed dims that kernels take

/// dst[i . dst_strides] = src[i . src_strides] for every index of `dims` (strides in elements of `element_bytes`: 1, 2,
/// 4 or 8; a source stride may be 0 or negative). Blocks must not overlap. Transpositions go through registers in
/// blocks.
void copy_strided(void* dst, const int64_t* dst_strides, const void* src, const int64_t* src_strides,
                  const int64_t* dims, size_t rank, size_t element_bytes);

/// n copies of one element.
void fill(void* dst, const void* element, size_t n, size_t element_bytes);

}  // namespace weft::backends::tbb
