#pragma once
// Elementwise expressions as straight-line code over blocks of a few hundred elements that stay in L1.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "backends/tbb/copy.hpp"
#include "backends/tbb/expression.hpp"
#include "backends/tbb/vector_ops.hpp"

namespace weft::backends::tbb {

/// A part of a joined operand, over the code's dims but for the last: `count` elements from `begin` on along that one.
struct CodePiece {
  int source;
  int64_t offset;
  Ints strides;
  int64_t begin, count;
};
/// An operand as a view over the code's dims.
struct CodeLeaf {
  int source;
  ir::DType dtype;
  int64_t offset;
  Ints strides;
  /// Of operands joined along the last dim, as a padded one; source, offset and strides are then those of the first.
  std::vector<CodePiece> pieces;
};
/// Whether a concat is taken as a joined operand: of views, along the last dim, in short rows.
bool is_joined_leaf(const Analysis& analysis, ExprId id);
struct CodeInstruction {
  const ir::Node* node;
  std::optional<VectorForm> form;  ///< else the op table's own evaluation of the block
  ir::DType dtype;
  boost::container::small_vector<int, 3> inputs;  ///< value ids: leaves first, then instructions
  int slot = 0;                                   ///< of the block's registers
};
struct CodeOutput {
  int value;
  ir::DType dtype;
  int64_t offset;  ///< of the first element in the output's buffer
  Ints strides;
};

/// Where a root's elements go: strides over the domain (before collapsing), in elements.
struct Target {
  int64_t offset = 0;
  Ints strides;
};

/// Code for one or more expressions over one domain. Immutable; `Block` runs it.
class Code {
 public:
  /// All roots have the dims of the first and hold no concat but joined leaves. Targets: one a root; none = row-major.
  /// Dims on the two sides of a barrier (an index into the dims, ascending) are not joined.
  Code(const Analysis& analysis, const std::vector<ExprId>& roots, std::vector<Target> targets = {},
       const std::vector<size_t>& barriers = {});

  std::string refusal;         ///< why it cannot run, or empty
  Ints dims;                   ///< collapsed
  std::vector<size_t> groups;  ///< by barrier: the first collapsed dim behind it
  int64_t elements = 0;
  std::vector<CodeLeaf> leaves;
  std::vector<CodeInstruction> instructions;
  std::vector<CodeOutput> outputs;
  bool contiguous = true;  ///< every output is row-major over dims

  int64_t block = 1024;  ///< most elements of a box
  size_t rows_dim = 0;   ///< boxes are [rows of this dim] x [all inner dims], or pieces of the last dim
  int64_t inner = 1;     ///< elements inside one row of rows_dim
  std::optional<size_t>
      tile_dim;               ///< some operand is contiguous along this dim and not along the last: boxes are tiles
  int64_t scratch_bytes = 0;  ///< of a Block
  int slots = 0;
  size_t slot_bytes = 0;

  double nanoseconds_per_element() const;  ///< arithmetic only, one thread

 private:
  void collapse(const Ints& full, const std::vector<Target>& targets, const std::vector<size_t>& barriers);
  std::vector<Ints*> leaf_strides();
  void join_instructions();
  void allocate_slots();
  void plan_boxes();
  friend class Block;
};

/// Base pointers by source of the analysis.
using Sources = boost::container::small_vector<const void*, 8>;

struct Box {
  int64_t start[kMaxRank];
  int64_t extent[kMaxRank];
};

/// Runs code over boxes of its domain. One a thread; not copied.
class Block {
 public:
  /// `sources`: base pointers by source of the analysis (anchors may be set later); `scratch`: code.scratch_bytes,
  /// 64-byte aligned.
  Block(const Code& code, Sources sources, char* scratch);
  void set_source(int source, const void* base);
  /// Computes all outputs over a box; output i goes to direct[i] (contiguous, row-major over the box) where that is not
  /// null.
  void run(const Box& box, void* const* direct);
  /// Where code of one leaf and no instruction finds a box, as rows along dim `row`: the first element, elements
  /// between rows.
  std::pair<const float*, int64_t> rows(const Box& box, size_t row) const;
  /// Output i of the last box: contiguous elements (of the block, an operand or direct[i]).
  const void* result(size_t output);
  /// Writes output k of the last box through its strides into the whole output's buffer.
  void scatter(size_t output, void* buffer);
  /// Runs elements [begin, end) of the row-major domain into whole-output buffers (base pointers), by boxes.
  void run_range(int64_t begin, int64_t end, void* const* buffers);
  /// Runs tiles [begin, end) of the tiling.
  void run_tiles(int64_t begin, int64_t end, void* const* buffers);
  static int64_t tile_count(const Code& code);

 private:
  struct Value {
    const char* data = nullptr;
    bool scalar = false;
    bool packed = true;  ///< data is contiguous over the box
  };
  void load_leaf(size_t leaf);
  void join_leaf(size_t leaf);
  const void* dense(size_t value, size_t spare);
  void run_vector(const CodeInstruction& instruction, Value& result, void* out);
  void run_table(const CodeInstruction& instruction, Value& result, void* out);
  void deliver(size_t output, void* direct);
  ir::DType dtype_of(size_t value) const;
  char* slot(int index) { return scratch_ + static_cast<size_t>(index) * code_.slot_bytes; }

  const Code& code_;
  Sources sources_;
  char* scratch_;
  boost::container::small_vector<Value, 16> values_;
  boost::container::small_vector<const char*, 8>
      packed_from_;  ///< by leaf: what its slot holds, to pack once what does not change
  boost::container::small_vector<int64_t, 8> packed_count_;
  const Box* box_ = nullptr;  ///< of the last run: lives as long as its results are asked for
  int64_t n_ = 0;
};

/// Splits a flat range into boxes: whole rows where it can, pieces of the last dim else.
template <typename F>
void for_boxes(const Code& code, int64_t begin, int64_t end, const F& f) {
  const size_t rank = code.dims.size();
  Box box;
  while (begin < end) {
    int64_t rest = begin;
    for (size_t i = rank; i-- > 0;) {
      box.start[i] = rest % code.dims[i];
      rest /= code.dims[i];
      box.extent[i] = 1;
    }
    int64_t n;
    if (begin % code.inner == 0 && end - begin >= code.inner) {
      const int64_t rows = std::min(
          {code.block / code.inner, (end - begin) / code.inner, code.dims[code.rows_dim] - box.start[code.rows_dim]});
      box.extent[code.rows_dim] = rows;
      for (size_t i = code.rows_dim + 1; i < rank; ++i) box.extent[i] = code.dims[i];
      n = rows * code.inner;
    } else {
      n = std::min({end - begin, code.dims[rank - 1] - box.start[rank - 1], code.block});
      box.extent[rank - 1] = n;
    }
    f(box, begin, n);
    begin += n;
  }
}

}  // namespace weft::backends::tbb
