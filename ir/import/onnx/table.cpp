// The tables of all themes as one, sorted.
#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "ir/import/onnx/handlers.hpp"

namespace weft::ir::onnx_import {
namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row[b.size()];
}

auto key(const OpRow& row) { return std::tie(row.domain, row.name); }

}  // namespace

std::span<const OpRow> all_onnx_ops() {
  static const std::vector<OpRow> rows = [] {
    std::vector<OpRow> all;
    for (auto table : {elementwise_ops, activation_ops, movement_ops, index_ops, reduce_ops, linear_ops, window_ops,
                       resize_ops, norm_ops, shape_ops, quantize_ops, recurrent_ops, attention_ops})
      all.insert(all.end(), table().begin(), table().end());
    std::sort(all.begin(), all.end(), [](const OpRow& a, const OpRow& b) { return key(a) < key(b); });
    return all;
  }();
  return rows;
}

Handler find_handler(std::string_view domain, std::string_view name) {
  OpRow wanted{name, nullptr, domain};
  auto rows = all_onnx_ops();
  auto it = std::lower_bound(rows.begin(), rows.end(), wanted,
                             [](const OpRow& a, const OpRow& b) { return key(a) < key(b); });
  return it != rows.end() && key(*it) == key(wanted) ? it->handler : nullptr;
}

std::string_view nearest_op(std::string_view domain, std::string_view name) {
  std::string_view best;
  if (name.size() > 100) return best;
  size_t best_distance = std::max<size_t>(2, name.size() / 3) + 1;
  for (const OpRow& row : all_onnx_ops()) {
    size_t distance = edit_distance(row.name, name) + (row.domain != domain);
    if (distance < best_distance) {
      best_distance = distance;
      best = row.name;
    }
  }
  return best;
}

}  // namespace weft::ir::onnx_import
