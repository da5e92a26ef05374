#pragma once
// How a program reads or writes a buffer through transposes, reshapes, slices and broadcasts: strides instead of
// copies.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weft::backends::onednn {

struct SubDim {
  int64_t size, stride;  ///< stride in elements; 0 = repeated
  bool operator==(const SubDim&) const = default;
};

/// One axis of a view: nested sub-dimensions, outermost first; empty = size 1. Adjacent ones that step evenly are
/// merged, so an axis that is an even step has at most one.
using Axis = std::vector<SubDim>;

struct View {
  int input = -1;  ///< operand of the program; -1 = its output
  int64_t offset = 0;
  std::vector<Axis> axes;
};

int64_t axis_size(const Axis& axis);
std::vector<int64_t> sizes(const View& view);
int64_t element_count(const View& view);
View dense_view(int input, std::span<const int64_t> dims);
/// Axis i of the result is axis permutation[i] of the view.
View transposed(const View& view, std::span<const int64_t> permutation);
/// The permutation that undoes one.
std::vector<int64_t> inverse(std::span<const int64_t> permutation);
/// The same elements in the same order under other dimensions; nothing where a sub-dimension does not divide evenly.
std::optional<View> reshaped(const View& view, std::span<const int64_t> dims);
/// numpy broadcasting, aligned to the right: repeated axes get stride 0. The dimensions must fit.
View broadcast_to(const View& view, std::span<const int64_t> dims);
/// One axis out of several neighbours, [first, first + count).
View merged(const View& view, size_t first, size_t count);
/// Row-major without gaps, in the order of the axes.
bool is_dense(const View& view);
/// The stride of an axis that is one even step (0 for size 1); nothing where it is not even.
std::optional<int64_t> even_stride(const Axis& axis);

/// Calls f(offset) for every element of some axes, in row-major order.
template <typename F>
void for_each_element(std::span<const Axis> axes, int64_t offset, F&& f) {
  std::vector<SubDim> dims;
  for (const Axis& axis : axes) dims.insert(dims.end(), axis.begin(), axis.end());
  std::vector<int64_t> index(dims.size(), 0);
  for (;;) {
    f(offset);
    size_t i = dims.size();
    while (i > 0 && index[i - 1] + 1 == dims[i - 1].size) {
      offset -= index[i - 1] * dims[i - 1].stride;
      index[--i] = 0;
    }
    if (i == 0) return;
    ++index[i - 1];
    offset += dims[i - 1].stride;
  }
}

}  // namespace weft::backends::onednn
