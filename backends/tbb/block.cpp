// Running code on one box of the domain at a time.
#include <array>
#include <cstring>

#include "backends/tbb/code.hpp"
#include "ir/support/error.hpp"

namespace weft::backends::tbb {

Block::Block(const Code& code, Sources sources, char* scratch)
    : code_(code),
      sources_(std::move(sources)),
      scratch_(scratch),
      values_(code.leaves.size() + code.instructions.size()),
      packed_from_(code.leaves.size(), nullptr),
      packed_count_(code.leaves.size(), 0) {}

void Block::set_source(int source, const void* base) {
  sources_[static_cast<size_t>(source)] = base;
  for (size_t i = 0; i < code_.leaves.size(); ++i) {
    if (code_.leaves[i].source == source) packed_from_[i] = nullptr;  // new contents, perhaps at the old address
  }
}

ir::DType Block::dtype_of(size_t value) const {
  const size_t leaves = code_.leaves.size();
  return value < leaves ? code_.leaves[value].dtype : code_.instructions[value - leaves].dtype;
}

/// The box of a joined operand, put together in its slot.
void Block::join_leaf(size_t index) {
  const CodeLeaf& leaf = code_.leaves[index];
  const size_t rank = code_.dims.size(), last = rank - 1, bytes = ir::size_of(leaf.dtype);
  int64_t strides[kMaxRank], extent[kMaxRank], step = 1;
  for (size_t i = rank; i-- > 0;) {
    strides[i] = step;
    extent[i] = box_->extent[i];
    step *= extent[i];
  }
  const int64_t from = box_->start[last], to = from + box_->extent[last];
  char* own = slot(static_cast<int>(index));
  // What is one repeated element still stands there from the last box of whole rows.
  const bool again = packed_count_[index] >= n_ && to - from == code_.dims[last];
  packed_count_[index] = to - from == code_.dims[last] ? std::max(n_, again ? packed_count_[index] : 0) : 0;
  for (const CodePiece& piece : leaf.pieces) {
    if (again && std::all_of(piece.strides.begin(), piece.strides.end(), [](int64_t s) { return s == 0; })) continue;
    const int64_t begin = std::max(from, piece.begin), end = std::min(to, piece.begin + piece.count);
    if (begin >= end) continue;
    extent[last] = end - begin;
    int64_t offset = piece.offset + (begin - piece.begin) * piece.strides[last];
    for (size_t i = 0; i < last; ++i) offset += box_->start[i] * piece.strides[i];
    copy_strided(
        own + (begin - from) * static_cast<int64_t>(bytes), strides,
        static_cast<const char*>(sources_[static_cast<size_t>(piece.source)]) + offset * static_cast<int64_t>(bytes),
        piece.strides.data(), extent, rank, bytes);
  }
  values_[index] = {own, false, true};
}

void Block::load_leaf(size_t index) {
  const CodeLeaf& leaf = code_.leaves[index];
  if (!leaf.pieces.empty()) return join_leaf(index);
  const Box& box = *box_;
  int64_t offset = leaf.offset, expected = 1;
  bool scalar = true, contiguous = true;
  for (size_t i = code_.dims.size(); i-- > 0;) {
    offset += box.start[i] * leaf.strides[i];
    if (box.extent[i] == 1) continue;
    scalar = scalar && leaf.strides[i] == 0;
    contiguous = contiguous && leaf.strides[i] == expected;
    expected *= box.extent[i];
  }
  const size_t bytes = ir::size_of(leaf.dtype);
  Value& value = values_[index];
  value.data =
      static_cast<const char*>(sources_[static_cast<size_t>(leaf.source)]) + offset * static_cast<int64_t>(bytes);
  value.scalar = scalar;
  value.packed = scalar || contiguous;
}

/// The contiguous elements of a value: a scalar is spread into spare slot `spare`, a strided operand packed into its
/// own.
const void* Block::dense(size_t index, size_t spare) {
  Value& value = values_[index];
  const size_t bytes = ir::size_of(dtype_of(index));
  if (value.scalar) {
    char* to = slot(static_cast<int>(code_.leaves.size() + spare));
    fill(to, value.data, static_cast<size_t>(n_), bytes);
    return to;
  }
  if (!value.packed) {
    char* to = slot(static_cast<int>(index));
    // The same elements as last time (an operand repeated along the outer dims): of whole rows a prefix serves too.
    const bool whole = box_->extent[code_.dims.size() - 1] == code_.dims.back();
    if (packed_from_[index] != value.data || packed_count_[index] < n_ || !whole) {
      int64_t strides[kMaxRank], step = 1;
      for (size_t i = code_.dims.size(); i-- > 0;) {
        strides[i] = step;
        step *= box_->extent[i];
      }
      copy_strided(to, strides, value.data, code_.leaves[index].strides.data(), box_->extent, code_.dims.size(), bytes);
      packed_from_[index] = code_.tile_dim ? nullptr : value.data;
      packed_count_[index] = whole ? n_ : 0;
    }
    value.data = to;
    value.packed = true;
  }
  return value.data;
}

void Block::run_vector(const CodeInstruction& instruction, Value& result, void* out) {
  const VectorForm& form = *instruction.form;
  const size_t count = instruction.inputs.size();
  unsigned scalars = 0;
  for (size_t i = 0; i < count; ++i) {
    if (values_[static_cast<size_t>(instruction.inputs[i])].scalar) scalars |= 1u << i;
  }
  ChunkArgs args;
  args.p0 = form.p0;
  args.p1 = form.p1;
  const bool all = scalars == (1u << count) - 1;
  args.n = all ? 1 : static_cast<size_t>(n_);
  unsigned variant = all ? 0 : scalars;
  ChunkFunction function = chunk_function(form.op, variant);
  while (!function) function = chunk_function(form.op, variant = (variant - 1) & scalars);
  const void** slots[3] = {&args.a, &args.b, &args.c};
  for (size_t i = 0; i < count; ++i) {
    const size_t input = static_cast<size_t>(instruction.inputs[i]);
    const bool as_is = all || (variant >> i & 1);
    *slots[i] = as_is ? values_[input].data : dense(input, i);
  }
  args.out = all ? slot(instruction.slot) : out;
  function(args);
  result = {static_cast<const char*>(args.out), all, true};
}

/// The op table's own evaluation, on the block as a tensor of rank 1.
void Block::run_table(const CodeInstruction& instruction, Value& result, void* out) {
  std::array<ir::Tensor, 3> operands;
  const size_t count = instruction.inputs.size();
  bool all = true;
  for (size_t i = 0; i < count; ++i) all = all && values_[static_cast<size_t>(instruction.inputs[i])].scalar;
  for (size_t i = 0; i < count; ++i) {
    const size_t input = static_cast<size_t>(instruction.inputs[i]);
    const bool scalar = values_[input].scalar;
    const void* data = scalar ? values_[input].data : dense(input, i);
    operands[i] = ir::Tensor::view({dtype_of(input), {scalar ? 1 : n_}}, data, nullptr);
  }
  if (all) out = slot(instruction.slot);
  std::array<ir::Tensor, 1> results = {ir::Tensor::view({instruction.dtype, {all ? 1 : n_}}, out, nullptr)};
  ir::info(instruction.node->op).eval({operands.data(), count}, *instruction.node->attributes, results);
  result = {static_cast<const char*>(out), all, true};
}

void Block::run(const Box& box, void* const* direct) {
  box_ = &box;
  n_ = 1;
  for (size_t i = 0; i < code_.dims.size(); ++i) n_ *= box.extent[i];
  WEFT_CHECK(n_ <= code_.block);
  const size_t leaves = code_.leaves.size();
  for (size_t i = 0; i < leaves; ++i) load_leaf(i);
  for (size_t i = 0; i < code_.instructions.size(); ++i) {
    const CodeInstruction& instruction = code_.instructions[i];
    void* out = slot(instruction.slot);
    if (i + 1 == code_.instructions.size()) {  // only the last: what is written early may still be an operand in place
      for (size_t k = 0; k < code_.outputs.size(); ++k) {
        if (direct[k] && code_.outputs[k].value == static_cast<int>(leaves + i)) {
          out = direct[k];
          break;
        }
      }
    }
    if (instruction.form)
      run_vector(instruction, values_[leaves + i], out);
    else
      run_table(instruction, values_[leaves + i], out);
  }
  for (size_t k = 0; k < code_.outputs.size(); ++k) {
    if (direct[k]) deliver(k, direct[k]);
  }
}

/// Output k as contiguous elements at `direct`, where it is not there already.
void Block::deliver(size_t k, void* direct) {
  const size_t index = static_cast<size_t>(code_.outputs[k].value);
  const Value& value = values_[index];
  const size_t bytes = ir::size_of(code_.outputs[k].dtype);
  if (value.data == direct && !value.scalar) return;
  if (value.scalar) {
    fill(direct, value.data, static_cast<size_t>(n_), bytes);
  } else if (value.packed) {
    std::memcpy(direct, value.data, static_cast<size_t>(n_) * bytes);
  } else {
    int64_t strides[kMaxRank], step = 1;
    for (size_t i = code_.dims.size(); i-- > 0;) {
      strides[i] = step;
      step *= box_->extent[i];
    }
    copy_strided(direct, strides, value.data, code_.leaves[index].strides.data(), box_->extent, code_.dims.size(),
                 bytes);
  }
}

std::pair<const float*, int64_t> Block::rows(const Box& box, size_t row) const {
  const CodeLeaf& leaf = code_.leaves[0];
  int64_t offset = leaf.offset;
  for (size_t i = 0; i < code_.dims.size(); ++i) offset += box.start[i] * leaf.strides[i];
  return {static_cast<const float*>(sources_[static_cast<size_t>(leaf.source)]) + offset, leaf.strides[row]};
}

const void* Block::result(size_t output) { return dense(static_cast<size_t>(code_.outputs[output].value), 2); }

void Block::scatter(size_t k, void* buffer) {
  const Box& box = *box_;
  const Ints zeros(code_.dims.size(), 0);
  const CodeOutput& output = code_.outputs[k];
  const size_t index = static_cast<size_t>(output.value);
  int64_t offset = output.offset;
  for (size_t i = 0; i < code_.dims.size(); ++i) offset += box.start[i] * output.strides[i];
  const size_t bytes = ir::size_of(output.dtype);
  int64_t strides[kMaxRank], step = 1;
  for (size_t i = code_.dims.size(); i-- > 0;) {
    strides[i] = step;
    step *= box.extent[i];
  }
  const Value& value = values_[index];
  const int64_t* from = value.scalar ? zeros.data() : value.packed ? strides : code_.leaves[index].strides.data();
  copy_strided(static_cast<char*>(buffer) + offset * static_cast<int64_t>(bytes), output.strides.data(), value.data,
               from, box.extent, code_.dims.size(), bytes);
}

void Block::run_range(int64_t begin, int64_t end, void* const* buffers) {
  boost::container::small_vector<void*, 4> direct(code_.outputs.size(), nullptr);
  for_boxes(code_, begin, end, [&](const Box& box, int64_t at, int64_t) {
    for (size_t k = 0; k < direct.size(); ++k) {
      const CodeOutput& output = code_.outputs[k];
      if (code_.contiguous) {
        direct[k] =
            static_cast<char*>(buffers[k]) + (output.offset + at) * static_cast<int64_t>(ir::size_of(output.dtype));
      }
    }
    run(box, direct.data());
    for (size_t k = 0; !code_.contiguous && k < direct.size(); ++k) scatter(k, buffers[k]);
  });
}

namespace {

struct Tiling {
  int64_t rows, columns, row_tiles, column_tiles, outer;
};

Tiling tiling(const Code& code) {
  const size_t last = code.dims.size() - 1, other = *code.tile_dim;
  Tiling t;
  const int64_t width = code.instructions.empty() ? 64 : 32;
  t.columns = std::min(code.dims[last], width);
  t.rows = std::min(code.dims[other], code.block / t.columns);
  t.columns = std::min(code.dims[last], code.block / t.rows);
  t.row_tiles = (code.dims[other] + t.rows - 1) / t.rows;
  t.column_tiles = (code.dims[last] + t.columns - 1) / t.columns;
  t.outer = code.elements / code.dims[last] / code.dims[other];
  return t;
}

}  // namespace

int64_t Block::tile_count(const Code& code) {
  const Tiling t = tiling(code);
  return t.outer * t.row_tiles * t.column_tiles;
}

void Block::run_tiles(int64_t begin, int64_t end, void* const* buffers) {
  const Tiling t = tiling(code_);
  const size_t last = code_.dims.size() - 1, other = *code_.tile_dim;
  const boost::container::small_vector<void*, 4> none(code_.outputs.size(), nullptr);
  Box box;
  for (int64_t tile = begin; tile < end; ++tile) {
    int64_t rest = tile;
    const int64_t column = rest % t.column_tiles * t.columns;
    rest /= t.column_tiles;
    const int64_t row = rest % t.row_tiles * t.rows;
    rest /= t.row_tiles;
    for (size_t i = code_.dims.size(); i-- > 0;) {
      if (i == last || i == other) continue;
      box.start[i] = rest % code_.dims[i];
      rest /= code_.dims[i];
      box.extent[i] = 1;
    }
    box.start[last] = column;
    box.extent[last] = std::min(t.columns, code_.dims[last] - column);
    box.start[other] = row;
    box.extent[other] = std::min(t.rows, code_.dims[other] - row);
    run(box, none.data());
    for (size_t k = 0; k < none.size(); ++k) scatter(k, buffers[k]);
  }
}

}  // namespace weft::backends::tbb
