#pragma once
// Interned symbols: what the engine knows of an operation. Both halves are opaque numbers of the host language.
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/support/ids.hpp"

namespace weft::egraph {

using SymbolId = Id<struct SymbolTag>;  ///< an interned (op, attributes) pair
using ClassId = Id<struct ClassTag>;    ///< an e-class; canonical or not, EGraph::find tells
using NodeId = Id<struct NodeTag>;      ///< an e-node; stable for the life of its e-graph

inline constexpr uint32_t kNone = 0xffffffffu;  ///< "no op", "no matcher", "no builder", "no slot"

inline constexpr uint32_t kMaxOps = 1u << 20;  ///< op numbers are below; they index rows, so make them dense

/// An operation (`op`, dense numbers from 0) with its attributes (`attributes`, an id interned by the host).
struct Symbol {
  uint32_t op = 0, attributes = 0;
  auto operator<=>(const Symbol&) const = default;
};

/// Interns symbols. A host derives from it to print names. Not thread-safe while interning; reading is.
class SymbolTable {
 public:
  virtual ~SymbolTable() = default;

  /// The one id of this pair. Throws Error(limit) beyond 2^32 - 2 symbols.
  SymbolId intern(Symbol symbol);
  SymbolId intern(uint32_t op, uint32_t attributes = 0) { return intern(Symbol{op, attributes}); }
  Symbol operator[](SymbolId id) const { return symbols_[id.value]; }
  uint32_t op(SymbolId id) const { return symbols_[id.value].op; }
  uint32_t attributes(SymbolId id) const { return symbols_[id.value].attributes; }
  size_t size() const { return symbols_.size(); }

  /// The symbol's text in dumps, pictures and reports; default "op:attributes".
  virtual std::string name(SymbolId id) const;

 private:
  std::vector<Symbol> symbols_;
  std::unordered_map<uint64_t, uint32_t> ids_;
};

}  // namespace weft::egraph
