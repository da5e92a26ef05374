#pragma once
// Attributes: the part of a node that is not an operand (strides, axes, the target of a cast), by name.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ir/support/hash.hpp"
#include "ir/types.hpp"

namespace weft::ir {

class Program;  // a small graph as one attribute: what a kernel computes (ir/program.hpp)
using ProgramRef = std::shared_ptr<const Program>;

/// The order is that of the variant below. `shape` is a list of dimensions that may be symbolic; `ints` is not.
enum class AttributeKind : uint8_t { boolean, integer, real, text, dtype, ints, reals, shape, program };
std::string_view to_string(AttributeKind kind);

using AttributeValue = std::variant<bool, int64_t, double, std::string, DType, std::vector<int64_t>,
                                    std::vector<double>, Shape, ProgramRef>;
inline AttributeKind kind_of(const AttributeValue& v) { return static_cast<AttributeKind>(v.index()); }
/// Equality by bits: +0 and -0 differ, a NaN equals itself, programs by their text.
bool same_bits(const AttributeValue& a, const AttributeValue& b);

/// A sorted list of (name, value). Small; looked up by linear search.
class Attributes {
 public:
  using Entry = std::pair<std::string, AttributeValue>;
  Attributes() = default;
  Attributes(std::initializer_list<Entry> entries);
  Attributes& set(std::string_view name, AttributeValue value);
  const AttributeValue* find(std::string_view name) const;
  std::span<const Entry> entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }

  // Typed access; throws an internal Error where absent or of another kind (ops check their schema first).
  bool boolean(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  DType dtype(std::string_view name) const;
  const std::vector<int64_t>& ints(std::string_view name) const;
  const std::vector<double>& reals(std::string_view name) const;
  const Shape& shape(std::string_view name) const;
  const ProgramRef& program(std::string_view name) const;

  bool operator==(const Attributes& other) const;
  void hash_into(Hasher& hasher) const;

 private:
  const AttributeValue& at(std::string_view name) const;
  std::vector<Entry> entries_;
};

}  // namespace weft::ir
