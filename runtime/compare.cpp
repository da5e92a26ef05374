#include "runtime/compare.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "ir/support/error.hpp"

namespace weft::runtime {
namespace {

using ir::Tensor;

/// Bits of a float as an integer that grows with the value, so that neighbours differ by one.
template <typename U>
int64_t ordered(U bits) {
  constexpr U kSign = U{1} << (sizeof(U) * 8 - 1);
  auto magnitude = static_cast<int64_t>(bits & ~kSign);
  return bits & kSign ? -magnitude : magnitude;
}
template <typename U>
uint64_t ulps(const Tensor& a, const Tensor& b, int64_t i) {
  int64_t x = ordered(static_cast<const U*>(a.data())[i]), y = ordered(static_cast<const U*>(b.data())[i]);
  return x > y ? static_cast<uint64_t>(x) - static_cast<uint64_t>(y)
               : static_cast<uint64_t>(y) - static_cast<uint64_t>(x);
}
uint64_t ulp_distance(const Tensor& a, const Tensor& b, int64_t i) {
  switch (size_of(a.dtype())) {
    case 2:
      return ulps<uint16_t>(a, b, i);
    case 4:
      return ulps<uint32_t>(a, b, i);
    default:
      return ulps<uint64_t>(a, b, i);
  }
}

void compare_floats(const Tensor& got, const Tensor& want, const Tolerance& tolerance, Difference& d) {
  double worst_share = -1;
  for (int64_t i = 0; i < d.elements; ++i) {
    double g = got.at_double(i), w = want.at_double(i);
    if (g == w || (std::isnan(g) && std::isnan(w))) continue;
    double absolute = std::abs(g - w), allowed = tolerance.absolute + tolerance.relative * std::abs(w);
    bool finite = std::isfinite(g) && std::isfinite(w);
    if (!finite || !(absolute <= allowed)) ++d.beyond;
    double share = !finite       ? std::numeric_limits<double>::infinity()
                   : allowed > 0 ? absolute / allowed
                                 : std::numeric_limits<double>::max();
    if (finite) {
      d.max_absolute = std::max(d.max_absolute, absolute);
      if (w != 0) d.max_relative = std::max(d.max_relative, absolute / std::abs(w));
      d.max_ulp = std::max(d.max_ulp, ulp_distance(got, want, i));
    }
    if (share <= worst_share) continue;
    worst_share = share;
    d.worst = i;
    d.got = g;
    d.want = w;
  }
}

void compare_integers(const Tensor& got, const Tensor& want, Difference& d) {
  for (int64_t i = 0; i < d.elements; ++i) {
    int64_t g = got.at_int(i), w = want.at_int(i);
    if (g == w) continue;
    ++d.beyond;
    double absolute = std::abs(static_cast<double>(g) - static_cast<double>(w));
    if (d.worst >= 0 && absolute <= d.max_absolute) continue;
    d.max_absolute = absolute;
    d.worst = i;
    d.got = static_cast<double>(g);
    d.want = static_cast<double>(w);
  }
}

}  // namespace

Difference compare(const Tensor& got, const Tensor& want, const Tolerance& tolerance) {
  Difference d;
  if (got.type() != want.type()) {
    d.mismatch = fmt::format("{} against {}", to_string(got.type()), to_string(want.type()));
    return d;
  }
  d.elements = want.elements();
  if (is_float(want.dtype()))
    compare_floats(got, want, tolerance, d);
  else
    compare_integers(got, want, d);
  return d;
}

std::string Difference::text() const {
  if (!mismatch.empty()) return "types differ: " + mismatch;
  if (worst < 0) return fmt::format("{} elements, all equal", elements);
  return fmt::format(
      "{} elements, {} beyond tolerance; max abs {:.3g}, rel {:.3g}, {} ulp; worst at {}: {:.9g} against {:.9g}",
      elements, beyond, max_absolute, max_relative, max_ulp, worst, got, want);
}

Tensor random_tensor(const ir::TensorType& type, uint64_t seed, int64_t bound) {
  Tensor tensor = Tensor::allocate(type);
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du;
  auto next = [&] {  // splitmix64 (Steele, Lea, Flood 2014)
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  };
  int64_t most = std::max<int64_t>(bound, 1);
  if (size_of(type.dtype) == 1) most = std::min<int64_t>(most, ir::is_signed(type.dtype) ? 127 : 255);
  if (size_of(type.dtype) == 2) most = std::min<int64_t>(most, ir::is_signed(type.dtype) ? 32767 : 65535);
  for (int64_t i = 0, n = tensor.elements(); i < n; ++i) {
    uint64_t r = next();
    double value = is_float(type.dtype)               ? static_cast<double>(r >> 11) * 0x1p-52 - 1
                   : type.dtype == ir::DType::boolean ? static_cast<double>(r & 1)
                                                      : static_cast<double>(r % static_cast<uint64_t>(most));
    set_from_double(tensor, i, value);
  }
  return tensor;
}

}  // namespace weft::runtime
