// attention(q, k, v[, mask]) by own loops: per batch and head the keys are packed once, then blocks of queries are
// scored, normalised and applied to the values while they stay in cache. Head split and merge (transposes and reshapes
// of [batch, positions, heads * depth] buffers inside the program) are strides here and cost nothing.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/tbb/kernel.hpp"
#include "backends/tbb/vector_gemm.hpp"

namespace weft::backends::tbb {
namespace {

constexpr int64_t kQueries = 24;  // a block

/// One operand as matrices over the batch axes.
struct MatrixView {
  int source = -1;
  int64_t offset = 0, row = 0, column = 0;  ///< strides in elements
  Ints batch;
};

struct Problem {
  Ints batch;
  int64_t queries, keys, depth, value_depth;
  MatrixView q, k, v, mask, out;
  float scale;
  bool causal;
};

class AttentionKernel : public FamilyKernel {
 public:
  AttentionKernel(const FamilyRequest& request, Problem problem)
      : FamilyKernel(request.analysis), p_(std::move(problem)) {
    padded_depth_ = (p_.value_depth + 15) / 16 * 16;
    panel_ = gemm_functions().panel;
    padded_keys_ = (p_.keys + panel_ - 1) / panel_ * panel_;
    blocks_ = (p_.queries + kQueries - 1) / kQueries;
    heads_ = product(p_.batch);
    single_ = p_.queries < 4 && p_.k.column == 1 && p_.v.column == 1 && p_.q.column == 1;
    pack_values_ = p_.v.column != 1 || p_.value_depth % 16 != 0 || p_.queries > kQueries;
    direct_ = !single_ && padded_depth_ == p_.value_depth;
    const double scores = static_cast<double>(heads_) * static_cast<double>(p_.queries) * static_cast<double>(p_.keys) *
                          (p_.causal ? 0.6 : 1.0);
    const double head_floats = static_cast<double>(p_.keys * (p_.depth + p_.value_depth));
    Load load;
    load.bytes = 4 * static_cast<double>(heads_) *
                     (head_floats + static_cast<double>(p_.queries * (p_.depth + p_.value_depth))) +
                 (p_.mask.source >= 0 ? 4 * static_cast<double>(p_.queries * p_.keys) : 0);
    load.compute_ns =
        scores * (2.0 * static_cast<double>(p_.depth + padded_depth_) / (machine().gflops_f32 * (single_ ? 0.3 : 1.2)) +
                  0.7 * chunk_cost(VectorOp::exp) + (p_.mask.source >= 0 ? 0.05 : 0)) +
        (single_ ? 0 : 0.3 * static_cast<double>(heads_) * head_floats) + 100.0 * static_cast<double>(heads_ * blocks_);
    load.units = heads_ * blocks_;
    name = "attention";
    price(load, request.threads, name);
    sizes_[0] = align64(4 * padded_keys_ * p_.depth);
    sizes_[1] = pack_values_ ? align64(4 * p_.keys * padded_depth_) : 0;
    sizes_[2] = align64(4 * kQueries * padded_keys_);
    sizes_[3] = align64(4 * kQueries * padded_depth_);
    sizes_[4] = p_.q.column == 1 ? 0 : align64(4 * kQueries * p_.depth);
    for (int64_t size : sizes_) resources_.scratch_bytes += size;
  }

  void run(const RunContext& context, int part) const override {
    const Sources bases = sources(context);
    State s;
    float** buffers[5] = {&s.keys, &s.values, &s.scores, &s.sums, &s.queries};
    char* at = static_cast<char*>(context.scratch);
    for (size_t i = 0; i < 5; ++i) {
      *buffers[i] = reinterpret_cast<float*>(at);
      at += sizes_[i];
    }
    const Share share = share_of(heads_ * blocks_, 1, part, parts());
    int64_t packed = -1;
    for (int64_t unit = share.begin; unit < share.end; ++unit) {
      const int64_t head = unit / blocks_, first = unit % blocks_ * kQueries,
                    count = std::min(kQueries, p_.queries - first);
      place_head(s, head, bases, static_cast<float*>(context.outputs[0]));
      if (!single_ && packed != head) {
        pack_head(s);
        packed = head;
      }
      block(s, first, count);
    }
  }

 private:
  struct State {
    float *keys, *values, *scores, *sums, *queries;  // scratch
    const float *q, *k, *v, *mask;                   // of the head
    float* out;
  };

  static const float* of_head(const MatrixView& view, const Ints& index, const Sources& bases) {
    if (view.source < 0) return nullptr;
    int64_t offset = view.offset;
    for (size_t i = 0; i < index.size(); ++i) offset += index[i] * view.batch[i];
    return static_cast<const float*>(bases[static_cast<size_t>(view.source)]) + offset;
  }

  void place_head(State& s, int64_t head, const Sources& bases, float* out) const {
    Ints index(p_.batch.size());
    for (size_t i = index.size(); i-- > 0;) {
      index[i] = head % p_.batch[i];
      head /= p_.batch[i];
    }
    s.q = of_head(p_.q, index, bases);
    s.k = of_head(p_.k, index, bases);
    s.v = of_head(p_.v, index, bases);
    s.mask = of_head(p_.mask, index, bases);
    s.out = out + p_.out.offset;
    for (size_t i = 0; i < index.size(); ++i) s.out += index[i] * p_.out.batch[i];
  }

  /// Keys to panels [depth][panel], zeros behind the last; values to panels [keys][panel], zeros behind the depth,
  /// where they are not read as they lie.
  void pack_head(const State& s) const {
    for (int64_t first = 0; first < p_.keys; first += panel_) {
      const int64_t count = std::min(panel_, p_.keys - first);
      float* to = s.keys + first * p_.depth;
      if (count < panel_) std::fill_n(to, panel_ * p_.depth, 0.0f);
      const int64_t dims[2] = {p_.depth, count}, dst[2] = {panel_, 1}, src[2] = {p_.k.column, p_.k.row};
      copy_strided(to, dst, s.k + first * p_.k.row, src, dims, 2, 4);
    }
    if (!pack_values_) return;
    for (int64_t first = 0; first < padded_depth_; first += panel_) {
      const int64_t width = std::min(panel_, padded_depth_ - first), count = std::min(width, p_.value_depth - first);
      float* to = s.values + first * p_.keys;
      if (count < width) std::fill_n(to, width * p_.keys, 0.0f);
      if (count <= 0) continue;
      if (p_.v.column == 1 && count == width) {
        gemm_functions().pack(s.v + first, p_.v.row, to, width, p_.keys);
        continue;
      }
      const int64_t dims[2] = {p_.keys, count}, dst[2] = {width, 1}, src[2] = {p_.v.row, p_.v.column};
      copy_strided(to, dst, s.v + first * p_.v.column, src, dims, 2, 4);
    }
  }

  /// Keys that query i sees: [0, n).
  int64_t visible(int64_t i) const {
    return p_.causal ? std::clamp<int64_t>(i + p_.keys - p_.queries + 1, 0, p_.keys) : p_.keys;
  }

  void block(const State& s, int64_t first, int64_t count) const {
    const int64_t stride = padded_keys_, most = visible(first + count - 1);
    score(s, first, count, most);
    float factors[kQueries];
    if (p_.causal || (s.mask && p_.mask.column != 1)) {
      for (int64_t r = 0; r < count; ++r) factors[r] = weigh(s, s.scores + r * stride, first + r, most);
    } else {
      row_functions().weigh_rows(s.scores, static_cast<size_t>(stride), static_cast<size_t>(count),
                                 static_cast<size_t>(most), p_.scale, s.mask ? s.mask + first * p_.mask.row : nullptr,
                                 static_cast<size_t>(p_.mask.row), factors);
    }
    if (direct_) return apply(s, s.out + first * p_.out.row, p_.out.row, count, most, factors);
    if (single_) {
      const RowFunctions& f = row_functions();
      for (int64_t r = 0; r < count; ++r) {
        float* sums = s.sums + r * padded_depth_;
        std::fill_n(sums, padded_depth_, 0.0f);
        for (int64_t j = 0; j < most; ++j)
          f.multiply_add_into(sums, s.v + j * p_.v.row, static_cast<size_t>(p_.value_depth), s.scores[r * stride + j]);
      }
    } else {
      apply(s, s.sums, padded_depth_, count, most, nullptr);
    }
    for (int64_t r = 0; r < count; ++r) {
      float* to = s.out + (first + r) * p_.out.row;
      row_functions().scale(s.sums + r * padded_depth_, to, static_cast<size_t>(p_.value_depth), factors[r]);
    }
  }

  /// Weighted sums of the values, to rows of whole vectors.
  void apply(const State& s, float* to, int64_t to_row, int64_t count, int64_t most, const float* factors) const {
    const auto multiply = gemm_functions().multiply;
    if (!pack_values_)
      return multiply(s.scores, padded_keys_, s.v, p_.v.row, to, to_row, count, padded_depth_, most, factors);
    for (int64_t column = 0; column < padded_depth_; column += panel_) {
      const int64_t width = std::min(panel_, padded_depth_ - column);
      multiply(s.scores, padded_keys_, s.values + column * p_.keys, width, to + column, to_row, count, width, most,
               factors);
    }
  }

  void score(const State& s, int64_t first, int64_t count, int64_t most) const {
    const int64_t stride = padded_keys_;
    const float* q = s.q + first * p_.q.row;
    int64_t q_stride = p_.q.row;
    if (single_) {
      for (int64_t r = 0; r < count; ++r) {
        for (int64_t j = 0; j < most; ++j) {
          s.scores[r * stride + j] =
              row_functions().dot(q + r * q_stride, s.k + j * p_.k.row, static_cast<size_t>(p_.depth));
        }
      }
      return;
    }
    if (p_.q.column != 1) {
      const int64_t dims[2] = {count, p_.depth}, dst[2] = {p_.depth, 1}, src[2] = {p_.q.row, p_.q.column};
      copy_strided(s.queries, dst, q, src, dims, 2, 4);
      q = s.queries;
      q_stride = p_.depth;
    }
    for (int64_t key = 0; key < most; key += panel_) {
      gemm_functions().multiply(q, q_stride, s.keys + key * p_.depth, panel_, s.scores + key, stride, count, panel_,
                                p_.depth, nullptr);
    }
  }

  /// Scores to exponentials, zeros up to `most`; returns what the weighted sum is multiplied by (0 where all is
  /// masked).
  float weigh(const State& s, float* row, int64_t query, int64_t most) const {
    const RowFunctions& f = row_functions();
    const int64_t seen = visible(query);
    const size_t n = static_cast<size_t>(seen);
    std::fill(row + seen, row + most, 0.0f);
    if (seen == 0) return 0;
    const float* mask = s.mask ? s.mask + query * p_.mask.row : nullptr;
    for (int64_t j = 0; j < seen; ++j) {
      row[j] *= p_.scale;
      if (mask) row[j] += mask[j * p_.mask.column];
    }
    const float greatest = f.max(row, n);
    if (greatest == -std::numeric_limits<float>::infinity()) {
      std::fill(row, row + seen, 0.0f);
      return 0;
    }
    return 1 / f.exp_sum(row, row, n, greatest);
  }

  Problem p_;
  int64_t padded_depth_ = 0, panel_ = 0, padded_keys_ = 0, blocks_ = 0, heads_ = 0;
  bool single_ = false, pack_values_ = false, direct_ = false;
  int64_t sizes_[5] = {};
};

ir::Refusal no(std::string why) { return {"attention: " + std::move(why)}; }

/// The operand's view, broadcast over the batch; false where it is computed inside the program.
bool view_of(Analysis& analysis, ExprId id, const Ints& batch, int64_t rows, int64_t columns, MatrixView& view) {
  Ints dims = batch;
  dims.push_back(rows);
  dims.push_back(columns);
  const ExprId wide = analysis.exprs.broadcast(id, dims);
  if (wide == kNoExpr || analysis.exprs[wide].kind != Expr::Kind::leaf) return false;
  const Expr& e = analysis.exprs[wide];
  if (analysis.sources[static_cast<size_t>(e.source)].kind == Source::Kind::anchor || e.dtype != ir::DType::f32)
    return false;
  const size_t n = batch.size();
  view = {e.source, e.offset, e.strides[n], e.strides[n + 1],
          Ints(e.strides.begin(), e.strides.begin() + static_cast<std::ptrdiff_t>(n))};
  if (columns == 1) view.column = 1;  // any stride will do
  return true;
}

/// Where the result's elements lie in the output, which is the result under a permutation of its axes.
bool place_of(const Analysis& analysis, const Anchor& anchor, const Ints& result, MatrixView& view) {
  if (analysis.outputs.size() != 1) return false;
  const Expr& root = analysis.exprs[analysis.outputs[0]];
  if (root.kind != Expr::Kind::leaf || root.source != anchor.sources[0] || root.offset != 0 ||
      product(root.dims) != product(result))
    return false;
  const Ints from = row_major(result), to = row_major(root.dims);
  Ints strides(result.size(), 0);
  for (size_t i = 0; i < result.size(); ++i) {
    if (result[i] == 1) continue;
    bool found = false;
    for (size_t j = 0; j < root.dims.size() && !found; ++j) {
      if (root.dims[j] != result[i] || root.strides[j] != from[i]) continue;
      strides[i] = to[j];
      found = true;
    }
    if (!found) return false;
  }
  const size_t n = result.size() - 2;
  if (result[n + 1] != 1 && strides[n + 1] != 1) return false;
  view.row = strides[n];
  view.batch.assign(strides.begin(), strides.begin() + static_cast<std::ptrdiff_t>(n));
  return true;
}

}  // namespace

Match match_attention(const FamilyRequest& request) {
  if (request.analysis->anchors.size() != 1) return no("not exactly one structured op");
  const Anchor& anchor = request.analysis->anchors[0];
  const ir::Node& node = *anchor.node;
  if (node.op != ir::Op::attention) return no(fmt::format("'{}' is no attention", ir::to_string(node.op)));
  if (node.types[0].dtype != ir::DType::f32) return no(fmt::format("dtype {}", ir::to_string(node.types[0].dtype)));
  Analysis analysis = *request.analysis;
  const Ints result = ints_of(node.types[0].shape), q = analysis.exprs[anchor.operands[0]].dims,
             k = analysis.exprs[anchor.operands[1]].dims;
  Problem p;
  p.batch.assign(result.begin(), result.end() - 2);
  p.queries = q[q.size() - 2];
  p.keys = k[k.size() - 2];
  p.depth = q.back();
  p.value_depth = result.back();
  p.scale = static_cast<float>(node.attributes->real("scale"));
  p.causal = node.attributes->boolean("causal");
  if (product(result) == 0 || p.keys == 0 || p.depth == 0) return no("an empty operand");
  const bool views =
      view_of(analysis, anchor.operands[0], p.batch, p.queries, p.depth, p.q) &&
      view_of(analysis, anchor.operands[1], p.batch, p.keys, p.depth, p.k) &&
      view_of(analysis, anchor.operands[2], p.batch, p.keys, p.value_depth, p.v) &&
      (anchor.operands.size() < 4 || view_of(analysis, anchor.operands[3], p.batch, p.queries, p.keys, p.mask));
  if (!views) return no("an operand is computed inside the program");
  if (!place_of(analysis, anchor, result, p.out)) return no("only a permutation of axes may follow");
  return std::make_unique<AttentionKernel>(request, std::move(p));
}

}  // namespace weft::backends::tbb
