#include "backends/tbb/expression.hpp"

#include <algorithm>

#include "ir/support/error.hpp"

namespace weft::backends::tbb {

using ir::Op;

int64_t product(const Ints& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

Ints row_major(const Ints& dims) {
  Ints strides(dims.size());
  int64_t step = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = step;
    step *= dims[i];
  }
  return strides;
}

Ints ints_of(const ir::Shape& shape) {
  Ints dims;
  for (const ir::Dim& d : shape) dims.push_back(d.value());
  return dims;
}

// ---- movement
// ------------------------------------------------------------------------------------------------------------

ExprId Expressions::intern(Expr expr) {
  for (size_t i = 0; i < exprs_.size(); ++i) {
    if (exprs_[i] == expr) return static_cast<ExprId>(i);
  }
  exprs_.push_back(std::move(expr));
  return static_cast<ExprId>(exprs_.size() - 1);
}

ExprId Expressions::leaf(int source, const ir::TensorType& type) {
  Expr e;
  e.dtype = type.dtype;
  e.dims = ints_of(type.shape);
  e.source = source;
  e.strides = row_major(e.dims);
  for (size_t i = 0; i < e.dims.size(); ++i) {
    if (e.dims[i] == 1) e.strides[i] = 0;
  }
  return intern(std::move(e));
}

ExprId Expressions::elementwise(const ir::Node& node, std::vector<ExprId> children, ir::DType dtype, const Ints& dims) {
  Expr e;
  e.kind = Expr::Kind::elementwise;
  e.dtype = dtype;
  e.dims = dims;
  e.node = &node;
  for (ExprId child : children) {
    const ExprId aligned = broadcast(child, dims);
    if (aligned == kNoExpr) return kNoExpr;
    e.children.push_back(aligned);
  }
  return intern(std::move(e));
}

ExprId Expressions::concat(std::vector<ExprId> children, int axis) {
  if (children.size() == 1) return children[0];
  Expr e = exprs_[static_cast<size_t>(children[0])];
  e.kind = Expr::Kind::concat;
  e.source = -1;
  e.offset = 0;
  e.strides.clear();
  e.node = nullptr;
  e.axis = axis;
  e.children.assign(children.begin(), children.end());
  int64_t total = 0;
  for (ExprId child : children) total += exprs_[static_cast<size_t>(child)].dims[static_cast<size_t>(axis)];
  e.dims[static_cast<size_t>(axis)] = total;
  return intern(std::move(e));
}

/// Applies one movement to all below `id`. `on_leaf(Expr&) -> bool` changes a leaf's dims, strides and offset;
/// `on_concat(id, recurse) -> ExprId` answers for a concat. Elementwise nodes take the dims of their children.
template <typename OnLeaf, typename OnConcat>
ExprId Expressions::rebuild(ExprId id, const OnLeaf& on_leaf, const OnConcat& on_concat) {
  std::map<ExprId, ExprId> done;
  const auto visit = [&](const auto& self, ExprId at) -> ExprId {
    if (const auto known = done.find(at); known != done.end()) return known->second;
    Expr e = exprs_[static_cast<size_t>(at)];
    ExprId result = kNoExpr;
    if (e.kind == Expr::Kind::leaf) {
      if (on_leaf(e)) result = intern(std::move(e));
    } else if (e.kind == Expr::Kind::concat) {
      result = on_concat(e, [&](ExprId child) { return self(self, child); });
    } else {
      bool ok = true;
      for (ExprId& child : e.children) {
        child = self(self, child);
        ok = ok && child != kNoExpr;
        if (!ok) break;
      }
      if (ok) {
        e.dims = exprs_[static_cast<size_t>(e.children[0])].dims;
        result = intern(std::move(e));
      }
    }
    done[at] = result;
    return result;
  };
  return visit(visit, id);
}

ExprId Expressions::transpose(ExprId id, const Ints& permutation) {
  const auto permute = [&](const Ints& from) {
    Ints to(from.size());
    for (size_t i = 0; i < from.size(); ++i) to[i] = from[static_cast<size_t>(permutation[i])];
    return to;
  };
  return rebuild(
      id,
      [&](Expr& leaf) {
        leaf.dims = permute(leaf.dims);
        leaf.strides = permute(leaf.strides);
        return true;
      },
      [&](const Expr& e, const auto& recurse) {
        std::vector<ExprId> children;
        for (ExprId child : e.children) children.push_back(recurse(child));
        if (std::find(children.begin(), children.end(), kNoExpr) != children.end()) return kNoExpr;
        const auto place = std::find(permutation.begin(), permutation.end(), e.axis);
        return concat(std::move(children), static_cast<int>(place - permutation.begin()));
      });
}

ExprId Expressions::broadcast(ExprId id, const Ints& dims) {
  if (exprs_[static_cast<size_t>(id)].dims == dims) return id;
  const auto widen = [](Expr& leaf, const Ints& to) {
    const size_t lead = to.size() - leaf.dims.size();
    Ints strides(to.size(), 0);
    for (size_t i = lead; i < to.size(); ++i) {
      strides[i] = leaf.dims[i - lead] == to[i] ? leaf.strides[i - lead] : 0;
    }
    leaf.dims = to;
    leaf.strides = std::move(strides);
  };
  return rebuild(
      id,
      [&](Expr& leaf) {
        widen(leaf, dims);
        return true;
      },
      [&](const Expr& e, const auto&) {
        const size_t lead = dims.size() - e.dims.size();
        std::vector<ExprId> children;
        for (ExprId child : e.children) {
          Ints target = dims;
          target[lead + static_cast<size_t>(e.axis)] =
              exprs_[static_cast<size_t>(child)].dims[static_cast<size_t>(e.axis)];
          children.push_back(broadcast(child, target));
          if (children.back() == kNoExpr) return kNoExpr;
        }
        return concat(std::move(children), static_cast<int>(lead) + e.axis);
      });
}

namespace {

/// Strides of a view under other dims, where one exists (numpy's attempt to reshape without a copy).
bool reshape_view(Expr& leaf, const Ints& to) {
  if (product(to) == 0) {
    leaf.dims = to;
    leaf.strides = Ints(to.size(), 0);
    return true;
  }
  Ints dims, strides;
  for (size_t i = 0; i < leaf.dims.size(); ++i) {
    if (leaf.dims[i] == 1) continue;
    dims.push_back(leaf.dims[i]);
    strides.push_back(leaf.strides[i]);
  }
  Ints result(to.size(), 0);
  size_t from_begin = 0, to_begin = 0;
  while (from_begin < dims.size()) {
    size_t from_end = from_begin + 1, to_end = to_begin;
    int64_t from_count = dims[from_begin], to_count = 1;
    while (to_end < to.size() && to[to_end] == 1) ++to_end;
    to_count = to[to_end++];
    while (from_count != to_count) {
      if (from_count < to_count)
        from_count *= dims[from_end++];
      else
        to_count *= to[to_end++];
    }
    for (size_t i = from_begin; i + 1 < from_end; ++i) {
      if (strides[i] != strides[i + 1] * dims[i + 1]) return false;
    }
    int64_t step = strides[from_end - 1];
    for (size_t i = to_end; i-- > to_begin;) {
      result[i] = to[i] == 1 ? 0 : step;
      step *= to[i];
    }
    from_begin = from_end;
    to_begin = to_end;
  }
  leaf.dims = to;
  leaf.strides = std::move(result);
  return true;
}

}  // namespace

ExprId Expressions::reshape(ExprId id, const Ints& dims) {
  if (exprs_[static_cast<size_t>(id)].dims == dims) return id;
  return rebuild(
      id, [&](Expr& leaf) { return reshape_view(leaf, dims); },
      [&](const Expr& e, const auto&) {
        // Only where the concat is along the same number of leading elements: the axis keeps its place as the outermost
        // split of its block, so that each child is reshaped alone.
        int64_t before = 1, seen = 1;
        for (int i = 0; i < e.axis; ++i) before *= e.dims[static_cast<size_t>(i)];
        size_t axis = 0;
        while (axis < dims.size() && seen < before) seen *= dims[axis++];
        while (axis < dims.size() && dims[axis] == 1) ++axis;
        if (seen != before || axis == dims.size() || dims[axis] != e.dims[static_cast<size_t>(e.axis)]) return kNoExpr;
        std::vector<ExprId> children;
        for (ExprId child : e.children) {
          Ints target = dims;
          target[axis] = exprs_[static_cast<size_t>(child)].dims[static_cast<size_t>(e.axis)];
          if (target[axis] == 0) return kNoExpr;
          children.push_back(reshape(child, target));
          if (children.back() == kNoExpr) return kNoExpr;
        }
        return concat(std::move(children), static_cast<int>(axis));
      });
}

ExprId Expressions::slice(ExprId id, int axis, int64_t start, int64_t count, int64_t step) {
  const size_t at = static_cast<size_t>(axis);
  if (start == 0 && step == 1 && count == exprs_[static_cast<size_t>(id)].dims[at]) return id;
  return rebuild(
      id,
      [&](Expr& leaf) {
        leaf.offset += start * leaf.strides[at];
        leaf.strides[at] = count == 1 ? 0 : leaf.strides[at] * step;
        leaf.dims[at] = count;
        if (count == 0) leaf.offset = 0;
        return true;
      },
      [&](const Expr& e, const auto& recurse) {
        std::vector<ExprId> children;
        if (e.axis != axis) {
          for (ExprId child : e.children) children.push_back(recurse(child));
        } else {
          if (step != 1 || count == 0) return kNoExpr;
          int64_t begin = 0;
          for (ExprId child : e.children) {
            const int64_t length = exprs_[static_cast<size_t>(child)].dims[at], end = begin + length;
            const int64_t low = std::max(begin, start), high = std::min(end, start + count);
            if (low < high) children.push_back(slice(child, axis, low - begin, high - low, 1));
            begin = end;
          }
        }
        if (std::find(children.begin(), children.end(), kNoExpr) != children.end()) return kNoExpr;
        return concat(std::move(children), e.axis);
      });
}

bool Expressions::is_identity(ExprId id) const {
  const Expr& e = exprs_[static_cast<size_t>(id)];
  if (e.kind != Expr::Kind::leaf || e.offset != 0) return false;
  const Ints strides = row_major(e.dims);
  for (size_t i = 0; i < e.dims.size(); ++i) {
    if (e.dims[i] != 1 && e.strides[i] != strides[i]) return false;
  }
  return true;
}

std::vector<ExprId> Expressions::reachable(const std::vector<ExprId>& roots) const {
  std::vector<ExprId> order;
  std::vector<bool> seen(exprs_.size(), false);
  const auto visit = [&](const auto& self, ExprId id) -> void {
    if (seen[static_cast<size_t>(id)]) return;
    seen[static_cast<size_t>(id)] = true;
    for (ExprId child : (*this)[id].children) self(self, child);
    order.push_back(id);
  };
  for (ExprId root : roots) visit(visit, root);
  return order;
}

}  // namespace weft::backends::tbb
