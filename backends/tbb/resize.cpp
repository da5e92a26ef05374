// resize of one or two neighbouring axes, nearest or linear, f32, with elementwise epilogue. Coordinates are tables
// made at compile time with the formulas of ONNX Resize 13, as in the op table.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/tbb/kernel.hpp"

namespace weft::backends::tbb {
namespace {

/// Where output index i takes its value: source `first`, and `second` with weight `t` (0: the first alone).
struct Tap {
  int64_t first = 0, second = 0;
  float t0 = 1, t = 0;
};

/// scale * in before it was rounded down, as ir/ops/resize.cpp takes it.
double unrounded_length(int64_t in, int64_t out, double scale) {
  const double length = scale * static_cast<double>(in), rounded = static_cast<double>(out);
  return std::fabs(length - rounded) < 1e-5 * rounded ? rounded : length;
}

double position_of(const std::string& mode, int64_t i, int64_t in, int64_t out, double scale) {
  const double at = static_cast<double>(i), size = static_cast<double>(in);
  if (mode == "asymmetric") return at / scale;
  if (mode == "align_corners") return out == 1 ? 0 : at * (size - 1) / (unrounded_length(in, out, scale) - 1);
  if (mode == "pytorch_half_pixel" && out == 1) return 0;
  if (mode == "tf_half_pixel_for_nn") return (at + 0.5) / scale;
  const double half_pixel = (at + 0.5) / scale - 0.5;
  if (mode != "half_pixel_symmetric") return half_pixel;
  return half_pixel + size / 2 * (1 - static_cast<double>(out) / (scale * size));
}

int64_t nearest_of(const std::string& rounding, double position) {
  if (rounding == "floor") return static_cast<int64_t>(std::floor(position));
  if (rounding == "ceil") return static_cast<int64_t>(std::ceil(position));
  if (rounding == "round_prefer_ceil") return static_cast<int64_t>(std::floor(position + 0.5));
  return static_cast<int64_t>(std::ceil(position - 0.5));
}

std::vector<Tap> taps_of(const ir::Attributes& attributes, int64_t in, int64_t out, double scale) {
  std::vector<Tap> taps(static_cast<size_t>(out));
  const auto held = [&](int64_t i) { return std::clamp<int64_t>(i, 0, in - 1); };
  for (int64_t i = 0; i < out; ++i) {
    Tap& tap = taps[static_cast<size_t>(i)];
    if (in == out && scale == 1) {
      tap.first = tap.second = i;
      continue;
    }
    const double position =
        std::clamp(position_of(attributes.text("coordinate"), i, in, out, scale), -2.0, static_cast<double>(in) + 1.0);
    if (attributes.text("mode") == "nearest") {
      tap.first = tap.second = held(nearest_of(attributes.text("nearest"), position));
      continue;
    }
    const double base = std::floor(position), t = position - base;
    tap.first = held(static_cast<int64_t>(base));
    tap.second = held(static_cast<int64_t>(base) + 1);
    tap.t0 = static_cast<float>(1 - t);
    tap.t = static_cast<float>(t);
    if (tap.first == tap.second) tap.t0 = 1, tap.t = 0;
  }
  return taps;
}

struct ResizeShape {
  int64_t outer = 1, height = 1, width = 1, inner = 1;
};

class ResizeKernel : public FamilyKernel {
 public:
  ResizeKernel(const FamilyRequest& request, ResizeShape shape, int x, std::vector<Tap> rows, std::vector<Tap> columns,
               Epilogue epilogue)
      : FamilyKernel(request.analysis),
        shape_(shape),
        x_(x),
        rows_(std::move(rows)),
        columns_(std::move(columns)),
        epilogue_(std::move(epilogue)) {
    const double n = static_cast<double>(epilogue_.elements());
    Load load;
    load.bytes = 4 * (n + static_cast<double>(shape_.outer * shape_.height * shape_.width * shape_.inner)) +
                 leaf_bytes(*analysis_, epilogue_.code());
    const bool linear = std::any_of(rows_.begin(), rows_.end(), [](const Tap& t) { return t.t != 0; }) ||
                        std::any_of(columns_.begin(), columns_.end(), [](const Tap& t) { return t.t != 0; });
    const double pixels = n / static_cast<double>(shape_.inner);
    load.compute_ns = pixels * (shape_.inner == 1 ? (linear ? 1.2 : 0.6) : (linear ? 10.0 : 4.0)) +
                      n * (linear ? 0.12 : 0.03) + n * epilogue_.code().nanoseconds_per_element() + 100;
    load.units = shape_.outer * static_cast<int64_t>(rows_.size());
    name = "resize";
    price(load, request.threads, name);
    epilogue_scratch_ = align64(epilogue_.scratch_bytes());
    const int64_t blended = align64(4 * shape_.width * shape_.inner),
                  row = align64(4 * static_cast<int64_t>(columns_.size()) * shape_.inner);
    resources_.scratch_bytes = epilogue_scratch_ + blended + row;
  }

  void run(const RunContext& context, int part) const override {
    const Sources bases = sources(context);
    char* scratch = static_cast<char*>(context.scratch);
    Epilogue::Runner runner(epilogue_, bases, scratch, context);
    float* blended = reinterpret_cast<float*>(scratch + epilogue_scratch_);
    const int64_t source_row = shape_.width * shape_.inner,
                  result_row = static_cast<int64_t>(columns_.size()) * shape_.inner;
    float* buffer = blended + align64(4 * source_row) / 4;
    const int64_t rows = static_cast<int64_t>(rows_.size());
    const Share share = share_of(shape_.outer * rows, 1, part, parts());
    for (int64_t at = share.begin; at < share.end; ++at) {
      const Tap& tap = rows_[static_cast<size_t>(at % rows)];
      const float* image =
          static_cast<const float*>(bases[static_cast<size_t>(x_)]) + at / rows * shape_.height * source_row;
      const float* line = image + tap.first * source_row;
      if (tap.t != 0) {
        row_functions().scale(line, blended, static_cast<size_t>(source_row), tap.t0);
        row_functions().multiply_add_into(blended, image + tap.second * source_row, static_cast<size_t>(source_row),
                                          tap.t);
        line = blended;
      }
      float* to = runner.place(at * result_row, buffer);
      resize_row(line, to);
      runner.finish(at * result_row, result_row, to);
    }
  }

 private:
  void resize_row(const float* line, float* to) const {
    if (shape_.inner == 1) {
      for (size_t i = 0; i < columns_.size(); ++i) {
        const Tap& tap = columns_[i];
        to[i] = tap.t == 0 ? line[tap.first] : tap.t0 * line[tap.first] + tap.t * line[tap.second];
      }
      return;
    }
    const size_t n = static_cast<size_t>(shape_.inner);
    for (const Tap& tap : columns_) {
      const float* first = line + tap.first * shape_.inner;
      if (tap.t == 0) {
        std::memcpy(to, first, n * sizeof(float));
      } else {
        row_functions().scale(first, to, n, tap.t0);
        row_functions().multiply_add_into(to, line + tap.second * shape_.inner, n, tap.t);
      }
      to += shape_.inner;
    }
  }

  ResizeShape shape_;
  int x_;
  std::vector<Tap> rows_, columns_;
  Epilogue epilogue_;
  int64_t epilogue_scratch_ = 0;
};

ir::Refusal no(std::string why) { return {"resize: " + std::move(why)}; }

}  // namespace

Match match_resize(const FamilyRequest& request) {
  const Analysis& analysis = *request.analysis;
  if (analysis.anchors.size() != 1) return no("not exactly one structured op");
  const Anchor& anchor = analysis.anchors[0];
  const ir::Node& node = *anchor.node;
  if (node.op != ir::Op::resize) return no(fmt::format("'{}' is no resize", ir::to_string(node.op)));
  if (node.types[0].dtype != ir::DType::f32) return no(fmt::format("dtype {}", ir::to_string(node.types[0].dtype)));
  const ir::Attributes& attributes = *node.attributes;
  if (attributes.text("mode") == "cubic") return no("cubic interpolation");
  const Source* x = plain_source(analysis, anchor.operands[0]);
  if (!x) return no("x is not an operand as it lies");
  const Ints in = analysis.exprs[anchor.operands[0]].dims, out = ints_of(node.types[0].shape);
  if (product(in) == 0 || product(out) == 0) return no("an empty operand");
  std::vector<size_t> axes;
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] != out[i] || attributes.reals("scales")[i] != 1) axes.push_back(i);
  }
  if (axes.empty()) axes.push_back(in.size() - 1);
  if (axes.size() > 2 || axes.back() - axes.front() > 1) return no("more than two neighbouring axes are resized");
  ResizeShape shape;
  for (size_t i = 0; i < axes.front(); ++i) shape.outer *= in[i];
  for (size_t i = axes.back() + 1; i < in.size(); ++i) shape.inner *= in[i];
  std::vector<Tap> rows(1), columns;
  if (axes.size() == 2) {
    shape.height = in[axes[0]];
    rows = taps_of(attributes, in[axes[0]], out[axes[0]], attributes.reals("scales")[axes[0]]);
  }
  shape.width = in[axes.back()];
  columns = taps_of(attributes, in[axes.back()], out[axes.back()], attributes.reals("scales")[axes.back()]);
  Epilogue epilogue(analysis, anchor.sources[0]);
  if (!epilogue.refusal.empty()) return no(epilogue.refusal);
  return std::make_unique<ResizeKernel>(request, shape, analysis.exprs[anchor.operands[0]].source, std::move(rows),
                                        std::move(columns), std::move(epilogue));
}

}  // namespace weft::backends::tbb
