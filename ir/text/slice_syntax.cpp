// x[start:end:step, index]: bounds as in Python (absent, negative, beyond the end), made the op's plain ones.
#include <algorithm>

#include "ir/text/builder.hpp"

namespace weft::ir {
namespace {

struct AxisRange {
  Dim start, end;
  int64_t step = 1;
  bool dropped = false;  ///< an index: the axis goes away
};

bool missing(const Expr& e) { return e.kind == Expr::Kind::name && e.name.empty(); }

/// A bound from the end where negative, kept within [low, high]; symbolic ones are taken as they are.
Dim clamp_bound(const Dim& bound, const Dim& size, int64_t low, const Dim& high) {
  if (!bound.is_constant()) return bound;
  Dim from_start = bound.value() < 0 ? size + bound : bound;
  if (!from_start.is_constant() || !high.is_constant()) return from_start;
  return std::clamp(from_start.value(), low, std::max(low, high.value()));
}

int64_t step_of(const Expr& range, const Source& source) {
  if (range.children.size() < 3 || missing(range.children[2])) return 1;
  Dim step = dim_of(range.children[2], source);
  if (!step.is_constant() || step.is(0) || step.is(INT64_MIN))
    source.fail(range.children[2].at, "expected a step other than 0");
  return step.value();
}

AxisRange range_of(const Expr& range, const Dim& size, const Source& source) {
  AxisRange out;
  if (range.children.size() == 1) {
    Dim index = dim_of(range.children[0], source);
    if (index.is_constant() && index.value() < 0) index = size + index;
    return {index, index + 1, 1, true};
  }
  out.step = step_of(range, source);
  bool forward = out.step > 0;
  Dim last = forward ? size : size - 1;
  int64_t low = forward ? 0 : -1;
  const Expr &start = range.children[0], &end = range.children[1];
  out.start = missing(start) ? (forward ? Dim(0) : last) : clamp_bound(dim_of(start, source), size, low, last);
  out.end = missing(end) ? (forward ? size : Dim(-1)) : clamp_bound(dim_of(end, source), size, low, last);
  return out;
}

}  // namespace

NodeId Builder::slice(const Expr& call, std::string_view name) {
  Value x = value(call.children[0]);
  const Shape shape = graph_.type(x).shape;
  if (call.children.size() - 1 > shape.size())
    source_.fail(call.at,
                 fmt::format("{} ranges for a value of type {}", call.children.size() - 1, to_string(graph_.type(x))));
  Shape starts, ends, kept;
  std::vector<int64_t> steps;
  bool drops = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    AxisRange range{0, shape[i]};
    if (i + 1 < call.children.size()) {
      const Expr& written = call.children[i + 1];
      if (written.kind != Expr::Kind::range) source_.fail(written.at, "expected a range start:end");
      range = range_of(written, shape[i], source_);
    }
    starts.push_back(range.start);
    ends.push_back(range.end);
    steps.push_back(range.step);
    drops |= range.dropped;
  }
  Attributes attributes{{"starts", starts}, {"ends", ends}, {"steps", steps}};
  NodeId sliced = add(Op::slice, {x}, attributes, drops ? "" : name, call.at);
  if (!drops) return sliced;
  for (size_t i = 0; i < shape.size(); ++i)
    if (i + 1 >= call.children.size() || call.children[i + 1].children.size() != 1)
      kept.push_back(graph_.type({sliced, 0}).shape[i]);
  return add(Op::reshape, {{sliced, 0}}, Attributes{{"shape", kept}}, name, call.at);
}

}  // namespace weft::ir
