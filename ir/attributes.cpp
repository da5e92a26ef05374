#include "ir/attributes.hpp"

#include <algorithm>
#include <bit>

#include "ir/program.hpp"
#include "ir/support/error.hpp"

namespace weft::ir {
namespace {

bool same_bits(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }

bool same_program(const ProgramRef& a, const ProgramRef& b) {
  if (a == b) return true;
  return a && b && a->hash() == b->hash() && a->text() == b->text();
}

struct HashValue {
  Hasher& hasher;
  void operator()(bool v) const { hasher.u64(v); }
  void operator()(int64_t v) const { hasher.u64(static_cast<uint64_t>(v)); }
  void operator()(double v) const { hasher.u64(std::bit_cast<uint64_t>(v)); }
  void operator()(const std::string& v) const { hasher.text(v); }
  void operator()(DType v) const { hasher.u64(static_cast<uint64_t>(v)); }
  template <typename T>
  void operator()(const std::vector<T>& v) const {
    hasher.u64(v.size());
    for (const T& element : v) (*this)(element);
  }
  void operator()(const Dim& v) const { hasher.text(v.text()); }
  void operator()(const ProgramRef& v) const { v ? hasher.hash(v->hash()) : hasher.u64(0); }
};

}  // namespace

std::string_view to_string(AttributeKind kind) {
  static constexpr std::string_view kNames[] = {"bool", "int",   "real",  "text",   "dtype",
                                                "ints", "reals", "shape", "program"};
  return kNames[static_cast<int>(kind)];
}

bool same_bits(const AttributeValue& a, const AttributeValue& b) {
  if (a.index() != b.index()) return false;
  if (const auto* x = std::get_if<double>(&a)) return same_bits(*x, std::get<double>(b));
  if (const auto* x = std::get_if<ProgramRef>(&a)) return same_program(*x, std::get<ProgramRef>(b));
  if (const auto* x = std::get_if<std::vector<double>>(&a)) {
    const auto& y = std::get<std::vector<double>>(b);
    return std::equal(x->begin(), x->end(), y.begin(), y.end(), [](double p, double q) { return same_bits(p, q); });
  }
  return a == b;
}

Attributes::Attributes(std::initializer_list<Entry> entries) {
  for (const Entry& entry : entries) set(entry.first, entry.second);
}

Attributes& Attributes::set(std::string_view name, AttributeValue value) {
  auto it = std::lower_bound(entries_.begin(), entries_.end(), name,
                             [](const Entry& entry, std::string_view key) { return entry.first < key; });
  if (it != entries_.end() && it->first == name) {
    it->second = std::move(value);
  } else {
    entries_.emplace(it, std::string(name), std::move(value));
  }
  return *this;
}

const AttributeValue* Attributes::find(std::string_view name) const {
  for (const Entry& entry : entries_)
    if (entry.first == name) return &entry.second;
  return nullptr;
}

const AttributeValue& Attributes::at(std::string_view name) const {
  const AttributeValue* value = find(name);
  WEFT_CHECK(value, "no attribute '{}'", name);
  return *value;
}

namespace {

template <typename T>
const T& typed(const AttributeValue& value, std::string_view name, AttributeKind kind) {
  const T* typed_value = std::get_if<T>(&value);
  WEFT_CHECK(typed_value, "attribute '{}' is of kind {}, read as {}", name, to_string(kind_of(value)), to_string(kind));
  return *typed_value;
}

}  // namespace

bool Attributes::boolean(std::string_view name) const { return typed<bool>(at(name), name, AttributeKind::boolean); }
int64_t Attributes::integer(std::string_view name) const {
  return typed<int64_t>(at(name), name, AttributeKind::integer);
}
double Attributes::real(std::string_view name) const { return typed<double>(at(name), name, AttributeKind::real); }
const std::string& Attributes::text(std::string_view name) const {
  return typed<std::string>(at(name), name, AttributeKind::text);
}
DType Attributes::dtype(std::string_view name) const { return typed<DType>(at(name), name, AttributeKind::dtype); }
const std::vector<int64_t>& Attributes::ints(std::string_view name) const {
  return typed<std::vector<int64_t>>(at(name), name, AttributeKind::ints);
}
const std::vector<double>& Attributes::reals(std::string_view name) const {
  return typed<std::vector<double>>(at(name), name, AttributeKind::reals);
}
const Shape& Attributes::shape(std::string_view name) const {
  return typed<Shape>(at(name), name, AttributeKind::shape);
}
const ProgramRef& Attributes::program(std::string_view name) const {
  return typed<ProgramRef>(at(name), name, AttributeKind::program);
}

bool Attributes::operator==(const Attributes& other) const {
  return std::equal(entries_.begin(), entries_.end(), other.entries_.begin(), other.entries_.end(),
                    [](const Entry& a, const Entry& b) { return a.first == b.first && same_bits(a.second, b.second); });
}

void Attributes::hash_into(Hasher& hasher) const {
  hasher.u64(entries_.size());
  for (const Entry& entry : entries_) {
    hasher.text(entry.first).u64(entry.second.index());
    std::visit(HashValue{hasher}, entry.second);
  }
}

}  // namespace weft::ir
