#include "passes/rule_functions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/support/error.hpp"

namespace weft::passes {
namespace {

using Arguments = std::span<const RuleValue>;
using Ints = std::vector<int64_t>;
using ir::AttributeValue;

[[noreturn]] void refuse(std::string reason) { throw RuleRefusal{std::move(reason)}; }

const AttributeValue& attribute(Arguments a, size_t i) {
  if (i >= a.size() || !std::holds_alternative<AttributeValue>(a[i])) refuse("argument is no attribute");
  return std::get<AttributeValue>(a[i]);
}
const Facts& facts(Arguments a, size_t i) {
  if (i >= a.size() || !std::holds_alternative<const Facts*>(a[i])) refuse("argument is no value");
  return *std::get<const Facts*>(a[i]);
}
int64_t integer(Arguments a, size_t i) {
  const AttributeValue& v = attribute(a, i);
  if (auto* n = std::get_if<int64_t>(&v)) return *n;
  refuse("argument is no integer");
}
Ints ints(Arguments a, size_t i) {
  if (i < a.size() && std::holds_alternative<const Facts*>(a[i])) return ir::to_ints(facts(a, i).type().shape);
  const AttributeValue& v = attribute(a, i);
  if (auto* list = std::get_if<Ints>(&v)) return *list;
  if (auto* shape = std::get_if<ir::Shape>(&v)) return ir::to_ints(*shape);
  refuse("argument is no list of integers");
}

bool is_permutation(const Ints& p) {
  Ints sorted = p;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<int64_t>(i)) return false;
  return true;
}
Ints inverse(const Ints& p) {
  Ints out(p.size());
  for (size_t i = 0; i < p.size(); ++i) out[p[i]] = static_cast<int64_t>(i);
  return out;
}
template <typename T>
std::vector<T> permuted(const std::vector<T>& list, const Ints& p) {
  if (list.size() != p.size()) refuse("list and permutation differ in length");
  std::vector<T> out;
  for (int64_t i : p) out.push_back(list[i]);
  return out;
}

AttributeValue compose(Arguments a) {  // transpose(transpose(x, p), q): axis i of the result is axis p[q[i]] of x
  return permuted(ints(a, 0), ints(a, 1));
}
AttributeValue inverse_of(Arguments a) { return inverse(ints(a, 0)); }
AttributeValue permute(Arguments a) {  // the list as seen through a transpose
  const AttributeValue& v = attribute(a, 0);
  if (auto* reals = std::get_if<std::vector<double>>(&v)) return permuted(*reals, ints(a, 1));
  if (auto* shape = std::get_if<ir::Shape>(&v)) return permuted(*shape, ints(a, 1));
  return permuted(ints(a, 0), ints(a, 1));
}
AttributeValue move_axis(
    Arguments a) {  // where axis i of x stands in transpose(x, p); or each of a sorted list of axes
  Ints where = inverse(ints(a, 1));
  auto moved = [&](int64_t axis) {
    if (axis < 0) axis += static_cast<int64_t>(where.size());
    if (axis < 0 || axis >= static_cast<int64_t>(where.size())) refuse("axis out of range");
    return where[axis];
  };
  if (auto* axis = std::get_if<int64_t>(&attribute(a, 0))) return moved(*axis);
  Ints out;
  for (int64_t axis : ints(a, 0)) out.push_back(moved(axis));
  std::sort(out.begin(), out.end());
  return out;
}
AttributeValue without_axes(
    Arguments a) {  // the permutation left when reduced axes (of x) vanish: transpose(reduce(x, axes), ·)
  Ints p = ints(a, 0), axes = ints(a, 1), kept;
  for (int64_t axis : p)
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) kept.push_back(axis);
  Ints sorted = kept, out;
  std::sort(sorted.begin(), sorted.end());
  for (int64_t axis : kept) out.push_back(std::find(sorted.begin(), sorted.end(), axis) - sorted.begin());
  return out;
}

AttributeValue dim(Arguments a) {
  int64_t axis = integer(a, 1), rank = static_cast<int64_t>(facts(a, 0).type().rank());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) refuse("axis out of range");
  return facts(a, 0).type().shape[axis].value();
}
AttributeValue rank(Arguments a) { return static_cast<int64_t>(facts(a, 0).type().rank()); }
AttributeValue shape(Arguments a) { return facts(a, 0).type().shape; }
AttributeValue dtype(Arguments a) { return facts(a, 0).type().dtype; }
AttributeValue transposed_shape(Arguments a) { return permuted(facts(a, 0).type().shape, ints(a, 1)); }
AttributeValue same_type(Arguments a) { return facts(a, 0).types == facts(a, 1).types; }
AttributeValue same_shape(Arguments a) { return facts(a, 0).type().shape == facts(a, 1).type().shape; }
AttributeValue is_float(Arguments a) { return ir::is_float(facts(a, 0).type().dtype); }
AttributeValue is_integer(Arguments a) { return ir::is_integer(facts(a, 0).type().dtype); }
AttributeValue is_fixed(Arguments a) { return facts(a, 0).fixed; }
AttributeValue is_varying(Arguments a) { return !facts(a, 0).fixed; }
AttributeValue is_splat(Arguments a) { return facts(a, 0).splat.defined(); }
AttributeValue known(Arguments a) {  // the value of every element, where known
  if (!facts(a, 0).splat.defined()) refuse("value is not known");
  return facts(a, 0).splat.at_double(0);
}
AttributeValue is_power_of_two(Arguments a) {
  int exponent;
  double value = facts(a, 0).splat.defined() ? facts(a, 0).splat.at_double(0) : 0;
  return std::isfinite(value) && std::fabs(std::frexp(value, &exponent)) == 0.5 && std::abs(exponent) < 100;
}
AttributeValue close_to(Arguments a) {  // the value of every element is this number, to its own dtype's rounding
  if (!facts(a, 0).splat.defined()) return false;
  double want = std::holds_alternative<double>(attribute(a, 1)) ? std::get<double>(attribute(a, 1))
                                                                : static_cast<double>(integer(a, 1));
  return std::fabs(facts(a, 0).splat.at_double(0) - want) <= 1e-6 * std::fabs(want);
}
AttributeValue is_identity(Arguments a) {
  Ints p = ints(a, 0);
  return std::is_sorted(p.begin(), p.end()) && is_permutation(p);
}
AttributeValue moves_only_ones(
    Arguments a) {  // transpose(x, p) keeps the row-major bytes: dimensions other than 1 stay in order
  Ints p = ints(a, 1), dims = ints(a, 0);
  int64_t last = -1;
  for (int64_t axis : p) {
    if (dims[axis] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}
AttributeValue last_axes(Arguments a) {  // axes are exactly [first..rank) of x
  Ints axes = ints(a, 1);
  int64_t r = static_cast<int64_t>(facts(a, 0).type().rank());
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] != r - static_cast<int64_t>(axes.size() - i)) return false;
  return !axes.empty();
}
AttributeValue first(Arguments a) {
  Ints list = ints(a, 0);
  if (list.empty()) refuse("empty list");
  return list[0];
}
AttributeValue contains(Arguments a) {
  Ints list = ints(a, 0);
  return std::find(list.begin(), list.end(), integer(a, 1)) != list.end();
}
AttributeValue ones(Arguments a) {
  Ints list = ints(a, 0);
  return std::all_of(list.begin(), list.end(), [](int64_t v) { return v == 1; });
}
AttributeValue zeros(Arguments a) {
  Ints list = ints(a, 0);
  return std::all_of(list.begin(), list.end(), [](int64_t v) { return v == 0; });
}
AttributeValue squeezed(Arguments a) {  // last dimensions dropped: the shape of x without its last n axes
  Ints dims = ints(a, 0);
  dims.resize(dims.size() - std::min<size_t>(dims.size(), integer(a, 1)));
  return ir::to_shape(dims);
}
AttributeValue last_dims(Arguments a) {  // the last n dimensions of x
  Ints dims = ints(a, 0);
  size_t n = std::min<size_t>(dims.size(), integer(a, 1));
  return ir::to_shape(Ints(dims.end() - n, dims.end()));
}
AttributeValue elements(Arguments a) { return facts(a, 0).type().elements(); }

AttributeValue pad_low(Arguments a) { return Ints(facts(a, 0).type().rank(), 0); }
AttributeValue pad_high(Arguments a) {
  Ints high(facts(a, 0).type().rank(), 0);
  int64_t axis = integer(a, 1) < 0 ? integer(a, 1) + static_cast<int64_t>(high.size()) : integer(a, 1);
  if (axis < 0 || axis >= static_cast<int64_t>(high.size())) refuse("axis out of range");
  high[axis] = integer(a, 2);
  return high;
}
AttributeValue pads_space(Arguments a) {  // pads nothing on batch and channel (ncx), crops nothing
  Ints low = ints(a, 0), high = ints(a, 1);
  for (size_t i = 0; i < low.size(); ++i)
    if (low[i] < 0 || high[i] < 0 || (i < 2 && (low[i] || high[i]))) return false;
  return low.size() > 2;
}
AttributeValue add_pads(
    Arguments a) {  // spatial pads (lows, then highs) of a window, grown by a pad of the whole tensor
  Ints pads = ints(a, 0), low = ints(a, 1), high = ints(a, 2);
  size_t spatial = low.size() - 2;
  pads.resize(2 * spatial, 0);
  for (size_t i = 0; i < spatial; ++i) pads[i] += low[i + 2], pads[spatial + i] += high[i + 2];
  return pads;
}
AttributeValue one_axis(Arguments a) { return ints(a, 0).size() == 1; }
AttributeValue last_axis(Arguments a) { return static_cast<int64_t>(facts(a, 0).type().rank()) - 1; }
AttributeValue swaps_last_two(Arguments a) {
  Ints p = ints(a, 0);
  for (size_t i = 0; i + 2 < p.size(); ++i)
    if (p[i] != static_cast<int64_t>(i)) return false;
  int64_t r = static_cast<int64_t>(p.size());
  return r >= 2 && p[r - 2] == r - 1 && p[r - 1] == r - 2;
}
AttributeValue inverse_known(Arguments a) {
  if (!facts(a, 0).splat.defined()) refuse("value is not known");
  return 1.0 / facts(a, 0).splat.at_double(0);
}
bool real_close(Arguments a, double want) {
  auto* r = std::get_if<double>(&attribute(a, 0));
  return r && std::fabs(*r - want) <= 1e-6 * want;
}
AttributeValue is_sixth(Arguments a) { return real_close(a, 1.0 / 6); }
AttributeValue is_half(Arguments a) { return real_close(a, 0.5); }

template <typename Compare>
AttributeValue compare(Arguments a, Compare c) {
  if (std::holds_alternative<int64_t>(attribute(a, 0)) && std::holds_alternative<int64_t>(attribute(a, 1)))
    return c(integer(a, 0) <=> integer(a, 1));
  auto list = [](const AttributeValue& v) {
    return std::holds_alternative<Ints>(v) || std::holds_alternative<ir::Shape>(v);
  };
  if (list(attribute(a, 0)) && list(attribute(a, 1)))
    return c(ints(a, 0) == ints(a, 1) ? std::strong_ordering::equal : std::strong_ordering::greater);
  return c(ir::same_bits(attribute(a, 0), attribute(a, 1)) ? std::strong_ordering::equal
                                                           : std::strong_ordering::greater);
}
AttributeValue equal(Arguments a) {
  return compare(a, [](auto o) { return o == 0; });
}
AttributeValue not_equal(Arguments a) {
  return compare(a, [](auto o) { return o != 0; });
}
AttributeValue less(Arguments a) { return integer(a, 0) < integer(a, 1); }
AttributeValue less_equal(Arguments a) { return integer(a, 0) <= integer(a, 1); }
AttributeValue greater(Arguments a) { return integer(a, 0) > integer(a, 1); }
AttributeValue greater_equal(Arguments a) { return integer(a, 0) >= integer(a, 1); }
AttributeValue add(Arguments a) { return integer(a, 0) + integer(a, 1); }
AttributeValue sub(Arguments a) { return integer(a, 0) - integer(a, 1); }
AttributeValue mul(Arguments a) { return integer(a, 0) * integer(a, 1); }
AttributeValue logical_not(Arguments a) {
  if (auto* b = std::get_if<bool>(&attribute(a, 0))) return !*b;
  refuse("argument is no boolean");
}

constexpr RuleFunction kFunctions[] = {
    {"compose", "(p, q)", "the permutation of transpose(transpose(x, p), q)", compose},
    {"inverse", "(p)", "the inverse permutation", inverse_of},
    {"permute", "(list, p)", "an attribute with one entry an axis, seen through transpose p", permute},
    {"move_axis", "(axis or axes, p)", "where an axis of x stands in transpose(x, p)", move_axis},
    {"without_axes", "(p, axes)", "the permutation left when the axes are reduced away", without_axes},
    {"dim", "(x, axis)", "size of an axis", dim},
    {"rank", "(x)", "number of axes", rank},
    {"shape", "(x)", "its shape", shape},
    {"dtype", "(x)", "its element type", dtype},
    {"elements", "(x)", "number of elements", elements},
    {"transposed_shape", "(x, p)", "the shape of transpose(x, p)", transposed_shape},
    {"squeezed", "(x, n)", "the shape of x without its last n axes", squeezed},
    {"last_dims", "(x, n)", "the last n dimensions of x", last_dims},
    {"first", "(list)", "its first entry", first},
    {"known", "(x)", "the value of every element, where it is known", known},
    {"same_type", "(x, y)", "equal dtype and shape", same_type},
    {"same_shape", "(x, y)", "equal shape", same_shape},
    {"is_float", "(x)", "floating-point", is_float},
    {"is_integer", "(x)", "integer", is_integer},
    {"is_fixed", "(x)", "depends on parameters and constants alone", is_fixed},
    {"is_varying", "(x)", "depends on an input", is_varying},
    {"is_splat", "(x)", "every element has one known value", is_splat},
    {"is_power_of_two", "(x)", "every element is one known power of two", is_power_of_two},
    {"close_to", "(x, number)", "every element is this number up to rounding", close_to},
    {"is_identity", "(p)", "the permutation that moves nothing", is_identity},
    {"moves_only_ones", "(x, p)", "transpose(x, p) keeps the row-major bytes", moves_only_ones},
    {"last_axes", "(x, axes)", "the axes are the last ones of x, in order", last_axes},
    {"contains", "(list, n)", "n is in the list", contains},
    {"ones", "(list)", "every entry is 1", ones},
    {"zeros", "(list)", "every entry is 0", zeros},
    {"pad_low", "(x)", "no padding in front of any axis", pad_low},
    {"pad_high", "(x, axis, n)", "n elements behind one axis", pad_high},
    {"pads_space", "(low, high)", "pads only the axes after the second, and crops none", pads_space},
    {"add_pads", "(pads, low, high)", "pads of a window over a padded tensor", add_pads},
    {"one_axis", "(axes)", "exactly one", one_axis},
    {"last_axis", "(x)", "number of its last axis", last_axis},
    {"swaps_last_two", "(p)", "the permutation that swaps the last two axes", swaps_last_two},
    {"inverse_known", "(x)", "1 / the value of every element, where it is known", inverse_known},
    {"is_sixth", "(real)", "1/6 up to rounding", is_sixth},
    {"is_half", "(real)", "1/2 up to rounding", is_half},
    {"equal", "a == b", "", equal},
    {"not_equal", "a != b", "", not_equal},
    {"less", "a < b", "", less},
    {"less_equal", "a <= b", "", less_equal},
    {"greater", "a > b", "", greater},
    {"greater_equal", "a >= b", "", greater_equal},
    {"add", "a + b", "", add},
    {"sub", "a - b", "", sub},
    {"mul", "a * b", "", mul},
    {"logical_not", "(b)", "", logical_not},
};

constexpr OpSet kSets[] = {
    {"elementwise", "every elementwise op", [](const ir::OpInfo& i) { return i.has(ir::kElementwise); }},
    {"unary", "elementwise ops of one operand",
     [](const ir::OpInfo& i) { return i.has(ir::kElementwise) && i.operands.size() == 1; }},
    {"binary", "elementwise ops of two operands",
     [](const ir::OpInfo& i) { return i.has(ir::kElementwise) && i.operands.size() == 2; }},
    {"commutative", "binary ops whose operands may be swapped",
     [](const ir::OpInfo& i) { return i.has(ir::kCommutative); }},
    {"reduction", "reductions along axes", [](const ir::OpInfo& i) { return i.has(ir::kReduction); }},
};

}  // namespace

std::span<const RuleFunction> rule_functions() { return kFunctions; }
const RuleFunction* find_rule_function(std::string_view name) {
  for (const RuleFunction& f : kFunctions)
    if (f.name == name) return &f;
  return nullptr;
}
std::span<const OpSet> op_sets() { return kSets; }
const OpSet* find_op_set(std::string_view name) {
  for (const OpSet& s : kSets)
    if (s.name == name) return &s;
  return nullptr;
}

}  // namespace weft::passes
