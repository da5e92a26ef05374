#pragma once
// A group of e-nodes that may become one kernel, and what its ops may be to a kernel.
#include <algorithm>
#include <vector>

#include "egraph/symbol.hpp"
#include "ir/op.hpp"

namespace weft::passes {

/// What an op may be to a kernel. Only a backend decides what it takes; this keeps hopeless groups from being asked
/// for.
enum class Role : uint8_t {
  none,  ///< leaves, projections, kernels
  elementwise,
  view,         ///< reshape: no kernel of its own
  movement,     ///< transpose, slice, pad ...: a strided view of the operand or the result
  reduction,    ///< takes elementwise ops before and after it
  contraction,  ///< conv, matmul, attention: takes views before it, elementwise ops and views after it
  other         ///< takes elementwise ops after it
};

Role role_of(ir::Op op);
inline bool is_anchor(Role role) { return role == Role::reduction || role == Role::contraction || role == Role::other; }
inline bool moves_data(Role role) { return role == Role::view || role == Role::movement; }

/// Members stand so that the result is last.
struct FusionCandidate {
  std::vector<egraph::NodeId> members;
  std::vector<egraph::ClassId> classes;  ///< of the members
  Role anchor = Role::elementwise;  ///< the one member that is neither elementwise nor moves data; else elementwise
  bool views = false;               ///< holds a view or movement
  bool computes = false;            ///< holds an elementwise op or an anchor
  bool kernel = false;              ///< some target took it

  bool has(egraph::ClassId id) const { return std::find(classes.begin(), classes.end(), id) != classes.end(); }
};

}  // namespace weft::passes
