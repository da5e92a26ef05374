#pragma once
// Rules: a pattern, a guard, and what to merge with the matched roots.
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "egraph/frozen.hpp"
#include "egraph/pattern.hpp"

namespace weft::egraph {

/// Why something ordinary was not done; counted per rule, the first few reasons are kept in the report.
struct Refusal {
  std::string reason;
};

/// Where in a template a symbol is built.
struct BuildPosition {
  std::span<const ClassId> children;  ///< classes of the children, already built
  uint32_t element = kNone;           ///< inside Template::map: the index of the element
};
using BuildResult = std::variant<SymbolId, Refusal>;

/// The host language's part in matching and building. `match` is called from many threads at once on a graph that
/// does not change: it must not intern anything. The others come from one thread.
class RuleHost {
 public:
  virtual ~RuleHost() = default;
  /// Does the symbol fit attribute matcher `matcher`, given (and extending) the slots bound so far?
  virtual bool match(uint32_t matcher, SymbolId symbol, AttributeBindings& slots) const {
    (void)matcher, (void)symbol, (void)slots;
    return true;
  }
  /// The symbol of builder `builder`.
  virtual BuildResult build(uint32_t builder, EGraph& graph, const Substitution& match, const BuildPosition& position) {
    (void)builder, (void)graph, (void)match, (void)position;
    return Refusal{"no builder"};
  }
  /// Asked before a rule's result is merged with the matched root; a refusal skips the match (types that differ).
  /// False: can_merge refuses nothing and need not be asked, which is faster.
  virtual bool may_refuse() const { return true; }
  virtual std::optional<Refusal> can_merge(const EGraph& graph, ClassId root, ClassId made) {
    (void)graph, (void)root, (void)made;
    return std::nullopt;
  }
};

/// A right side built bottom up; parts may be shared between the roots.
///   Template t;                                           // f(transpose(x, perm) for x in xs...)
///   auto each = t.map(0, t.build(kTransposeBuilder, {t.element()}));
///   t.root(t.build(kSameSymbolBuilder, {each}));
class Template {
 public:
  using Part = uint32_t;
  Part variable(uint32_t variable);                              ///< the class bound by a variable
  Part apply(SymbolId symbol, std::vector<Part> children = {});  ///< a known symbol
  Part build(uint32_t builder, std::vector<Part> children);      ///< the host builds the symbol
  Part splice(uint32_t sequence);                                ///< as a child: all children bound by the sequence
  Part map(uint32_t sequence, Part body);                        ///< as a child: `body` once for each of them
  Part element();                                                ///< inside a map's body: the element
  void root(Part part);                                          ///< one per root of the pattern

  struct Node {
    enum class Kind : uint8_t { variable, apply, build, splice, map, element } kind;
    uint32_t number = 0;         ///< variable, symbol, builder or sequence
    std::vector<Part> children;  ///< of a map: its body
    bool varies = false;         ///< depends on the element of a map
  };
  const std::vector<Node>& parts() const { return parts_; }
  const std::vector<Part>& roots() const { return roots_; }

 private:
  Part push(Node node);
  std::vector<Node> parts_;
  std::vector<Part> roots_;
};

/// One class per root, to be merged with it (an invalid id leaves that root alone), or why not.
using ApplyResult = std::variant<std::vector<ClassId>, Refusal>;
using ApplyFunction = std::function<ApplyResult(EGraph&, const Substitution&)>;
/// Run on the graph that was searched, in parallel: may read facts of the classes bound by the match, and nothing
/// deeper unless the rule is not `incremental`.
using Guard = std::function<bool(const EGraph&, const Substitution&)>;

/// What a native rule gets: the graph as searched by all rules of the iteration, and the live graph to change.
class NativeContext {
 public:
  virtual ~NativeContext() = default;
  virtual EGraph& graph() = 0;
  virtual const FrozenGraph& frozen() const = 0;
  /// Nodes changed since the rule last ran carry a later epoch than this (0 = never ran): FrozenGraph::changed.
  virtual uint32_t since() const = 0;
  /// Merges as this rule (asks RuleHost::can_merge, counts). False where refused.
  virtual bool merge(ClassId root, ClassId made) = 0;
  virtual void refuse(std::string reason) = 0;
  /// Call every few steps: false when a limit is reached and the rule should return. Costs one unit of fuel.
  virtual bool proceed() = 0;
};
using NativeFunction = std::function<void(NativeContext&)>;

struct Rule {
  std::string name;
  std::string origin;  ///< file:line
  Pattern pattern;
  Guard guard;                                                    ///< empty: always
  std::variant<Template, ApplyFunction, NativeFunction> applier;  ///< a native rule has no pattern and no guard
  /// Search only matches with something new in them. Clear it where guard or applier read deeper than what is bound.
  bool incremental = true;
};

/// Throws Error(invalid_argument) naming the rule where a template uses what the pattern does not bind, roots differ in
/// number, or a pattern is malformed.
void validate(const Rule& rule);

}  // namespace weft::egraph
