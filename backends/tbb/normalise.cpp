// softmax, log_softmax, layer_norm and rms_norm in one pass over rows held in cache, with elementwise prologue and
// epilogue. Rows along the last axes are normalised one by one; softmax over another axis runs column by column on
// blocks.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/tbb/kernel.hpp"

namespace weft::backends::tbb {
namespace {

using ir::Op;

/// scale or bias of a norm: a view over one normalised row.
struct RowOperand {
  bool present = false;
  int source = 0;
  int64_t offset = 0;
  Ints dims, strides;
  bool contiguous = false;
};

struct Shape3 {
  int64_t outer = 1, length = 1, inner = 1;
};

double blocked_sum(const float* x, int64_t n) {
  double total = 0;
  for (int64_t i = 0; i < n; i += 1024)
    total += row_functions().sum(x + i, static_cast<size_t>(std::min<int64_t>(1024, n - i)));
  return total;
}

class NormaliseKernel : public FamilyKernel {
 public:
  NormaliseKernel(const FamilyRequest& request, std::shared_ptr<const Analysis> analysis, const Anchor& anchor,
                  Code prologue, Epilogue epilogue, Shape3 shape, RowOperand scale, RowOperand bias, int kept)
      : FamilyKernel(std::move(analysis)),
        op_(anchor.node->op),
        prologue_(std::move(prologue)),
        epilogue_(std::move(epilogue)),
        shape_(shape),
        scale_(std::move(scale)),
        bias_(std::move(bias)),
        kept_(kept),
        plain_(plain_source(*analysis_, anchor.operands[0])),
        plain_index_(plain_ ? analysis_->exprs[anchor.operands[0]].source : -1) {
    if (op_ == Op::layer_norm || op_ == Op::rms_norm) epsilon_ = anchor.node->attributes->real("eps");
    // Rows (or columns) at once: about 16 KB.
    if (shape_.inner == 1) {
      rows_ = std::clamp<int64_t>(4096 / shape_.length, 1, 64);
      units_ = shape_.outer;
    } else {
      columns_ = std::min(shape_.inner, std::max<int64_t>(16, 8192 / shape_.length / 16 * 16));
      units_ = shape_.outer * ((shape_.inner + columns_ - 1) / columns_);
    }
    const double n = static_cast<double>(prologue_.elements);
    Load load;
    load.bytes = leaf_bytes(*analysis_, prologue_) + leaf_bytes(*analysis_, epilogue_.code()) + (kept_ < 0 ? 4 : 8) * n;
    const double each = op_ == Op::softmax || op_ == Op::log_softmax ? 0.24 : 0.2;
    load.compute_ns = n * (prologue_.nanoseconds_per_element() + epilogue_.code().nanoseconds_per_element() +
                           each * chunk_cost(VectorOp::exp) / 0.35) +
                      30.0 * static_cast<double>(shape_.outer * (shape_.inner == 1 ? 1 : shape_.length)) + 100;
    load.units = (units_ + grain() - 1) / grain();
    name = std::string(ir::to_string(op_));
    price(load, request.threads, "normalise");
    block_elements_ = shape_.inner == 1 ? rows_ * shape_.length : columns_ * shape_.length;
    prologue_scratch_ = align64(prologue_.scratch_bytes);
    epilogue_scratch_ = align64(epilogue_.scratch_bytes());
    resources_.scratch_bytes = prologue_scratch_ + epilogue_scratch_ + align64(4 * block_elements_) +
                               2 * align64(4 * shape_.length) + 4 * align64(4 * columns_);
    if (plain_ && epilogue_.trivial && shape_.inner == 1) resources_.in_place.push_back(plain_->index);
    if (plain_ && plain_->kind != Source::Kind::input) resources_.in_place.clear();
  }

  void run(const RunContext& context, int part) const override {
    if (prologue_.elements == 0) return;
    char* scratch = static_cast<char*>(context.scratch);
    const Sources bases = sources(context);
    Block block(prologue_, bases, scratch);
    Epilogue::Runner epilogue(epilogue_, bases, scratch + prologue_scratch_, context);
    char* at = scratch + prologue_scratch_ + epilogue_scratch_;
    const auto take = [&](int64_t floats) {
      float* result = reinterpret_cast<float*>(at);
      at += align64(4 * floats);
      return result;
    };
    Buffers buffers;
    buffers.values = take(block_elements_);
    buffers.scale = row_operand(scale_, bases, take(shape_.length));
    buffers.bias = row_operand(bias_, bases, take(shape_.length));
    for (float*& column : buffers.columns) column = take(columns_);
    const Share share = share_of(units_, grain(), part, parts());
    if (shape_.inner == 1)
      run_rows(share, block, epilogue, buffers,
               plain_ ? static_cast<const float*>(bases[static_cast<size_t>(plain_index_)]) : nullptr,
               kept_ < 0 ? nullptr : static_cast<float*>(context.outputs[static_cast<size_t>(kept_)]));
    else
      run_columns(share, block, epilogue, buffers);
  }

 private:
  struct Buffers {
    float* values;
    const float *scale, *bias;
    float* columns[4];
  };

  int64_t grain() const { return shape_.inner == 1 ? rows_ : 1; }

  const float* row_operand(const RowOperand& operand, const Sources& bases, float* buffer) const {
    if (!operand.present) return nullptr;
    const float* base = static_cast<const float*>(bases[static_cast<size_t>(operand.source)]) + operand.offset;
    if (operand.contiguous) return base;
    const Ints strides = row_major(operand.dims);
    copy_strided(buffer, strides.data(), base, operand.strides.data(), operand.dims.data(), operand.dims.size(), 4);
    return buffer;
  }

  void run_rows(Share share, Block& block, Epilogue::Runner& epilogue, const Buffers& buffers, const float* plain,
                float* kept) const {
    const int64_t length = shape_.length;
    for (int64_t row = share.begin; row < share.end; row += rows_) {
      const int64_t count = std::min(rows_, share.end - row), begin = row * length, n = count * length;
      float* values = kept ? kept + begin : buffers.values;
      const float* x = plain ? plain + begin : values;
      if (!plain) {
        for_boxes(prologue_, begin, begin + n, [&](const Box& box, int64_t flat, int64_t) {
          void* direct[1] = {values + (flat - begin)};
          block.run(box, direct);
        });
      }
      float* to = epilogue.place(begin, buffers.values);
      for (int64_t r = 0; r < count; ++r) normalise_row(x + r * length, to + r * length, buffers);
      epilogue.finish(begin, n, to);
    }
  }

  void normalise_row(const float* x, float* to, const Buffers& buffers) const {
    const RowFunctions& f = row_functions();
    const int64_t length = shape_.length;
    const size_t n = static_cast<size_t>(length);
    switch (op_) {
      case Op::softmax: {
        const float sum = f.exp_sum(x, to, n, f.max_number(x, n));
        f.scale(to, to, n, 1 / sum);
        return;
      }
      case Op::log_softmax: {
        const float greatest = f.max_number(x, n), log_sum = static_cast<float>(std::log(f.sum_exp(x, n, greatest)));
        f.scale_shift(x, to, n, greatest, log_sum, 1, nullptr, nullptr);
        return;
      }
      case Op::layer_norm: {
        const double mean = blocked_sum(x, length) / static_cast<double>(length);
        const float high = static_cast<float>(mean), low = static_cast<float>(mean - high);
        const double squares =
            f.sum_squares_about(x, n, high) - static_cast<double>(length) * (mean - high) * (mean - high);
        const double variance = std::max(squares, 0.0) / static_cast<double>(length);
        f.scale_shift(x, to, n, high, low,
                      static_cast<float>(1 / std::sqrt(std::isnan(squares) ? squares : variance + epsilon_)),
                      buffers.scale, buffers.bias);
        return;
      }
      default: {
        const double mean_square = f.sum_squares_about(x, n, 0) / static_cast<double>(length);
        f.scale_shift(x, to, n, 0, 0, static_cast<float>(1 / std::sqrt(mean_square + epsilon_)), buffers.scale,
                      nullptr);
      }
    }
  }

  /// Softmax along an axis that is not the innermost: blocks of [length] x [columns].
  void run_columns(Share share, Block& block, Epilogue::Runner& epilogue, const Buffers& buffers) const {
    const int64_t pieces = (shape_.inner + columns_ - 1) / columns_;
    for (int64_t unit = share.begin; unit < share.end; ++unit) {
      const int64_t outer = unit / pieces, column = unit % pieces * columns_,
                    width = std::min(columns_, shape_.inner - column);
      const auto flat_of = [&](int64_t j) { return (outer * shape_.length + j) * shape_.inner + column; };
      const bool whole = width == shape_.inner;
      const auto load = [&](int64_t flat, int64_t n, float* to) {
        for_boxes(prologue_, flat, flat + n, [&](const Box& box, int64_t at, int64_t) {
          void* direct[1] = {to + (at - flat)};
          block.run(box, direct);
        });
      };
      if (whole)
        load(flat_of(0), shape_.length * width, buffers.values);
      else
        for (int64_t j = 0; j < shape_.length; ++j) load(flat_of(j), width, buffers.values + j * width);
      softmax_columns(buffers, width);
      if (whole)
        epilogue.finish(flat_of(0), shape_.length * width, buffers.values);
      else
        for (int64_t j = 0; j < shape_.length; ++j) epilogue.finish(flat_of(j), width, buffers.values + j * width);
    }
  }

  void softmax_columns(const Buffers& buffers, int64_t width) const {
    const RowFunctions& f = row_functions();
    const size_t n = static_cast<size_t>(width);
    float *greatest = buffers.columns[0], *sum = buffers.columns[1], *run = buffers.columns[2],
          *spare = buffers.columns[3];
    std::copy_n(buffers.values, width, greatest);
    for (int64_t j = 1; j < shape_.length; ++j) f.max_into(greatest, buffers.values + j * width, n);
    std::fill_n(sum, width, 0.0f);
    std::fill_n(run, width, 0.0f);
    const bool log = op_ == Op::log_softmax;
    for (int64_t j = 0; j < shape_.length; ++j) {
      float* row = buffers.values + j * width;
      f.exp_columns(row, greatest, log ? spare : row, run, n);
      if (j % 64 == 63) {
        f.add_into(sum, run, n);
        std::fill_n(run, width, 0.0f);
      }
    }
    f.add_into(sum, run, n);
    for (int64_t k = 0; k < width; ++k) sum[k] = log ? std::log(sum[k]) : 1 / sum[k];
    for (int64_t j = 0; j < shape_.length; ++j) {
      float* row = buffers.values + j * width;
      if (!log)
        f.mul_into(row, sum, n);
      else
        for (int64_t k = 0; k < width; ++k) row[k] = (row[k] - greatest[k]) - sum[k];
    }
  }

  Op op_;
  Code prologue_;
  Epilogue epilogue_;
  Shape3 shape_;
  RowOperand scale_, bias_;
  int kept_;  ///< the output that is the operand itself: it is computed there; or -1
  const Source* plain_;
  int plain_index_;
  double epsilon_ = 0;
  int64_t rows_ = 1, columns_ = 1, units_ = 0, block_elements_ = 0;
  int64_t prologue_scratch_ = 0, epilogue_scratch_ = 0;
};

ir::Refusal no(std::string why) { return {"normalise: " + std::move(why)}; }

}  // namespace

Match match_normalise(const FamilyRequest& request) {
  if (request.analysis->anchors.size() != 1) return no("not exactly one structured op");
  const Anchor& anchor = request.analysis->anchors[0];
  const Op op = anchor.node->op;
  const bool softmax = op == Op::softmax || op == Op::log_softmax;
  if (!softmax && op != Op::layer_norm && op != Op::rms_norm)
    return no(fmt::format("'{}' is no softmax or norm", ir::to_string(op)));
  auto analysis = std::make_shared<Analysis>(*request.analysis);
  const ExprId x = anchor.operands[0];
  const Ints dims = analysis->exprs[x].dims;
  if (analysis->exprs[x].dtype != ir::DType::f32)
    return no(fmt::format("dtype {}", ir::to_string(analysis->exprs[x].dtype)));
  int64_t axis = anchor.node->attributes->integer("axis");
  if (axis < 0) axis += static_cast<int64_t>(dims.size());
  Shape3 shape;
  Ints row;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i);
    if (at < axis)
      shape.outer *= dims[i];
    else if (at == axis || !softmax)
      shape.length *= dims[i], row.push_back(dims[i]);
    else
      shape.inner *= dims[i];
  }
  if (shape.length == 0) return no("rows of no elements");
  if (shape.length * std::min<int64_t>(shape.inner, 16) > (int64_t{1} << 24)) return no("rows above 2^24 elements");
  RowOperand operands[2];
  for (size_t i = 1; i < anchor.operands.size(); ++i) {
    const ExprId view = analysis->exprs.broadcast(anchor.operands[i], row);
    if (view == kNoExpr || analysis->exprs[view].kind != Expr::Kind::leaf) return no("scale or bias is computed");
    const Expr& e = analysis->exprs[view];
    if (analysis->sources[static_cast<size_t>(e.source)].kind == Source::Kind::anchor)
      return no("scale or bias is computed");
    operands[i - 1] = {true, e.source, e.offset, e.dims, e.strides, analysis->exprs.is_identity(view)};
  }
  Code prologue(*analysis, {x});
  if (!prologue.refusal.empty()) return no(prologue.refusal);
  int kept = -1;
  std::vector<size_t> others;
  for (size_t i = 0; i < analysis->outputs.size(); ++i) {
    const bool operand = analysis->outputs[i] == x && analysis->exprs[x].kind == Expr::Kind::elementwise;
    if (operand && kept < 0 && shape.inner == 1 && analysis->outputs.size() > 1)
      kept = static_cast<int>(i);
    else
      others.push_back(i);
  }
  if (others.empty()) return no("no output depends on the norm");
  Epilogue epilogue(*analysis, anchor.sources[0], others);
  if (!epilogue.refusal.empty()) return no(epilogue.refusal);
  const Anchor copy = anchor;
  return std::make_unique<NormaliseKernel>(request, std::move(analysis), copy, std::move(prologue), std::move(epilogue),
                                           shape, operands[0], operands[1], kept);
}

}  // namespace weft::backends::tbb
