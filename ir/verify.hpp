#pragma once
// Invariants of a graph, checked after import and (in debug builds) after every pass.
#include "ir/graph.hpp"

namespace weft::ir {

/// Throws an Error that lists every violation found (up to 20): operand order, arity, attribute schema, inferred types
/// equal to stored types, outputs in range, unique input/parameter/output names, constant payload of the stated type.
void verify(const Graph& graph);

}  // namespace weft::ir
