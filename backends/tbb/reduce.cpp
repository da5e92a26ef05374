// Programs around one reduction: elementwise prologue, sum / mean / max / min / prod over any axes, elementwise
// epilogue. Values of the prologue's domain may be outputs too: x' and mean(x') from one pass (squeeze-excite). The
// order of additions depends on the shape alone, never on parts or threads.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/tbb/kernel.hpp"

namespace weft::backends::tbb {
namespace {

using ir::Op;

constexpr int64_t kChunk = 1024;  // results held at once
constexpr int64_t kRun = 64;      // rows added in f32 before they go to double
constexpr int64_t kChains = 4;    // row r is added to chain r mod 4

/// Sums of 1024 in f32, those in double.
double blocked_sum(const float* x, int64_t n) {
  double total = 0;
  for (int64_t i = 0; i < n; i += 1024)
    total += row_functions().sum(x + i, static_cast<size_t>(std::min<int64_t>(1024, n - i)));
  return total;
}

/// One result in the making, over pieces of a row.
struct Accumulator {
  Op op;
  double wide;
  float narrow;
  explicit Accumulator(Op kind) : op(kind), wide(kind == Op::reduce_prod ? 1 : 0) {
    narrow = kind == Op::reduce_max ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  }
  void take(const float* x, int64_t n) {
    switch (op) {
      case Op::reduce_max: {
        const float pair[2] = {narrow, row_functions().max(x, static_cast<size_t>(n))};
        narrow = row_functions().max(pair, 2);
        break;
      }
      case Op::reduce_min: {
        const float pair[2] = {narrow, row_functions().min(x, static_cast<size_t>(n))};
        narrow = row_functions().min(pair, 2);
        break;
      }
      case Op::reduce_prod:
        for (int64_t i = 0; i < n; ++i) wide *= x[i];
        break;
      default:
        wide += blocked_sum(x, n);
    }
  }
  float result(int64_t count) const {
    if (op == Op::reduce_max || op == Op::reduce_min) return narrow;
    return static_cast<float>(op == Op::reduce_mean ? wide / static_cast<double>(count) : wide);
  }
};

class ReduceKernel : public FamilyKernel {
 public:
  /// The prologue's first output is reduced; the others go to the outputs numbered `kept`.
  ReduceKernel(const FamilyRequest& request, std::shared_ptr<const Analysis> analysis, Op op, Code prologue,
               Epilogue epilogue, int64_t count, std::vector<size_t> kept)
      : FamilyKernel(std::move(analysis)),
        op_(op),
        prologue_(std::move(prologue)),
        epilogue_(std::move(epilogue)),
        count_(count),
        kept_(std::move(kept)) {
    const size_t reduced = prologue_.groups[1];
    for (size_t i = reduced; i < prologue_.dims.size(); ++i) columns_ *= prologue_.dims[i];
    columnwise_ = reduced < prologue_.dims.size();
    plain_ = columnwise_ && prologue_.instructions.empty() && kept_.empty() && prologue_.leaves.size() == 1 &&
             prologue_.leaves[0].strides.back() == 1 && prologue_.leaves[0].pieces.empty();
    if (columnwise_ && !plain_) at_once_ = std::min(kChunk, prologue_.block);  // one row of a box
    natural_ = row_major(prologue_.dims);
    results_ = epilogue_.elements();
    const double n = static_cast<double>(prologue_.elements);
    Load load;
    load.bytes = leaf_bytes(*analysis_, prologue_) + 4.0 * static_cast<double>(results_) +
                 leaf_bytes(*analysis_, epilogue_.code()) + 4.0 * n * static_cast<double>(kept_.size());
    load.compute_ns = n * prologue_.nanoseconds_per_element() +
                      static_cast<double>(results_) * epilogue_.code().nanoseconds_per_element() + 100;
    load.compute_ns += 0.08 * n * static_cast<double>(kept_.size());
    const bool sums = op_ == Op::reduce_sum || op_ == Op::reduce_mean;
    if (plain_)
      load.compute_ns += (!sums ? 0.2 : columns_ >= 1024 ? 0.14 : 0.07) * n;
    else if (columnwise_)
      load.compute_ns += (sums ? 0.08 : 0.2) * n + 50 * n / static_cast<double>(std::min(prologue_.block, kChunk));
    else
      load.compute_ns += 0.045 * n + 50 * n / static_cast<double>(prologue_.block) +
                         (sums && count_ <= 1024 ? 4 : 12) * static_cast<double>(results_);
    for (const CodeLeaf& leaf : prologue_.leaves) {
      if (leaf.strides.back() != 1 && leaf.strides.back() != 0) load.compute_ns += 0.5 * n;
    }
    load.units = (results_ + grain() - 1) / grain();
    name = "reduce";
    price(load, request.threads, name);
    prologue_scratch_ = align64(prologue_.scratch_bytes);
    epilogue_scratch_ = align64(epilogue_.scratch_bytes());
    resources_.scratch_bytes =
        prologue_scratch_ + epilogue_scratch_ + kChunk * 8 + kChunk * 4 * (kChains + 1) + align64(prologue_.block * 4);
  }

  void run(const RunContext& context, int part) const override {
    if (results_ == 0) return;
    char* scratch = static_cast<char*>(context.scratch);
    Block block(prologue_, sources(context), scratch);
    std::vector<void*> kept;
    for (size_t output : kept_) kept.push_back(context.outputs[output]);
    Epilogue::Runner epilogue(epilogue_, sources(context), scratch + prologue_scratch_, context);
    char* rest = scratch + prologue_scratch_ + epilogue_scratch_;
    Buffers buffers;
    buffers.wide = reinterpret_cast<double*>(rest);
    buffers.narrow = reinterpret_cast<float*>(rest + kChunk * 8);
    buffers.results = buffers.narrow + kChains * kChunk;
    buffers.row = buffers.results + kChunk;
    const Share share = share_of(results_, grain(), part, parts());
    for (int64_t begin = share.begin; begin < share.end; begin += at_once_) {
      const int64_t n = std::min(at_once_, share.end - begin);
      float* to = epilogue.place(begin, buffers.results);
      if (columnwise_)
        reduce_columns(block, kept, begin, n, buffers, to);
      else
        reduce_rows(block, kept, begin, n, buffers, to);
      epilogue.finish(begin, n, to);
    }
  }

 private:
  struct Buffers {
    double* wide;    // kChunk
    float* narrow;   // kChains * kChunk
    float* results;  // kChunk
    float* row;      // prologue_.block
  };

  int64_t grain() const { return columnwise_ ? 16 : 1; }

  /// Reduced axes innermost: result f is the reduction of elements [f * count, (f + 1) * count) of the domain.
  void reduce_rows(Block& block, const std::vector<void*>& kept, int64_t begin, int64_t n, const Buffers& buffers,
                   float* to) const {
    Accumulator open(op_);
    for_boxes(prologue_, begin * count_, (begin + n) * count_, [&](const Box& box, int64_t flat, int64_t size) {
      run_box(block, box, kept, true);
      const float* data = static_cast<const float*>(block.result(0));
      while (size > 0) {
        const int64_t row = flat / count_, column = flat % count_, take = std::min(size, count_ - column);
        const bool whole = take == count_, ends = column + take == count_;
        if (whole && size > take && count_ <= 1024 && (op_ == Op::reduce_sum || op_ == Op::reduce_mean)) {
          const int64_t rows = size / count_;
          sum_short_rows(data, rows, to + (row - begin));
          flat += rows * count_;
          data += rows * count_;
          size -= rows * count_;
          continue;
        }
        if (whole) {
          Accumulator one(op_);
          one.take(data, take);
          to[row - begin] = one.result(count_);
        } else if (count_ <= prologue_.block) {  // put together, so that the order of additions is that of a whole row
          std::memcpy(buffers.row + column, data, static_cast<size_t>(take) * sizeof(float));
          if (ends) {
            Accumulator one(op_);
            one.take(buffers.row, count_);
            to[row - begin] = one.result(count_);
          }
        } else {
          if (column == 0) open = Accumulator(op_);
          open.take(data, take);
          if (ends) to[row - begin] = open.result(count_);
        }
        flat += take;
        data += take;
        size -= take;
      }
    });
  }

  /// Runs the prologue; what is kept is computed where it belongs, or copied there where a box is no one piece of it.
  void run_box(Block& block, const Box& box, const std::vector<void*>& kept, bool one_piece) const {
    boost::container::small_vector<void*, 2> direct(1 + kept.size(), nullptr);
    for (size_t k = 0; one_piece && k < kept.size(); ++k) {
      const Ints& strides = prologue_.outputs[k + 1].strides;
      if (strides != natural_ || prologue_.outputs[k + 1].dtype != ir::DType::f32) continue;
      int64_t offset = prologue_.outputs[k + 1].offset;
      for (size_t i = 0; i < strides.size(); ++i) offset += box.start[i] * strides[i];
      direct[k + 1] = static_cast<float*>(kept[k]) + offset;
    }
    block.run(box, direct.data());
    for (size_t k = 0; k < kept.size(); ++k) {
      if (!direct[k + 1]) block.scatter(k + 1, kept[k]);
    }
  }

  void sum_short_rows(const float* data, int64_t rows, float* to) const {
    row_functions().sum_rows(data, static_cast<size_t>(rows), static_cast<size_t>(count_), to);
    if (op_ != Op::reduce_mean) return;
    for (int64_t i = 0; i < rows; ++i)
      to[i] = static_cast<float>(static_cast<double>(to[i]) / static_cast<double>(count_));
  }

  /// Rows of a box: several rows of a part of the columns are packed, which pays for short ones.
  int64_t rows_at_once(int64_t width) const {
    return width < columns_ && width >= 256 ? 1 : std::max<int64_t>(1, prologue_.block / width);
  }

  /// Kept axes innermost: whole rows of results are accumulated.
  void reduce_columns(Block& block, const std::vector<void*>& kept, int64_t begin, int64_t n, const Buffers& buffers,
                      float* to) const {
    while (n > 0) {
      const int64_t column = begin % columns_, take = std::min(n, columns_ - column);
      accumulate_run(block, kept, begin / columns_, column, take, buffers, to);
      begin += take;
      to += take;
      n -= take;
    }
  }

  void accumulate_run(Block& block, const std::vector<void*>& kept, int64_t outer, int64_t column, int64_t width,
                      const Buffers& buffers, float* to) const {
    const size_t outer_dims = prologue_.groups[0], last = prologue_.dims.size() - 1, row_dim = last - 1;
    Box box;
    for (size_t i = outer_dims; i-- > 0;) {
      box.start[i] = outer % prologue_.dims[i];
      outer /= prologue_.dims[i];
      box.extent[i] = 1;
    }
    box.start[last] = column;
    box.extent[last] = width;
    const bool adds = op_ == Op::reduce_sum || op_ == Op::reduce_mean;
    const float start = adds                    ? 0
                        : op_ == Op::reduce_max ? -std::numeric_limits<float>::infinity()
                                                : std::numeric_limits<float>::infinity();
    std::fill_n(buffers.narrow, (adds ? kChains : 1) * width, start);
    std::fill_n(buffers.wide, width, 0.0);
    const int64_t inner_rows = prologue_.dims[row_dim], most = plain_ ? inner_rows : rows_at_once(width);
    const int64_t outer_rows = count_ / inner_rows;
    int64_t seen = 0;
    for (int64_t r = 0; r < outer_rows; ++r) {
      int64_t rest = r;
      for (size_t i = row_dim; i-- > outer_dims;) {
        box.start[i] = rest % prologue_.dims[i];
        rest /= prologue_.dims[i];
        box.extent[i] = 1;
      }
      for (int64_t row = 0; row < inner_rows; row += box.extent[row_dim]) {
        box.start[row_dim] = row;
        box.extent[row_dim] = std::min(most, inner_rows - row);
        if (plain_) {
          const auto [data, stride] = block.rows(box, row_dim);
          take_rows(data, stride, box.extent[row_dim], width, buffers, seen);
          continue;
        }
        run_box(block, box, kept, width == columns_ || box.extent[row_dim] == 1);
        take_rows(static_cast<const float*>(block.result(0)), width, box.extent[row_dim], width, buffers, seen);
      }
    }
    if (!adds) {
      std::copy_n(buffers.narrow, width, to);
      return;
    }
    flush(buffers, width);
    const double divisor = op_ == Op::reduce_mean ? static_cast<double>(count_) : 1;
    for (int64_t j = 0; j < width; ++j) to[j] = static_cast<float>(buffers.wide[j] / divisor);
  }

  /// Takes in rows of `width` elements, the first of them row number `seen`, which is moved on. Which chain a row goes
  /// to and when chains are emptied depends on its number alone.
  void take_rows(const float* data, int64_t stride, int64_t count, int64_t width, const Buffers& buffers,
                 int64_t& seen) const {
    const RowFunctions& rows = row_functions();
    const size_t n = static_cast<size_t>(width);
    if (op_ == Op::reduce_max || op_ == Op::reduce_min) {
      const auto into = op_ == Op::reduce_max ? rows.max_into : rows.min_into;
      for (int64_t k = 0; k < count; ++k) into(buffers.narrow, data + k * stride, n);
      return;
    }
    while (count > 0) {
      const int64_t take = std::min(count, kRun - seen % kRun);
      rows.add_rows(buffers.narrow, n, data, stride, static_cast<size_t>(take), static_cast<size_t>(seen % kChains));
      seen += take;
      data += take * stride;
      count -= take;
      if (seen % kRun == 0) flush(buffers, width);
    }
  }

  static void flush(const Buffers& buffers, int64_t width) {
    const float* chains = buffers.narrow;
    for (int64_t j = 0; j < width; ++j) {
      buffers.wide[j] += (chains[j] + chains[width + j]) + (chains[2 * width + j] + chains[3 * width + j]);
    }
    std::fill_n(buffers.narrow, kChains * width, 0.0f);
  }

  Op op_;
  Code prologue_;
  Epilogue epilogue_;
  int64_t count_;  ///< elements reduced to one
  std::vector<size_t> kept_;
  Ints natural_;  ///< row-major strides of the prologue's dims
  int64_t results_ = 0, columns_ = 1, at_once_ = kChunk;
  bool columnwise_ = false, plain_ = false;
  int64_t prologue_scratch_ = 0, epilogue_scratch_ = 0;
};

ir::Refusal no(std::string why) { return {"reduce: " + std::move(why)}; }

}  // namespace

Match match_reduce(const FamilyRequest& request) {
  if (request.analysis->anchors.size() != 1) return no("not exactly one structured op");
  const Anchor& anchor = request.analysis->anchors[0];
  const Op op = anchor.node->op;
  if (!ir::info(op).has(ir::kReduction)) return no(fmt::format("'{}' is no reduction", ir::to_string(op)));
  auto analysis = std::make_shared<Analysis>(*request.analysis);
  const ExprId x = anchor.operands[0];
  const Ints dims = analysis->exprs[x].dims;
  if (analysis->exprs[x].dtype != ir::DType::f32)
    return no(fmt::format("dtype {}", ir::to_string(analysis->exprs[x].dtype)));
  std::vector<bool> reduced(dims.size(), false);
  int64_t count = 1;
  for (int64_t axis : anchor.node->attributes->ints("axes")) {
    reduced[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis)] = true;
  }
  for (size_t i = 0; i < dims.size(); ++i) count *= reduced[i] ? dims[i] : 1;
  if (count == 0) return no("nothing is reduced");
  // Outputs that do not depend on the reduction are values of the prologue's domain.
  std::vector<size_t> kept, reduced_outputs;
  for (size_t i = 0; i < analysis->outputs.size(); ++i) {
    const std::vector<ExprId> below = analysis->exprs.reachable({analysis->outputs[i]});
    const bool depends = std::any_of(below.begin(), below.end(), [&](ExprId id) {
      return analysis->exprs[id].kind == Expr::Kind::leaf && analysis->exprs[id].source == anchor.sources[0];
    });
    (depends ? reduced_outputs : kept).push_back(i);
    if (!depends && analysis->exprs[analysis->outputs[i]].dims != dims)
      return no("an output that has neither the shape of the operand nor the result");
  }
  if (reduced_outputs.empty()) return no("no output depends on the reduction");
  // Kept axes behind the last reduced one stay innermost; their rows are accumulated.
  size_t tail = dims.size();
  while (tail > 0 && !reduced[tail - 1]) --tail;
  const auto arrange = [&](size_t from_tail) {
    Ints order;
    for (size_t i = 0; i < from_tail; ++i) {
      if (!reduced[i]) order.push_back(static_cast<int64_t>(i));
    }
    const size_t outer = order.size();
    for (size_t i = 0; i < dims.size(); ++i) {
      if (reduced[i]) order.push_back(static_cast<int64_t>(i));
    }
    const std::vector<size_t> barriers = {outer, order.size()};
    for (size_t i = from_tail; i < dims.size(); ++i) order.push_back(static_cast<int64_t>(i));
    const Ints natural = row_major(dims);
    Ints permuted;
    for (int64_t axis : order) permuted.push_back(natural[static_cast<size_t>(axis)]);
    std::vector<ExprId> roots = {analysis->exprs.transpose(x, order)};
    Ints own;
    for (int64_t axis : order) own.push_back(dims[static_cast<size_t>(axis)]);
    std::vector<Target> targets = {{0, row_major(own)}};
    for (size_t i : kept) {
      roots.push_back(analysis->exprs.transpose(analysis->outputs[i], order));
      targets.push_back({0, permuted});
    }
    return Code(*analysis, roots, targets, barriers);
  };
  Code prologue = arrange(tail);
  if (!prologue.refusal.empty()) return no(prologue.refusal);
  const size_t inner_dims = prologue.dims.size() - prologue.groups[1];
  const bool columns_fit = inner_dims == 1 && prologue.groups[1] > prologue.groups[0] && prologue.dims.back() > 1;
  if (inner_dims > 0 && (!columns_fit || op == Op::reduce_prod)) prologue = arrange(dims.size());
  Epilogue epilogue(*analysis, anchor.sources[0], reduced_outputs);
  if (!epilogue.refusal.empty()) return no(epilogue.refusal);
  if (epilogue.elements() == 0 && !kept.empty()) return no("an empty operand");
  return std::make_unique<ReduceKernel>(request, std::move(analysis), op, std::move(prologue), std::move(epilogue),
                                        count, std::move(kept));
}

}  // namespace weft::backends::tbb
