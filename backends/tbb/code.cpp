// Building code: linear order, collapsed dims, registers, shape of the blocks.
#include "backends/tbb/code.hpp"

#include <algorithm>

#include "ir/support/error.hpp"

namespace weft::backends::tbb {

namespace {

std::optional<double> constant_value(const Analysis& analysis, ExprId id) {
  const Expr& e = analysis.exprs[id];
  if (e.kind != Expr::Kind::leaf) return {};
  const Source& source = analysis.sources[static_cast<size_t>(e.source)];
  if (source.kind != Source::Kind::constant || source.tensor->elements() != 1 || !ir::is_float(source.type.dtype))
    return {};
  return source.tensor->at_double(0);
}

/// Longer rows are better cut into one piece of code for each part.
constexpr int64_t kLongestJoined = 512;

}  // namespace

bool is_joined_leaf(const Analysis& analysis, ExprId id) {
  const Expr& e = analysis.exprs[id];
  return e.kind == Expr::Kind::concat && static_cast<size_t>(e.axis) + 1 == e.dims.size() &&
         e.dims.back() <= kLongestJoined && std::all_of(e.children.begin(), e.children.end(), [&](ExprId child) {
           return analysis.exprs[child].kind == Expr::Kind::leaf;
         });
}

Code::Code(const Analysis& analysis, const std::vector<ExprId>& roots, std::vector<Target> targets,
           const std::vector<size_t>& barriers) {
  const std::vector<ExprId> order = analysis.exprs.reachable(roots);
  std::vector<int> value_of(analysis.exprs.size(), -1);
  const Ints full = analysis.exprs[roots[0]].dims;
  std::vector<bool> read(analysis.exprs.size(), false);  // as a view of its own, not only as a part of a joined one
  for (ExprId id : roots) read[static_cast<size_t>(id)] = true;
  for (ExprId id : order) {
    const Expr& e = analysis.exprs[id];
    if (e.kind == Expr::Kind::concat && !is_joined_leaf(analysis, id))
      refusal = "a concat inside an elementwise expression";
    for (ExprId child : e.children) {
      if (e.kind == Expr::Kind::elementwise) read[static_cast<size_t>(child)] = true;
    }
  }
  for (ExprId id : order) {
    const Expr& e = analysis.exprs[id];
    if (e.kind == Expr::Kind::elementwise || !read[static_cast<size_t>(id)]) continue;
    value_of[static_cast<size_t>(id)] = static_cast<int>(leaves.size());
    leaves.push_back({e.source, e.dtype, e.offset, e.strides, {}});
    if (e.kind == Expr::Kind::leaf) continue;
    int64_t begin = 0;
    for (ExprId child : e.children) {
      const Expr& piece = analysis.exprs[child];
      leaves.back().pieces.push_back({piece.source, piece.offset, piece.strides, begin, piece.dims.back()});
      begin += piece.dims.back();
    }
    leaves.back().source = leaves.back().pieces[0].source;
    leaves.back().strides = row_major(e.dims);
  }
  if (!refusal.empty()) return;
  for (ExprId id : order) {
    const Expr& e = analysis.exprs[id];
    if (e.kind != Expr::Kind::elementwise) continue;
    CodeInstruction instruction{e.node, {}, e.dtype, {}, 0};
    ir::DType dtypes[3] = {};
    for (size_t i = 0; i < e.children.size() && i < 3; ++i) dtypes[i] = analysis.exprs[e.children[i]].dtype;
    const auto exponent = e.node->op == ir::Op::pow ? constant_value(analysis, e.children[1]) : std::nullopt;
    instruction.form = vector_form(*e.node, dtypes, exponent);
    const size_t count = instruction.form ? static_cast<size_t>(instruction.form->operands) : e.children.size();
    for (size_t i = 0; i < count; ++i) instruction.inputs.push_back(value_of[static_cast<size_t>(e.children[i])]);
    value_of[static_cast<size_t>(id)] = static_cast<int>(leaves.size() + instructions.size());
    instructions.push_back(std::move(instruction));
  }
  if (targets.empty()) targets.assign(roots.size(), {0, row_major(full)});
  for (size_t i = 0; i < roots.size(); ++i) {
    outputs.push_back({value_of[static_cast<size_t>(roots[i])], analysis.exprs[roots[i]].dtype, targets[i].offset, {}});
  }
  join_instructions();
  elements = product(full);
  collapse(full, targets, barriers);
  if (dims.size() > kMaxRank) {
    refusal = fmt::format("{} dimensions remain after collapsing, at most {} are taken", dims.size(), kMaxRank);
    return;
  }
  allocate_slots();
  if (elements > 0) plan_boxes();
}

/// Strides of all leaves and their pieces.
std::vector<Ints*> Code::leaf_strides() {
  std::vector<Ints*> all;
  for (CodeLeaf& leaf : leaves) {
    all.push_back(&leaf.strides);
    for (CodePiece& piece : leaf.pieces) all.push_back(&piece.strides);
  }
  return all;
}

void Code::collapse(const Ints& full, const std::vector<Target>& targets, const std::vector<size_t>& barriers) {
  std::vector<Ints> from;
  const std::vector<Ints*> own = leaf_strides();
  for (const Ints* strides : own) from.push_back(*strides);
  const bool joined = own.size() > leaves.size();
  for (const Target& target : targets) from.push_back(target.strides);
  std::vector<Ints> to(from.size());
  for (size_t i = 0; i <= full.size(); ++i) {
    while (groups.size() < barriers.size() && barriers[groups.size()] == i) groups.push_back(dims.size());
    if (i == full.size() || full[i] == 1) continue;
    bool joins = !dims.empty() && (groups.empty() || groups.back() < dims.size()) && !(joined && i + 1 == full.size());
    for (size_t k = 0; joins && k < from.size(); ++k) joins = to[k].back() == from[k][i] * full[i];
    if (joins) {
      dims.back() *= full[i];
      for (size_t k = 0; k < from.size(); ++k) to[k].back() = from[k][i];
    } else {
      dims.push_back(full[i]);
      for (size_t k = 0; k < from.size(); ++k) to[k].push_back(from[k][i]);
    }
  }
  if (dims.empty()) {
    dims.push_back(1);
    for (size_t k = 0; k < to.size(); ++k) to[k].push_back(k < own.size() ? 0 : 1);
    for (size_t& group : groups) group = 1;
  }
  for (size_t k = 0; k < own.size(); ++k) *own[k] = to[k];
  const Ints rows = row_major(dims);
  for (size_t k = 0; k < outputs.size(); ++k) {
    outputs[k].strides = to[own.size() + k];
    contiguous = contiguous && outputs[k].strides == rows;
  }
}

/// Pairs that one pass over the block computes: a product that is only added to something, a sum that only goes through
/// relu. Results keep every bit: each operation is rounded.
void Code::join_instructions() {
  const size_t first = leaves.size();
  const auto op_of = [&](const CodeInstruction& i) { return i.form ? i.form->op : VectorOp::count_; };
  std::vector<int> uses(first + instructions.size(), 0);
  for (const CodeInstruction& i : instructions)
    for (int input : i.inputs) ++uses[static_cast<size_t>(input)];
  for (const CodeOutput& output : outputs) uses[static_cast<size_t>(output.value)] += 2;
  std::vector<bool> gone(instructions.size(), false);
  const auto producer = [&](int value, VectorOp op) -> CodeInstruction* {
    const size_t v = static_cast<size_t>(value);
    if (v < first || uses[v] != 1 || op_of(instructions[v - first]) != op) return nullptr;
    gone[v - first] = true;
    return &instructions[v - first];
  };
  for (CodeInstruction& at : instructions) {
    if (op_of(at) == VectorOp::add) {
      for (size_t side = 0; side < 2; ++side) {
        const CodeInstruction* product = producer(at.inputs[side], VectorOp::mul);
        if (!product) continue;
        const int other = at.inputs[1 - side];
        at.inputs = {product->inputs[0], product->inputs[1], other};
        at.form = VectorForm{VectorOp::mul_add, 3};
        break;
      }
    } else if (op_of(at) == VectorOp::relu) {
      if (const CodeInstruction* sum = producer(at.inputs[0], VectorOp::add)) {
        at.inputs = sum->inputs;
        at.form = VectorForm{VectorOp::add_relu, 2};
      } else if (const CodeInstruction* both = producer(at.inputs[0], VectorOp::mul_add)) {
        at.inputs = both->inputs;
        at.form = VectorForm{VectorOp::mul_add_relu, 3};
      }
    }
  }
  std::vector<int> moved(first + instructions.size());
  size_t kept = 0;
  for (size_t v = 0; v < moved.size(); ++v) {
    if (v >= first && gone[v - first]) continue;
    moved[v] = static_cast<int>(kept++);
    if (v >= first) instructions[static_cast<size_t>(moved[v]) - first] = instructions[v - first];
  }
  instructions.resize(kept - first);
  for (CodeInstruction& i : instructions)
    for (int& input : i.inputs) input = moved[static_cast<size_t>(input)];
  for (CodeOutput& output : outputs) output.value = moved[static_cast<size_t>(output.value)];
}

/// Registers by linear scan: a slot is free after the last use of its value; outputs are kept.
void Code::allocate_slots() {
  const size_t values = leaves.size() + instructions.size();
  std::vector<int> last(values, -1);
  size_t widest = 4;
  for (size_t i = 0; i < instructions.size(); ++i) {
    for (int input : instructions[i].inputs) last[static_cast<size_t>(input)] = static_cast<int>(i);
    widest = std::max(widest, ir::size_of(instructions[i].dtype));
  }
  for (const CodeLeaf& leaf : leaves) widest = std::max(widest, ir::size_of(leaf.dtype));
  for (const CodeOutput& output : outputs) last[static_cast<size_t>(output.value)] = INT32_MAX;
  slots = static_cast<int>(leaves.size()) + 3;  // one a leaf to pack it, three to spread scalars
  std::vector<int> free;
  for (size_t i = 0; i < instructions.size(); ++i) {
    CodeInstruction& at = instructions[i];
    if (free.empty()) free.push_back(slots++);
    at.slot = free.back();
    free.pop_back();
    std::vector<int> done;  // operands whose last use this is, each once
    for (int input : at.inputs) {
      const size_t v = static_cast<size_t>(input);
      if (v >= leaves.size() && last[v] == static_cast<int>(i) &&
          std::find(done.begin(), done.end(), input) == done.end()) {
        done.push_back(input);
        free.push_back(instructions[v - leaves.size()].slot);
      }
    }
  }
  const bool moves_only = instructions.empty();
  const int live = slots - static_cast<int>(leaves.size()) - 3;
  block = moves_only ? 8192 : live + static_cast<int>(leaves.size()) > 6 ? 512 : 1024;
  slot_bytes = static_cast<size_t>(block) * widest;
  scratch_bytes = static_cast<int64_t>(slot_bytes) * slots;
}

void Code::plan_boxes() {
  const size_t last = dims.size() - 1;
  inner = 1;
  rows_dim = last;
  while (rows_dim > 0 && inner * dims[rows_dim] <= block) inner *= dims[rows_dim--];
  if (rows_dim == last) inner = 1;
  // A view contiguous along another dim wants tiles of both.
  for (const CodeLeaf& leaf : leaves) {
    if (leaf.strides[last] == 1 || leaf.strides[last] == 0) continue;
    for (size_t i = 0; i < last; ++i) {
      if (leaf.strides[i] == 1 && dims[i] > 1) tile_dim = i;
    }
  }
  if (!tile_dim && instructions.empty()) {
    for (const CodeOutput& output : outputs) {
      for (size_t i = 0; i < last; ++i) {
        if (output.strides[last] != 1 && output.strides[i] == 1) tile_dim = i;
      }
    }
  }
}

double Code::nanoseconds_per_element() const {
  double total = 0;
  for (const CodeInstruction& instruction : instructions)
    total += instruction.form ? chunk_cost(instruction.form->op) : 6.0;
  return total;
}

}  // namespace weft::backends::tbb
