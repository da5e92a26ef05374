#pragma once
// Left sides: patterns over class variables, sequence variables and attribute slots.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "egraph/symbol.hpp"

namespace weft::egraph {

/// Attribute slots filled while one pattern is matched: opaque interned values of the host. A slot once bound keeps its
/// value; the engine undoes bindings on backtracking.
class AttributeBindings {
 public:
  explicit AttributeBindings(size_t slots) : values_(slots, kNone) {}
  bool bound(uint32_t slot) const { return values_[slot] != kNone; }
  uint32_t get(uint32_t slot) const { return values_[slot]; }
  /// Binds a free slot, or compares with the value of a bound one. False = no match. `value` must not be kNone.
  bool bind(uint32_t slot, uint32_t value) {
    if (bound(slot)) return values_[slot] == value;
    values_[slot] = value;
    trail_.push_back(slot);
    return true;
  }
  size_t mark() const { return trail_.size(); }
  void undo(size_t mark) {
    for (; trail_.size() > mark; trail_.pop_back()) values_[trail_.back()] = kNone;
  }
  std::span<const uint32_t> values() const { return values_; }

 private:
  std::vector<uint32_t> values_, trail_;
};

/// One or several patterns that share variables. Built bottom up; a part used twice must match one class.
///   Pattern p;                                            // transpose(f(xs...), perm): f any op that matcher 3
///   accepts auto inner = p.apply_sequence(Pattern::kAnyOp, 0, /*matcher=*/3); p.root(p.apply(kTranspose, {inner},
///   /*matcher=*/4));
class Pattern {
 public:
  static constexpr uint32_t kAnyOp = kNone;  ///< any op; the matcher decides
  static constexpr size_t kMaxParts = 64;    ///< applications in one pattern; also the bound on search recursion
  using Part = uint32_t;

  /// A class variable. The same number always binds the same class.
  Part variable(uint32_t variable);
  /// An application of `op` to exactly these children. `matcher` != kNone: RuleHost::match must accept the symbol.
  Part apply(uint32_t op, std::vector<Part> children, uint32_t matcher = kNone);
  /// An application of `op` to any children, all bound by the sequence variable `sequence`.
  Part apply_sequence(uint32_t op, uint32_t sequence, uint32_t matcher = kNone);
  /// Adds a root. A root after the first must share a variable or part with the roots before it. A root may be a bare
  /// variable only where it is the first (it then matches every class).
  void root(Part part);

  struct Node {
    enum class Kind : uint8_t { variable, apply, sequence } kind;
    uint32_t number;                    ///< of the variable, or of the sequence variable
    uint32_t op, matcher, application;  ///< application: its index in Substitution::nodes
    std::vector<Part> children;
  };
  const std::vector<Node>& parts() const { return parts_; }
  const std::vector<Part>& roots() const { return roots_; }
  uint32_t variable_count() const { return variables_; }
  uint32_t sequence_count() const { return sequences_; }
  uint32_t application_count() const { return applications_; }
  /// Slots that AttributeBindings holds: one more than the highest that a matcher or builder uses.
  uint32_t attribute_slots = 0;

 private:
  Part push(Node node);
  std::vector<Node> parts_;
  std::vector<Part> roots_;
  uint32_t variables_ = 0, sequences_ = 0, applications_ = 0;
};

/// One match. Spans point into the run's buffers and hold for the duration of the call that gets it. Class ids are
/// those of the search; pass them through EGraph::find (add and merge do).
struct Substitution {
  std::span<const ClassId> classes;           ///< per class variable
  std::span<const NodeId> nodes;              ///< per application of the pattern, in the order of Pattern::apply calls
  std::span<const uint32_t> attributes;       ///< per attribute slot (kNone = unbound)
  std::span<const ClassId> root_classes;      ///< per root
  std::span<const NodeId> root_nodes;         ///< per root: the node matched (of a bare variable: some member)
  std::span<const NodeId> sequence_nodes;     ///< per sequence variable: the node whose children it binds
  const class FrozenGraph* frozen = nullptr;  ///< what was searched
  std::span<const ClassId> sequence(uint32_t variable) const;  ///< the children bound by a sequence variable
};

}  // namespace weft::egraph
