// Float functions on Highway vectors, compiled once a target (no include guard of the usual kind). Polynomials: exp and
// log as in Cephes (S. Moshier), erf as in N. Juffa's erff; errors are stated for f32 against the exact value, measured
// by tests/backends/vector_ops_test.cpp. NaN gives NaN everywhere.
#if defined(WEFT_BACKENDS_TBB_VECTOR_MATH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_BACKENDS_TBB_VECTOR_MATH_INL
#undef WEFT_BACKENDS_TBB_VECTOR_MATH_INL
#else
#define WEFT_BACKENDS_TBB_VECTOR_MATH_INL
#endif

#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weft::backends::tbb::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
using IntTag = hn::Rebind<int32_t, D>;

/// 2^n for integer n in [-126, 127].
template <class D, class VI>
HWY_INLINE hn::Vec<D> PowerOfTwo(D d, VI n) {
  return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(n, hn::Set(IntTag<D>(), 127))));
}

/// Splits x = n ln2 + r, |r| <= ln2 / 2 (and a rounding), for finite x with |x| < 2^20. Adding 1.5 2^23 rounds to an
/// integer, which then stands in the low bits.
template <class D, class V>
HWY_INLINE V ReduceLn2(D d, V x, hn::Vec<IntTag<D>>& n) {
  const V magic = hn::Set(d, 12582912.0f), shifted = hn::MulAdd(x, hn::Set(d, 1.44269504088896341f), magic);
  const V whole = hn::Sub(shifted, magic);
  n = hn::Sub(hn::BitCast(IntTag<D>(), shifted), hn::Set(IntTag<D>(), 0x4b400000));
  return hn::NegMulAdd(whole, hn::Set(d, -2.12194440e-4f), hn::NegMulAdd(whole, hn::Set(d, 0.693359375f), x));
}

/// e^r - 1 for |r| <= ln2 / 2.
template <class D, class V>
HWY_INLINE V ExpM1Small(D d, V r) {
  V p = hn::Set(d, 1.9875691500e-4f);
  p = hn::MulAdd(p, r, hn::Set(d, 1.3981999507e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 8.3334519073e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.1665795894e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.6666665459e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 5.0000001201e-1f));
  return hn::MulAdd(hn::Mul(r, r), p, r);
}

/// e^x, at most 2 ulp, with gradual underflow and overflow to infinity.
template <class D, class V>
HWY_INLINE V Exp(D d, V x) {
  const V clamped = hn::Min(hn::Max(x, hn::Set(d, -105.0f)), hn::Set(d, 89.0f));
  hn::Vec<IntTag<D>> n;
  const V r = ReduceLn2(d, clamped, n);
  const V p = hn::Add(ExpM1Small(d, r), hn::Set(d, 1.0f));
  const auto half = hn::ShiftRight<1>(n);
  const V y = hn::Mul(hn::Mul(p, PowerOfTwo(d, half)), PowerOfTwo(d, hn::Sub(n, half)));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

/// e^x for x <= 0 without a denormal result to speak of: below -87 gives 0. Used after the maximum is subtracted; NaN
/// stays. Several vectors at once, op by op: a chain of dependent operations alone leaves the units idle.
template <int kCount, class D, class V>
HWY_INLINE void ExpOfNegative(D d, V (&x)[kCount]) {
  const IntTag<D> di;
  const V lowest = hn::Set(d, -87.0f), magic = hn::Set(d, 12582912.0f);
  constexpr float kPolynomial[5] = {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f,
                                    5.0000001201e-1f};
  V shifted[kCount], r[kCount], p[kCount];
  // n and 2^n as in ReduceLn2; x itself goes on, so that NaN stays, and what is made of x < -87 is masked.
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i)
    shifted[i] = hn::MulAdd(hn::Max(x[i], lowest), hn::Set(d, 1.44269504088896341f), magic);
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) r[i] = hn::NegMulAdd(hn::Sub(shifted[i], magic), hn::Set(d, 0.693359375f), x[i]);
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) r[i] = hn::NegMulAdd(hn::Sub(shifted[i], magic), hn::Set(d, -2.12194440e-4f), r[i]);
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) p[i] = hn::Set(d, 1.9875691500e-4f);
#pragma GCC unroll 8
  for (int k = 0; k < 5; ++k) {
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) p[i] = hn::MulAdd(p[i], r[i], hn::Set(d, kPolynomial[k]));
  }
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) p[i] = hn::MulAdd(hn::Mul(r[i], r[i]), p[i], r[i]);
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) {
    const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, shifted[i]));
    const V scale = hn::BitCast(d, hn::Add(exponent, hn::Set(di, 127 << 23)));
    x[i] = hn::IfThenZeroElse(hn::Lt(x[i], lowest), hn::MulAdd(p[i], scale, scale));
  }
}
template <class D, class V>
HWY_INLINE V ExpOfNegative(D d, V x) {
  V one[1] = {x};
  ExpOfNegative<1>(d, one);
  return one[0];
}

/// e^x - 1 for x <= 0, at most 3 ulp.
template <class D, class V>
HWY_INLINE V ExpM1OfNegative(D d, V x) {
  const V clamped = hn::Max(x, hn::Set(d, -30.0f));
  hn::Vec<IntTag<D>> n;
  const V r = ReduceLn2(d, clamped, n);
  const V scale = PowerOfTwo(d, n);
  const V y = hn::MulAdd(ExpM1Small(d, r), scale, hn::Sub(scale, hn::Set(d, 1.0f)));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

/// ln x, at most 2 ulp; 0 gives -inf, negatives NaN; denormals are exact inputs.
template <class D, class V>
HWY_INLINE V Log(D d, V x) {
  const IntTag<D> di;
  const auto tiny = hn::Lt(x, hn::Set(d, std::numeric_limits<float>::min()));
  const V scaled = hn::IfThenElse(tiny, hn::Mul(x, hn::Set(d, 0x1p24f)), x);
  // Mantissa in [sqrt(1/2), sqrt(2)).
  const auto bits = hn::BitCast(di, scaled);
  const auto shifted = hn::Sub(bits, hn::Set(di, 0x3f3504f3));
  const auto exponent = hn::ShiftRight<23>(shifted);
  const V m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(exponent)));
  const V e = hn::Sub(hn::ConvertTo(d, exponent), hn::IfThenElseZero(tiny, hn::Set(d, 24.0f)));
  const V f = hn::Sub(m, hn::Set(d, 1.0f));
  const V z = hn::Mul(f, f);
  V p = hn::Set(d, 7.0376836292e-2f);
  p = hn::MulAdd(p, f, hn::Set(d, -1.1514610310e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 1.1676998740e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, -1.2420140846e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 1.4249322787e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, -1.6668057665e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 2.0000714765e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, -2.4999993993e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 3.3333331174e-1f));
  V y = hn::Mul(hn::Mul(f, z), p);
  y = hn::MulAdd(e, hn::Set(d, -2.12194440e-4f), y);
  y = hn::NegMulAdd(z, hn::Set(d, 0.5f), y);
  y = hn::Add(f, y);
  y = hn::MulAdd(e, hn::Set(d, 0.693359375f), y);
  const V inf = hn::Set(d, std::numeric_limits<float>::infinity());
  y = hn::IfThenElse(hn::Eq(x, inf), inf, y);
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(inf), y);
  return hn::IfThenElse(hn::Ge(x, hn::Zero(d)), y, hn::Set(d, std::numeric_limits<float>::quiet_NaN()));
}

/// ln(1 + y) for y in [0, 1], at most 3 ulp.
template <class D, class V>
HWY_INLINE V Log1P(D d, V y) {
  const V one = hn::Set(d, 1.0f), u = hn::Add(one, y);
  return hn::Add(Log(d, u), hn::Div(hn::Sub(y, hn::Sub(u, one)), u));
}

/// tanh x, at most 5 ulp: a rational function of degree 13 over 6 (as in Eigen's generic implementation), and 1 where
/// that is nearer than where the function ends.
template <class D, class V>
HWY_INLINE V Tanh(D d, V x) {
  const V c = hn::Min(hn::Max(x, hn::Set(d, -7.90531110763549805f)), hn::Set(d, 7.90531110763549805f));
  const V z = hn::Mul(c, c);
  V p = hn::Set(d, -2.76076847742355e-16f);
  p = hn::MulAdd(p, z, hn::Set(d, 2.00018790482477e-13f));
  p = hn::MulAdd(p, z, hn::Set(d, -8.60467152213735e-11f));
  p = hn::MulAdd(p, z, hn::Set(d, 5.12229709037114e-08f));
  p = hn::MulAdd(p, z, hn::Set(d, 1.48572235717979e-05f));
  p = hn::MulAdd(p, z, hn::Set(d, 6.37261928875436e-04f));
  p = hn::MulAdd(p, z, hn::Set(d, 4.89352455891786e-03f));
  V q = hn::Set(d, 1.19825839466702e-06f);
  q = hn::MulAdd(q, z, hn::Set(d, 1.18534705686654e-04f));
  q = hn::MulAdd(q, z, hn::Set(d, 2.26843463243900e-03f));
  q = hn::MulAdd(q, z, hn::Set(d, 4.89352518554385e-03f));
  const V y = hn::Div(hn::Mul(c, p), q), size = hn::Abs(x);
  const V large = hn::IfThenElse(hn::Gt(size, hn::Set(d, 8.32f)), hn::CopySign(hn::Set(d, 1.0f), x), y);
  const V small = hn::IfThenElse(hn::Lt(size, hn::Set(d, 0.0004f)), x, large);
  return hn::IfThenElse(hn::IsNaN(x), x, small);
}

/// 1 - erf(t) for t in [0.927734375, 10]: at most 1e-5 relative, 6e-8 absolute.
template <class D, class V>
HWY_INLINE V ErfcLarge(D d, V t) {
  const V s = hn::Mul(t, t);
  V r = hn::MulAdd(hn::Set(d, -1.72853470e-5f), t, hn::Set(d, 3.83197126e-4f));
  const V u = hn::MulAdd(hn::Set(d, -3.88396438e-3f), t, hn::Set(d, 2.42546219e-2f));
  r = hn::MulAdd(r, s, u);
  r = hn::MulAdd(r, t, hn::Set(d, -1.06777877e-1f));
  r = hn::MulAdd(r, t, hn::Set(d, -6.34846687e-1f));
  r = hn::MulAdd(r, t, hn::Set(d, -1.28717512e-1f));
  r = hn::MulSub(r, t, t);
  return ExpOfNegative(d, r);
}

/// erf(a) for |a| <= 0.927734375.
template <class D, class V>
HWY_INLINE V ErfSmall(D d, V a) {
  const V s = hn::Mul(a, a);
  V r = hn::Set(d, -5.96761703e-4f);
  r = hn::MulAdd(r, s, hn::Set(d, 4.99119423e-3f));
  r = hn::MulAdd(r, s, hn::Set(d, -2.67681349e-2f));
  r = hn::MulAdd(r, s, hn::Set(d, 1.12819925e-1f));
  r = hn::MulAdd(r, s, hn::Set(d, -3.76125336e-1f));
  r = hn::MulAdd(r, s, hn::Set(d, 1.28379166e-1f));
  return hn::MulAdd(r, a, a);
}

/// erf a, at most 2 ulp.
template <class D, class V>
HWY_INLINE V Erf(D d, V a) {
  const V t = hn::Min(hn::Abs(a), hn::Set(d, 4.0f));
  const V large = hn::CopySignToAbs(hn::Sub(hn::Set(d, 1.0f), ErfcLarge(d, t)), a);
  const V y = hn::IfThenElse(hn::Gt(t, hn::Set(d, 0.927734375f)), large, ErfSmall(d, a));
  return hn::IfThenElse(hn::IsNaN(a), a, y);
}

/// x / 2 (1 + erf(x / sqrt 2)): 4 ulp for x > -1.3; below that the absolute error is at most 1e-7, and the result never
/// has the wrong sign.
template <class D, class V>
HWY_INLINE V GeluErf(D d, V x) {
  const V a = hn::Mul(x, hn::Set(d, 0.70710678118654752f));
  const V t = hn::Min(hn::Abs(a), hn::Set(d, 9.0f)), one = hn::Set(d, 1.0f), two = hn::Set(d, 2.0f);
  const V tail = ErfcLarge(d, t);
  const V large = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(two, tail));
  const V factor = hn::IfThenElse(hn::Gt(t, hn::Set(d, 0.927734375f)), large, hn::Add(one, ErfSmall(d, a)));
  const V y = hn::Mul(hn::Mul(x, hn::Set(d, 0.5f)), factor);
  const V settled = hn::IfThenElse(hn::Lt(x, hn::Set(d, -14.0f)), hn::Mul(x, hn::Zero(d)), y);  // -inf gives NaN
  return hn::IfThenElse(hn::IsNaN(x), x, settled);
}

/// x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), written as x * sigmoid(2 u).
template <class D, class V>
HWY_INLINE V GeluTanh(D d, V x) {
  const V bounded = hn::Min(hn::Max(x, hn::Set(d, -12.0f)), hn::Set(d, 12.0f));
  const V square = hn::Mul(bounded, bounded);
  const V minus_2u = hn::Mul(bounded, hn::MulAdd(square, hn::Set(d, -0.07135481283f), hn::Set(d, -1.59576912161f)));
  const V y = hn::Div(x, hn::Add(hn::Set(d, 1.0f), Exp(d, minus_2u)));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

/// 1 / (1 + e^-x), at most 3 ulp.
template <class D, class V>
HWY_INLINE V Sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V e = Exp(d, hn::Neg(hn::Abs(x)));
  const V y = hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

/// x / (1 + e^-x), at most 4 ulp, down to where e^x itself is lost.
template <class D, class V>
HWY_INLINE V Silu(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V e = Exp(d, hn::Neg(hn::Abs(x)));
  return hn::Div(hn::Mul(x, hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one)), hn::Add(one, e));
}

}  // namespace weft::backends::tbb::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
