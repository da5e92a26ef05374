#pragma once
// What one kernel computes, as a small graph over the kernel's operands: its meaning, its identity and its print-out.
#include <memory>
#include <string>

#include "ir/graph.hpp"

namespace weft::ir {

/// An immutable graph of static shapes without parameters, in canonical form (live nodes only, numbered in order;
/// inputs named a0, a1, ... in operand order; values %0...). Two programs are equal when their texts are.
class Program {
 public:
  /// Canonicalises; inputs keep their order, unused inputs stay.
  explicit Program(const Graph& graph);
  const Graph& graph() const { return graph_; }
  const std::string& text() const { return text_; }
  const Hash128& hash() const { return hash_; }

 private:
  Graph graph_;
  std::string text_;
  Hash128 hash_;
};

ProgramRef make_program(const Graph& graph);
/// The program of a single op over operands of the given types.
ProgramRef make_program(Op op, const std::vector<TensorType>& operands, const Attributes& attributes);

}  // namespace weft::ir
