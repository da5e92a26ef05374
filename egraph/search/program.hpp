#pragma once
// A pattern compiled to a straight list of scans; the matcher runs it with backtracking.
#include <cstdint>
#include <vector>

#include "egraph/pattern.hpp"

namespace weft::egraph {

/// One scan: try each candidate node, and for each that fits go on with the next step.
struct Step {
  enum class Kind : uint8_t {
    root,         ///< candidates: all nodes of the op
    every_class,  ///< the pattern is a bare variable: all classes
    down,         ///< candidates: members of the class in register `from`
    up            ///< candidates: users of the class in register `from` that have it as child `position`
  } kind = Kind::root;
  struct Child {
    bool compare;  ///< with the register's class; otherwise store it there
    uint32_t reg;
  };
  uint32_t op = kNone, matcher = kNone, application = kNone;
  uint32_t from = kNone, position = 0;
  uint32_t own = kNone;  ///< register that receives the node's class (root, up), or kNone
  uint32_t equal_to =
      kNone;  ///< application whose children must equal this node's (a sequence variable again), or kNone
  bool any_children = false;  ///< a sequence variable takes them all
  bool asks = false;          ///< has a matcher or equal_to
  std::vector<Child> children;
  bool binary = false;  ///< two children: the first two of `pair` say what to do with them
  Child pair[2] = {};
  bool free_pair = false;  ///< binary, and both children are bound here, to two variables
  /// For incremental search: the registers from which later steps go down that are bound before this step...
  std::vector<uint32_t> later_known;
  bool later_unknown = false;  ///< ...and whether there are others
  bool ends_at_old =
      false;  ///< goes down, and nothing new can come later: an old class is no candidate for a new match
};

struct Program {
  std::vector<Step> steps;
  uint32_t registers = 0;                      ///< the class variables come first
  std::vector<uint32_t> root_register;         ///< per root: a bare variable's register, or kNone
  std::vector<uint32_t> root_application;      ///< per root: its application, or kNone
  std::vector<uint32_t> sequence_application;  ///< per sequence variable: the application whose children it binds
  uint32_t variables = 0, applications = 0, slots = 0;
  /// The first step's class is only ever a root: that it was merged with another gives no match that was not one
  /// before.
  bool root_may_move = false;
  /// One match is this many numbers: class variables, nodes, attribute slots.
  uint32_t width() const { return variables + applications + slots; }
  bool climbs() const;  ///< has a step that goes up
};

/// Throws Error(invalid_argument) for a pattern without roots, with a root that shares nothing with those before it,
/// with an unbound variable number, or with a bare variable as a later root that is not bound.
Program compile(const Pattern& pattern);

}  // namespace weft::egraph
