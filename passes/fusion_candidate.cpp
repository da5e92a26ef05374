#include "passes/fusion_candidate.hpp"

namespace weft::passes {

Role role_of(ir::Op op) {
  const ir::OpInfo& info = ir::info(op);
  if (info.has(ir::kLeaf) || op == ir::Op::kernel) return Role::none;
  if (info.has(ir::kElementwise)) return Role::elementwise;
  switch (op) {
    case ir::Op::reshape:
      return Role::view;
    case ir::Op::transpose:
    case ir::Op::slice:
    case ir::Op::pad:
    case ir::Op::concat:
    case ir::Op::broadcast:
      return Role::movement;
    case ir::Op::softmax:
    case ir::Op::log_softmax:
    case ir::Op::layer_norm:
    case ir::Op::rms_norm:
    case ir::Op::max_pool:
    case ir::Op::avg_pool:
      return Role::reduction;
    case ir::Op::conv:
    case ir::Op::conv_transpose:
    case ir::Op::matmul:
    case ir::Op::attention:
      return Role::contraction;
    default:
      return info.has(ir::kReduction) ? Role::reduction : Role::other;
  }
}

}  // namespace weft::passes
