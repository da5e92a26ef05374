// Elementwise programs and movement: one or more segments, each straight-line code over a box of an output.
#include <algorithm>
#include <deque>

#include "backends/tbb/kernel.hpp"

namespace weft::backends::tbb {
namespace {

struct Segment {
  Code code;
  std::vector<size_t> buffers;  ///< the output number of each of the code's outputs
};

/// Cuts an expression with concats inside into expressions over boxes of its domain.
class Cutter {
 public:
  Cutter(Analysis& analysis, size_t output)
      : analysis_(analysis), output_(output), strides_(row_major(analysis.exprs[analysis.outputs[output]].dims)) {}

  void cut(ExprId root, int64_t offset) {
    const std::vector<ExprId> order = analysis_.exprs.reachable({root});
    for (auto it = order.rbegin(); it != order.rend(); ++it) {  // outermost first: an inner one is no cut of the whole
      const ExprId id = *it;
      const Expr e = analysis_.exprs[id];
      if (e.kind != Expr::Kind::concat || (id != root && is_joined_leaf(analysis_, id))) continue;
      const size_t axis = static_cast<size_t>(e.axis);
      int64_t start = 0;
      for (ExprId child : e.children) {
        const int64_t length = analysis_.exprs[child].dims[axis];
        const ExprId piece = analysis_.exprs.slice(root, e.axis, start, length, 1);
        if (piece == kNoExpr || segments.size() > 256) {
          refusal = "a concat that cannot be cut into boxes";
          return;
        }
        if (length > 0) cut(piece, offset + start * strides_[axis]);
        start += length;
      }
      return;
    }
    segments.push_back({Code(analysis_, {root}, {{offset, strides_}}), {output_}});
    if (!segments.back().code.refusal.empty()) refusal = segments.back().code.refusal;
  }

  std::vector<Segment> segments;
  std::string refusal;

 private:
  Analysis& analysis_;
  size_t output_;
  Ints strides_;
};

class LoopKernel : public FamilyKernel {
 public:
  LoopKernel(const FamilyRequest& request, std::shared_ptr<const Analysis> analysis, std::vector<Segment> segments)
      : FamilyKernel(std::move(analysis)), segments_(std::move(segments)) {
    Load load;
    load.units = 1;
    bool moves = true;
    for (const Segment& segment : segments_) {
      const Code& code = segment.code;
      const double n = static_cast<double>(code.elements);
      double written = 0;
      for (const CodeOutput& output : code.outputs) written += static_cast<double>(ir::size_of(output.dtype));
      load.bytes += leaf_bytes(*analysis_, code) + n * written;
      load.compute_ns +=
          n * code.nanoseconds_per_element() + packing_ns(code) + 60 * n / static_cast<double>(code.block) + 60;
      load.units = std::max(load.units, code.elements / code.block);
      resources_.scratch_bytes = std::max(resources_.scratch_bytes, align64(code.scratch_bytes));
      moves = moves && code.instructions.empty();
    }
    name = moves ? "move" : "loop";
    find_rows();
    if (rows_ > 0) load.units = std::max<int64_t>(1, rows_ / rows_at_once_);
    price(load, request.threads, name);
    find_in_place();
  }

  void run(const RunContext& context, int part) const override {
    std::vector<void*> buffers;
    const auto run_segment = [&](const Segment& segment, Block& block, Share share) {
      buffers.clear();
      for (size_t output : segment.buffers) buffers.push_back(context.outputs[output]);
      if (segment.code.tile_dim)
        block.run_tiles(share.begin, share.end, buffers.data());
      else
        block.run_range(share.begin, share.end, buffers.data());
    };
    char* scratch = static_cast<char*>(context.scratch);
    if (rows_ > 0) {  // all segments of a few rows before the next ones: together they fill lines of the output
      std::deque<Block> blocks;
      for (const Segment& segment : segments_) {
        blocks.emplace_back(segment.code, sources(context), scratch);
        scratch += align64(segment.code.scratch_bytes);
      }
      const Share share = share_of(rows_, 1, part, parts());
      for (int64_t row = share.begin; row < share.end; row += rows_at_once_) {
        const int64_t end = std::min(share.end, row + rows_at_once_);
        for (size_t i = 0; i < segments_.size(); ++i) {
          const int64_t length = segments_[i].code.elements / rows_;
          run_segment(segments_[i], blocks[i], {row * length, end * length});
        }
      }
      return;
    }
    for (const Segment& segment : segments_) {
      if (segment.code.elements == 0) continue;
      Block block(segment.code, sources(context), scratch);
      run_segment(segment, block,
                  segment.code.tile_dim ? share_of(Block::tile_count(segment.code), 1, part, parts())
                                        : share_of(segment.code.elements, grain(segment.code), part, parts()));
    }
  }

 private:
  static int64_t grain(const Code& code) { return std::max<int64_t>(64, code.inner); }

  /// Segments that are the columns of one matrix of short rows.
  void find_rows() {
    if (segments_.size() < 2 || segments_.size() > 16) return;
    int64_t rows = 0, bytes = 0, scratch = 0;
    const Ints* strides = nullptr;
    for (const Segment& segment : segments_) {
      const Code& code = segment.code;
      if (code.elements == 0 || code.outputs.size() != 1 || code.tile_dim || code.dims.size() != 2 ||
          code.outputs[0].strides[1] != 1)
        return;
      if (strides && ((*strides)[0] != code.outputs[0].strides[0] || rows != code.dims[0])) return;
      strides = &code.outputs[0].strides;
      rows = code.dims[0];
      bytes += code.dims[1] * static_cast<int64_t>(ir::size_of(code.outputs[0].dtype));
      scratch += align64(code.scratch_bytes);
    }
    if (bytes > 8192) return;
    rows_ = rows;
    rows_at_once_ = std::max<int64_t>(1, 16384 / bytes);
    resources_.scratch_bytes = scratch;
  }

  /// Operands that are no rows: elements are packed one by one or through small transpositions.
  static double packing_ns(const Code& code) {
    if (code.elements == 0) return 0;
    double total = 0;
    // Short rows that do not follow each other are copied to and from the block one by one.
    const size_t rank = code.dims.size();
    const double rows = static_cast<double>(code.elements / code.dims.back());
    const double row_ns = rank > 1 && code.dims.back() < 512
                              ? (code.dims.back() <= 8 ? 1.0 : 2.6) * rows + 0.06 * static_cast<double>(code.elements)
                              : 0;
    bool strided = false;
    for (const CodeLeaf& leaf : code.leaves) {
      if (rank < 2 || !leaf.pieces.empty() || leaf.strides[rank - 1] != 1) continue;
      const int64_t step = leaf.strides[rank - 2];
      if (step == code.dims.back() || step == 0) continue;
      strided = true;
      total += row_ns;
    }
    if (!code.contiguous && !(strided && code.instructions.empty())) total += row_ns;
    for (const CodeLeaf& leaf : code.leaves) {
      if (!leaf.pieces.empty()) {
        total += (0.06 + 2.0 * static_cast<double>(leaf.pieces.size()) / static_cast<double>(code.dims.back())) *
                 static_cast<double>(code.elements);
        continue;
      }
      const int64_t last = leaf.strides.back();
      if (last == 1 || last == 0) {
        // Rows of a few elements under a repeated operand are filled one by one.
        if (last == 0 && code.dims.size() > 1 && code.dims.back() < 256 && leaf.strides[code.dims.size() - 2] != 0) {
          total += 15.0 * static_cast<double>(code.elements / code.dims.back());
        }
        continue;
      }
      total += static_cast<double>(code.elements) * (code.tile_dim ? 0.15 : 0.5);
    }
    return total;
  }

  /// An operand that every view reads in the output's own order may lie where the output lies.
  void find_in_place() {
    if (segments_.size() != 1 || segments_[0].code.outputs.size() != 1 || segments_[0].code.tile_dim) return;
    const Code& code = segments_[0].code;
    const CodeOutput& output = code.outputs[0];
    if (code.instructions.empty() || !code.contiguous) return;
    for (size_t i = 0; i < analysis_->program->graph().inputs().size(); ++i) {
      bool used = false, fits = true;
      for (const CodeLeaf& leaf : code.leaves) {
        for (const CodePiece& piece : leaf.pieces) fits = fits && piece.source != static_cast<int>(i);
        if (leaf.source != static_cast<int>(i)) continue;
        used = true;
        fits = fits && leaf.pieces.empty() && leaf.offset == 0 && leaf.strides == output.strides &&
               leaf.dtype == output.dtype;
      }
      if (used && fits && analysis_->sources[i].type.elements() == code.elements)
        resources_.in_place.push_back(static_cast<int>(i));
    }
  }

  std::vector<Segment> segments_;
  int64_t rows_ = 0, rows_at_once_ = 1;  ///< where the segments are columns of one matrix: its rows
};

}  // namespace

Match match_loop(const FamilyRequest& request) {
  if (!request.analysis->anchors.empty()) {
    return ir::Refusal{fmt::format("loop: '{}' is neither elementwise nor a view",
                                   ir::to_string(request.analysis->anchors[0].node->op))};
  }
  auto analysis = std::make_shared<Analysis>(*request.analysis);
  std::vector<Segment> segments;
  // Outputs of one shape without concats share one pass.
  std::vector<bool> done(analysis->outputs.size(), false);
  for (size_t i = 0; i < done.size(); ++i) {
    if (done[i]) continue;
    const auto whole = [&](size_t k) {
      for (ExprId id : analysis->exprs.reachable({analysis->outputs[k]})) {
        if (analysis->exprs[id].kind == Expr::Kind::concat &&
            (id == analysis->outputs[k] || !is_joined_leaf(*analysis, id)))
          return false;
      }
      return true;
    };
    if (whole(i)) {
      std::vector<ExprId> roots;
      std::vector<size_t> buffers;
      for (size_t k = i; k < done.size(); ++k) {
        if (done[k] || analysis->exprs[analysis->outputs[k]].dims != analysis->exprs[analysis->outputs[i]].dims ||
            !whole(k))
          continue;
        done[k] = true;
        roots.push_back(analysis->outputs[k]);
        buffers.push_back(k);
      }
      Code code(*analysis, roots);
      if (!code.refusal.empty()) return ir::Refusal{"loop: " + code.refusal};
      segments.push_back({std::move(code), std::move(buffers)});
    } else {
      done[i] = true;
      Cutter cutter(*analysis, i);
      cutter.cut(analysis->outputs[i], 0);
      if (!cutter.refusal.empty()) return ir::Refusal{"loop: " + cutter.refusal};
      for (Segment& segment : cutter.segments) segments.push_back(std::move(segment));
    }
  }
  return std::make_unique<LoopKernel>(request, std::move(analysis), std::move(segments));
}

}  // namespace weft::backends::tbb
