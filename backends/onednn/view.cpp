#include "backends/onednn/view.hpp"

#include <algorithm>

#include "ir/support/error.hpp"

namespace weft::backends::onednn {
namespace {

/// Drops unit sub-dimensions and merges those that step evenly into each other.
Axis normalized(const Axis& axis) {
  Axis result;
  for (const SubDim& d : axis) {
    if (d.size == 1) continue;
    if (!result.empty() && result.back().stride == d.size * d.stride) {
      result.back() = {result.back().size * d.size, d.stride};
    } else {
      result.push_back(d);
    }
  }
  return result;
}

}  // namespace

int64_t axis_size(const Axis& axis) {
  int64_t size = 1;
  for (const SubDim& d : axis) size *= d.size;
  return size;
}

std::vector<int64_t> sizes(const View& view) {
  std::vector<int64_t> result;
  for (const Axis& axis : view.axes) result.push_back(axis_size(axis));
  return result;
}

int64_t element_count(const View& view) {
  int64_t count = 1;
  for (const Axis& axis : view.axes) count *= axis_size(axis);
  return count;
}

View dense_view(int input, std::span<const int64_t> dims) {
  View view{input, 0, std::vector<Axis>(dims.size())};
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] != 1) view.axes[i] = {{dims[i], stride}};
    stride *= dims[i];
  }
  return view;
}

View transposed(const View& view, std::span<const int64_t> permutation) {
  WEFT_CHECK(permutation.size() == view.axes.size());
  View result{view.input, view.offset, {}};
  for (int64_t axis : permutation) result.axes.push_back(view.axes[static_cast<size_t>(axis)]);
  return result;
}

std::vector<int64_t> inverse(std::span<const int64_t> permutation) {
  std::vector<int64_t> result(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) result[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  return result;
}

std::optional<View> reshaped(const View& view, std::span<const int64_t> dims) {
  std::vector<SubDim> pieces;
  for (const Axis& axis : view.axes) pieces.insert(pieces.end(), axis.begin(), axis.end());
  View result{view.input, view.offset, {}};
  size_t next = 0;
  for (int64_t dim : dims) {
    Axis axis;
    int64_t left = dim;
    while (left > 1) {
      if (next == pieces.size()) return std::nullopt;
      SubDim& piece = pieces[next];
      if (left % piece.size == 0) {
        axis.push_back(piece);
        left /= piece.size;
        ++next;
      } else if (piece.size % left == 0) {
        const int64_t inner = piece.size / left;
        axis.push_back({left, piece.stride * inner});
        piece.size = inner;
        left = 1;
      } else {
        return std::nullopt;
      }
    }
    result.axes.push_back(normalized(axis));
  }
  if (next != pieces.size()) return std::nullopt;
  return result;
}

View broadcast_to(const View& view, std::span<const int64_t> dims) {
  WEFT_CHECK(view.axes.size() <= dims.size());
  View result{view.input, view.offset, std::vector<Axis>(dims.size())};
  const size_t lead = dims.size() - view.axes.size();
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t have = i < lead ? 1 : axis_size(view.axes[i - lead]);
    WEFT_CHECK(have == dims[i] || have == 1);
    if (have == dims[i]) {
      if (i >= lead) result.axes[i] = view.axes[i - lead];
    } else {
      result.axes[i] = {{dims[i], 0}};
    }
  }
  return result;
}

View merged(const View& view, size_t first, size_t count) {
  View result{view.input, view.offset, {}};
  for (size_t i = 0; i < view.axes.size(); ++i) {
    if (i <= first || i >= first + count) {
      result.axes.push_back(view.axes[i]);
    } else {
      result.axes.back().insert(result.axes.back().end(), view.axes[i].begin(), view.axes[i].end());
    }
  }
  result.axes[first] = normalized(result.axes[first]);
  return result;
}

bool is_dense(const View& view) {
  int64_t stride = 1;
  for (size_t i = view.axes.size(); i-- > 0;) {
    for (size_t j = view.axes[i].size(); j-- > 0;) {
      const SubDim& d = view.axes[i][j];
      if (d.size != 1 && d.stride != stride) return false;
      stride *= d.size;
    }
  }
  return true;
}

std::optional<int64_t> even_stride(const Axis& axis) {
  if (axis.empty()) return 0;
  if (axis.size() == 1) return axis[0].size == 1 ? 0 : axis[0].stride;
  return std::nullopt;
}

}  // namespace weft::backends::onednn
