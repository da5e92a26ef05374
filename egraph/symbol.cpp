#include "egraph/symbol.hpp"

#include <fmt/format.h>

#include "ir/support/error.hpp"

namespace weft::egraph {

SymbolId SymbolTable::intern(Symbol symbol) {
  if (symbol.op >= kMaxOps) fail(ErrorCode::out_of_range, "op number {} is not below {}", symbol.op, kMaxOps);
  const uint64_t key = uint64_t{symbol.op} << 32 | symbol.attributes;
  const auto [entry, fresh] = ids_.try_emplace(key, static_cast<uint32_t>(symbols_.size()));
  if (fresh) {
    if (symbols_.size() >= kNone) fail(ErrorCode::limit, "more than {} symbols in one table", kNone);
    symbols_.push_back(symbol);
  }
  return SymbolId(entry->second);
}

std::string SymbolTable::name(SymbolId id) const {
  return fmt::format("{}:{}", symbols_[id.value].op, symbols_[id.value].attributes);
}

}  // namespace weft::egraph
