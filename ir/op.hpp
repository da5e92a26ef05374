#pragma once
// The one op table, seen from outside: everything the project knows of an op is in its OpInfo. The records stand in
// ir/ops/: elementwise.inc (one line an op) and structured.inc (one line and one file an op).
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/attributes.hpp"
#include "ir/tensor.hpp"
#include "ir/types.hpp"

namespace weft::ir {

/// All ops. Leaves first, then elementwise, then structured; names are those of the text language.
enum class Op : uint16_t {
#define WEFT_OP(name) name,
#include "ir/ops/list.inc"
#undef WEFT_OP
  count_
};
inline constexpr size_t kOpCount = static_cast<size_t>(Op::count_);

enum Trait : uint32_t {
  kLeaf = 1u << 0,               ///< input, parameter, constant: no operands, no evaluation
  kElementwise = 1u << 1,        ///< out[i] depends on element i of each (broadcast) operand
  kCommutative = 1u << 2,        ///< swapping the two operands gives the same bits
  kReduction = 1u << 3,          ///< reduces along attribute `axes`, with `keepdims`
  kMovement = 1u << 4,           ///< moves or repeats elements, computes nothing
  kView = 1u << 5,               ///< row-major bytes are unchanged (reshape)
  kPiecewiseConstant = 1u << 6,  ///< gradient is zero (floor, comparisons, casts to integers)
};

struct AttributeSpec {
  std::string_view name;
  AttributeKind kind;
  std::optional<AttributeValue> fallback;      ///< absent = required
  std::vector<std::string_view> choices = {};  ///< of a text: the values allowed (empty = any)
};

struct OperandSpec {
  std::string_view name;
  bool variadic = false;  ///< only the last: one or more
};

/// Machine-free work of one evaluation: floating-point or integer operations (a multiply-add counts 2), bytes moved at
/// least.
struct Work {
  double flops = 0, bytes_read = 0, bytes_written = 0;
};

/// Result types from operand types and attributes (complete: defaults filled in). Throws Error(type_mismatch) naming
/// what was found and expected; the caller adds the op and operand types.
using InferFunction = std::vector<TensorType> (*)(std::span<const TensorType> operands, const Attributes& attributes);
/// Simple loops over row-major tensors of static shape; outputs are allocated by the caller, of the inferred types.
using EvalFunction = void (*)(std::span<const Tensor> operands, const Attributes& attributes,
                              std::span<Tensor> outputs);
/// Brings what depends on the operands' ranks to its one form (see `complete` below).
using NormalizeFunction = void (*)(Attributes& attributes, std::span<const TensorType> operands);
using WorkFunction = Work (*)(std::span<const TensorType> operands, const Attributes& attributes,
                              std::span<const TensorType> outputs);

struct OpInfo {
  Op op = Op::count_;
  std::string_view name = {};
  std::string_view summary = {};  ///< one line, with the source of the definition
  std::vector<OperandSpec> operands = {};
  std::vector<AttributeSpec> attributes = {};  ///< in the order of positional use in the text language
  uint32_t traits = 0;
  InferFunction infer = nullptr;
  EvalFunction eval = nullptr;
  WorkFunction work = nullptr;            ///< null: no arithmetic, every operand read and every output written once
  NormalizeFunction normalize = nullptr;  ///< null: no attribute depends on rank
  /// Gradient in the text language: operands by name, `dy` (or `dy0`, `dy1`...), result `y`; one expression an operand,
  /// separated by `;`, `_` for none. Empty: not differentiable yet.
  std::string_view gradient = {};
  /// Examples: text expressions over literal tensors `f32[2][1, 2]` with `==`, for instance `relu(f32[3][-1, 0, 2]) ==
  /// f32[3][0, 0, 2]`.
  std::vector<std::string_view> examples = {};

  bool has(Trait trait) const { return traits & trait; }
};

const OpInfo& info(Op op);
inline std::string_view to_string(Op op) { return info(op).name; }
std::optional<Op> op_from_string(std::string_view name);
std::span<const OpInfo> all_ops();

/// Checks the attributes against the schema of the op, fills in defaults, normalises kinds (an int for a real, ints for
/// a shape). Throws Error(invalid_argument) on unknown, missing or ill-typed attributes.
Attributes complete(Op op, const Attributes& given);
/// As above, and brings what depends on rank to its one form: axes non-negative (and sorted where order means nothing),
/// an empty perm, strides, pads, dilations filled in. Infer and evaluate take either form; equal nodes need this one.
Attributes complete(Op op, const Attributes& given, std::span<const TensorType> operands);
/// Whether leaving the attribute out would give the same complete attributes.
bool is_default(Op op, const Attributes& complete_attributes, std::string_view name,
                std::span<const TensorType> operands);
/// Arity check, then the op's inference; errors name the op and the operand types in IR text.
std::vector<TensorType> infer(Op op, std::span<const TensorType> operands, const Attributes& complete_attributes);
/// Allocates the outputs and evaluates.
std::vector<Tensor> evaluate(Op op, std::span<const Tensor> operands, const Attributes& complete_attributes);
Work work(Op op, std::span<const TensorType> operands, const Attributes& complete_attributes,
          std::span<const TensorType> outputs);

}  // namespace weft::ir
