// The table of chunk functions, compiled once for each instruction set and chosen at run time (Highway).
// FP contraction is off for this file (CMakeLists.txt): x * y + z rounds twice, as the op table says, unless MulAdd is
// written.
#include "backends/tbb/vector_ops.hpp"

#include <array>
#include <cmath>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/tbb/vector_ops.cpp"
#include "hwy/foreach_target.h"
//
#include "backends/tbb/vector_math_inl.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weft::backends::tbb::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
constexpr size_t kMaxLanes = 16;

// ---- drivers: whole vectors straight from memory, the rest through padded buffers
// ---------------------------------------

struct F32 {
  using T = float;
  static HWY_INLINE VF load(const float* p) { return hn::LoadU(DF(), p); }
  static HWY_INLINE VF splat(float v) { return hn::Set(DF(), v); }
  static HWY_INLINE void store(VF v, float* p) { hn::StoreU(v, DF(), p); }
};
/// Bytes of 0 or 1 as masks of float lanes.
struct Bool {
  using T = uint8_t;
  using D8 = hn::Rebind<uint8_t, DF>;
  using DI = hn::Rebind<int32_t, DF>;
  static HWY_INLINE hn::Mask<DF> load(const uint8_t* p) {
    const auto wide = hn::PromoteTo(DI(), hn::LoadU(D8(), p));
    return hn::RebindMask(DF(), hn::Ne(wide, hn::Zero(DI())));
  }
  static HWY_INLINE hn::Mask<DF> splat(uint8_t v) {
    return hn::RebindMask(DF(), hn::Ne(hn::Set(DI(), v), hn::Zero(DI())));
  }
  static HWY_INLINE void store(hn::Mask<DF> m, uint8_t* p) {
    const auto ones = hn::IfThenElseZero(hn::RebindMask(DI(), m), hn::Set(DI(), 1));
    hn::StoreU(hn::DemoteTo(D8(), ones), D8(), p);
  }
};
/// Integers held as vectors of i32 lanes.
template <typename Element>
struct Int {
  using T = Element;
  using DI = hn::Rebind<int32_t, DF>;
  using DE = hn::Rebind<Element, DF>;
  static HWY_INLINE hn::Vec<DI> load(const T* p) {
    if constexpr (sizeof(T) == 4)
      return hn::LoadU(DI(), p);
    else
      return hn::PromoteTo(DI(), hn::LoadU(DE(), p));
  }
  static HWY_INLINE void store(hn::Vec<DI> v, T* p) {
    if constexpr (sizeof(T) == 4)
      hn::StoreU(v, DI(), p);
    else
      hn::StoreU(hn::DemoteTo(DE(), v), DE(), p);
  }
};

template <class In, class Out, class F>
void unary(const ChunkArgs& args) {
  const size_t lanes = hn::Lanes(DF());
  const auto* a = static_cast<const typename In::T*>(args.a);
  auto* out = static_cast<typename Out::T*>(args.out);
  size_t i = 0;
  for (; i + lanes <= args.n; i += lanes) Out::store(F::apply(In::load(a + i), args), out + i);
  if (const size_t rest = args.n - i) {
    typename In::T ta[kMaxLanes] = {};
    typename Out::T to[kMaxLanes];
    std::memcpy(ta, a + i, rest * sizeof ta[0]);
    Out::store(F::apply(In::load(ta), args), to);
    std::memcpy(out + i, to, rest * sizeof to[0]);
  }
}

template <class In, bool kScalar>
HWY_INLINE auto operand(const typename In::T* p, size_t i) {
  if constexpr (kScalar)
    return In::splat(*p);
  else
    return In::load(p + i);
}

template <class In, bool kScalar>
const typename In::T* padded(const typename In::T* p, size_t i, size_t rest, typename In::T* buffer) {
  if constexpr (kScalar) return p;
  std::memcpy(buffer, p + i, rest * sizeof *buffer);
  return buffer;
}

template <class In, class Out, class F, unsigned kScalars>
void binary(const ChunkArgs& args) {
  constexpr bool kA = kScalars & 1, kB = kScalars & 2;
  const size_t lanes = hn::Lanes(DF());
  const auto* a = static_cast<const typename In::T*>(args.a);
  const auto* b = static_cast<const typename In::T*>(args.b);
  auto* out = static_cast<typename Out::T*>(args.out);
  size_t i = 0;
  for (; i + lanes <= args.n; i += lanes) Out::store(F::apply(operand<In, kA>(a, i), operand<In, kB>(b, i)), out + i);
  if (const size_t rest = args.n - i) {
    typename In::T ta[kMaxLanes] = {}, tb[kMaxLanes] = {};
    typename Out::T to[kMaxLanes];
    const auto* pa = padded<In, kA>(a, i, rest, ta);
    const auto* pb = padded<In, kB>(b, i, rest, tb);
    Out::store(F::apply(operand<In, kA>(pa, 0), operand<In, kB>(pb, 0)), to);
    std::memcpy(out + i, to, rest * sizeof to[0]);
  }
}

template <class First, class F, unsigned kScalars>
void ternary(const ChunkArgs& args) {
  constexpr bool kA = kScalars & 1, kB = kScalars & 2, kC = kScalars & 4;
  const size_t lanes = hn::Lanes(DF());
  const auto* a = static_cast<const typename First::T*>(args.a);
  const auto* b = static_cast<const float*>(args.b);
  const auto* c = static_cast<const float*>(args.c);
  auto* out = static_cast<float*>(args.out);
  size_t i = 0;
  for (; i + lanes <= args.n; i += lanes) {
    F32::store(F::apply(operand<First, kA>(a, i), operand<F32, kB>(b, i), operand<F32, kC>(c, i)), out + i);
  }
  if (const size_t rest = args.n - i) {
    typename First::T ta[kMaxLanes] = {};
    float tb[kMaxLanes] = {}, tc[kMaxLanes] = {}, to[kMaxLanes];
    const auto* pa = padded<First, kA>(a, i, rest, ta);
    const auto* pb = padded<F32, kB>(b, i, rest, tb);
    const auto* pc = padded<F32, kC>(c, i, rest, tc);
    F32::store(F::apply(operand<First, kA>(pa, 0), operand<F32, kB>(pb, 0), operand<F32, kC>(pc, 0)), to);
    std::memcpy(out + i, to, rest * sizeof to[0]);
  }
}

template <class F>
void bytes(const ChunkArgs& args, unsigned scalars) {
  const auto* a = static_cast<const uint8_t*>(args.a);
  const auto* b = static_cast<const uint8_t*>(args.b);
  auto* out = static_cast<uint8_t*>(args.out);
  const size_t sa = scalars & 1 ? 0 : 1, sb = scalars & 2 ? 0 : 1;
  for (size_t i = 0; i < args.n; ++i) out[i] = F::apply(a[i * sa], b[i * sb]);
}
template <class F, unsigned kScalars>
void logical(const ChunkArgs& args) {
  bytes<F>(args, kScalars);
}

// ---- one element (lane)
// -----------------------------------------------------------------------------------------------

HWY_INLINE VF set(float v) { return hn::Set(DF(), v); }
HWY_INLINE VF max_ieee(VF a, VF b) {
  VF r = hn::IfThenElse(hn::Gt(a, b), a, b);
  r = hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), r);
  return hn::IfThenElse(hn::IsNaN(a), a, r);
}
HWY_INLINE VF min_ieee(VF a, VF b) {
  VF r = hn::IfThenElse(hn::Lt(a, b), a, b);
  r = hn::IfThenElse(hn::Eq(a, b), hn::Or(a, b), r);
  return hn::IfThenElse(hn::IsNaN(a), a, r);
}

#define WEFT_UNARY(name, expression)                            \
  struct name##_f {                                             \
    static HWY_INLINE auto apply(VF x, const ChunkArgs& args) { \
      const DF d;                                               \
      (void)d, (void)args;                                      \
      return expression;                                        \
    }                                                           \
  };
WEFT_UNARY(neg, hn::Neg(x))
WEFT_UNARY(abs, hn::Abs(x))
WEFT_UNARY(sign, hn::IfThenElse(hn::Gt(x, hn::Zero(d)), set(1),
                                hn::IfThenElse(hn::Lt(x, hn::Zero(d)), set(-1),
                                               hn::IfThenZeroElse(hn::Eq(x, hn::Zero(d)), x))))
WEFT_UNARY(sqrt, hn::Sqrt(x))
WEFT_UNARY(rsqrt, hn::Div(set(1), hn::Sqrt(x)))
WEFT_UNARY(reciprocal, hn::Div(set(1), x))
WEFT_UNARY(exp, Exp(d, x))
WEFT_UNARY(log, Log(d, x))
WEFT_UNARY(tanh, Tanh(d, x))
WEFT_UNARY(erf, Erf(d, x))
WEFT_UNARY(sigmoid, Sigmoid(d, x))
WEFT_UNARY(relu, hn::IfThenZeroElse(hn::Le(x, hn::Zero(d)), x))
WEFT_UNARY(softplus, hn::IfThenElse(hn::IsNaN(x), x,
                                    hn::Add(hn::IfThenZeroElse(hn::Le(x, hn::Zero(d)), x),
                                            Log1P(d, Exp(d, hn::Neg(hn::Abs(x)))))))
WEFT_UNARY(silu, Silu(d, x))
WEFT_UNARY(hard_swish, hn::Mul(x, hn::Mul(hn::Min(hn::Max(hn::Add(x, set(3)), hn::Zero(d)), set(6)), set(1.0f / 6))))
WEFT_UNARY(floor, hn::Floor(x))
WEFT_UNARY(ceil, hn::Ceil(x))
WEFT_UNARY(round, hn::Round(x))
WEFT_UNARY(leaky_relu, hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(set(args.p0), x), x))
WEFT_UNARY(elu, hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(set(args.p0), ExpM1OfNegative(d, x)), x))
/// max(low, min(high, x)) and min(max(x, low), high) for bounds that are numbers, low <= high, high not -0: two
/// comparisons, NaN falls through them; -0 under a low of +0 becomes +0 by the addition.
HWY_INLINE VF hold(VF x, VF low, VF high) {
  const VF r = hn::IfThenElse(hn::Lt(x, low), low, x);
  return hn::IfThenElse(hn::Gt(r, high), high, r);
}
WEFT_UNARY(hard_sigmoid,
           hn::Add(hold(hn::Add(hn::Mul(set(args.p0), x), set(args.p1)), hn::Zero(d), set(1)), hn::Zero(d)))
WEFT_UNARY(gelu_erf, GeluErf(d, x))
WEFT_UNARY(gelu_tanh, GeluTanh(d, x))
WEFT_UNARY(square, hn::Mul(x, x))
WEFT_UNARY(cube, hn::Mul(hn::Mul(x, x), x))
WEFT_UNARY(sqrt_pow, hn::IfThenElse(hn::Eq(hn::Abs(x), set(std::numeric_limits<float>::infinity())), hn::Abs(x),
                                    hn::Sqrt(hn::Add(x, hn::Zero(d)))))
WEFT_UNARY(is_nan, hn::IsNaN(x))
WEFT_UNARY(is_inf, hn::Eq(hn::Abs(x), set(std::numeric_limits<float>::infinity())))
WEFT_UNARY(bool_from_f32, hn::Not(hn::Eq(x, hn::Zero(d))))
#undef WEFT_UNARY

#define WEFT_BINARY(name, expression)                               \
  struct name##_f {                                                 \
    static HWY_INLINE auto apply(VF a, VF b) { return expression; } \
  };
WEFT_BINARY(add, hn::Add(a, b))
WEFT_BINARY(sub, hn::Sub(a, b))
WEFT_BINARY(mul, hn::Mul(a, b))
WEFT_BINARY(div, hn::Div(a, b))
WEFT_BINARY(max, max_ieee(a, b))
WEFT_BINARY(min, min_ieee(a, b))
WEFT_BINARY(equal, hn::Eq(a, b))
WEFT_BINARY(not_equal, hn::Not(hn::Eq(a, b)))
WEFT_BINARY(less, hn::Lt(a, b))
WEFT_BINARY(less_equal, hn::Le(a, b))
WEFT_BINARY(greater, hn::Gt(a, b))
WEFT_BINARY(greater_equal, hn::Ge(a, b))
#undef WEFT_BINARY

struct where_f {
  static HWY_INLINE VF apply(hn::Mask<DF> a, VF b, VF c) { return hn::IfThenElse(a, b, c); }
};
struct add_relu_f {
  static HWY_INLINE VF apply(VF a, VF b) {
    const VF sum = hn::Add(a, b);
    return hn::IfThenZeroElse(hn::Le(sum, hn::Zero(DF())), sum);
  }
};
struct mul_add_f {
  static HWY_INLINE VF apply(VF a, VF b, VF c) { return hn::Add(hn::Mul(a, b), c); }
};
struct mul_add_relu_f {
  static HWY_INLINE VF apply(VF a, VF b, VF c) { return add_relu_f::apply(hn::Mul(a, b), c); }
};
struct clip_f {
  static HWY_INLINE VF apply(VF a, VF b, VF c) { return min_ieee(max_ieee(a, b), c); }
};
struct hold_f {
  static HWY_INLINE VF apply(VF a, VF b, VF c) { return hold(a, b, c); }
};
struct hold_zero_f {
  static HWY_INLINE VF apply(VF a, VF b, VF c) { return hn::Add(hold(a, b, c), hn::Zero(DF())); }
};
struct and_f {
  static uint8_t apply(uint8_t a, uint8_t b) { return a & b; }
};
struct or_f {
  static uint8_t apply(uint8_t a, uint8_t b) { return a | b; }
};
struct xor_f {
  static uint8_t apply(uint8_t a, uint8_t b) { return a ^ b; }
};
void logical_not(const ChunkArgs& args) {
  for (size_t i = 0; i < args.n; ++i) static_cast<uint8_t*>(args.out)[i] = static_cast<const uint8_t*>(args.a)[i] ^ 1;
}

using VI = hn::Vec<hn::Rebind<int32_t, DF>>;
struct from_int_f {
  static HWY_INLINE VF apply(VI x, const ChunkArgs&) { return hn::ConvertTo(DF(), x); }
};
struct to_i32_f {
  static HWY_INLINE VI apply(VF x, const ChunkArgs&) {
    const hn::Rebind<int32_t, DF> di;
    const VI plain = hn::ConvertTo(di, hn::IfThenZeroElse(hn::IsNaN(x), x));
    const auto high = hn::RebindMask(di, hn::Ge(x, set(0x1p31f)));
    const auto low = hn::RebindMask(di, hn::Le(x, set(-0x1p31f)));
    return hn::IfThenElse(high, hn::Set(di, INT32_MAX), hn::IfThenElse(low, hn::Set(di, INT32_MIN), plain));
  }
};
struct to_u8_f {
  static HWY_INLINE VI apply(VF x, const ChunkArgs&) {
    const hn::Rebind<int32_t, DF> di;
    const VF bounded = hn::Min(hn::Max(hn::IfThenZeroElse(hn::IsNaN(x), x), hn::Zero(DF())), set(255));
    return hn::ConvertTo(di, bounded);
  }
};

void f32_from_bf16(const ChunkArgs& args) {
  const auto* a = static_cast<const uint16_t*>(args.a);
  auto* out = static_cast<float*>(args.out);
  const hn::Rebind<uint32_t, DF> du;
  const hn::Rebind<uint16_t, DF> dh;
  size_t i = 0;
  for (const size_t lanes = hn::Lanes(DF()); i + lanes <= args.n; i += lanes) {
    hn::StoreU(hn::BitCast(DF(), hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(dh, a + i)))), DF(), out + i);
  }
  for (; i < args.n; ++i) out[i] = ir::bf16_to_f32(a[i]);
}
void bf16_from_f32(const ChunkArgs& args) {
  const auto* a = static_cast<const float*>(args.a);
  auto* out = static_cast<uint16_t*>(args.out);
  for (size_t i = 0; i < args.n; ++i) out[i] = ir::f32_to_bf16(a[i]);
}

// ---- the table ----

using Table = std::array<std::array<ChunkFunction, 8>, static_cast<size_t>(VectorOp::count_)>;

template <class In, class Out, class F>
void fill_binary(Table& table, VectorOp op) {
  auto& row = table[static_cast<size_t>(op)];
  row[0] = binary<In, Out, F, 0>;
  row[1] = binary<In, Out, F, 1>;
  row[2] = binary<In, Out, F, 2>;
}

/// Between two scalars.
void clip_between(const ChunkArgs& args) {
  const float low = *static_cast<const float*>(args.b), high = *static_cast<const float*>(args.c);
  if (!(low <= high) || (high == 0 && std::signbit(high))) return ternary<F32, clip_f, 6>(args);
  if (low == 0 && !std::signbit(low)) return ternary<F32, hold_zero_f, 6>(args);
  ternary<F32, hold_f, 6>(args);
}

Table make_table() {
  Table t{};
  const auto at = [&](VectorOp op) -> std::array<ChunkFunction, 8>& { return t[static_cast<size_t>(op)]; };
#define WEFT_U(name) at(VectorOp::name)[0] = unary<F32, F32, name##_f>
  WEFT_U(neg);
  WEFT_U(abs);
  WEFT_U(sign);
  WEFT_U(sqrt);
  WEFT_U(rsqrt);
  WEFT_U(reciprocal);
  WEFT_U(exp);
  WEFT_U(log);
  WEFT_U(tanh);
  WEFT_U(erf);
  WEFT_U(sigmoid);
  WEFT_U(relu);
  WEFT_U(softplus);
  WEFT_U(silu);
  WEFT_U(hard_swish);
  WEFT_U(floor);
  WEFT_U(ceil);
  WEFT_U(round);
  WEFT_U(leaky_relu);
  WEFT_U(elu);
  WEFT_U(hard_sigmoid);
  WEFT_U(gelu_erf);
  WEFT_U(gelu_tanh);
  WEFT_U(square);
  WEFT_U(cube);
  WEFT_U(sqrt_pow);
#undef WEFT_U
  at(VectorOp::is_nan)[0] = unary<F32, Bool, is_nan_f>;
  at(VectorOp::is_inf)[0] = unary<F32, Bool, is_inf_f>;
  at(VectorOp::bool_from_f32)[0] = unary<F32, Bool, bool_from_f32_f>;
  at(VectorOp::f32_from_byte)[0] = unary<Int<uint8_t>, F32, from_int_f>;
  at(VectorOp::f32_from_i8)[0] = unary<Int<int8_t>, F32, from_int_f>;
  at(VectorOp::f32_from_i32)[0] = unary<Int<int32_t>, F32, from_int_f>;
  at(VectorOp::i32_from_f32)[0] = unary<F32, Int<int32_t>, to_i32_f>;
  at(VectorOp::u8_from_f32)[0] = unary<F32, Int<uint8_t>, to_u8_f>;
  at(VectorOp::f32_from_bf16)[0] = f32_from_bf16;
  at(VectorOp::bf16_from_f32)[0] = bf16_from_f32;
  at(VectorOp::logical_not)[0] = logical_not;
#define WEFT_B(name, Out) fill_binary<F32, Out, name##_f>(t, VectorOp::name)
  WEFT_B(add, F32);
  WEFT_B(sub, F32);
  WEFT_B(mul, F32);
  WEFT_B(div, F32);
  WEFT_B(max, F32);
  WEFT_B(min, F32);
  WEFT_B(equal, Bool);
  WEFT_B(not_equal, Bool);
  WEFT_B(less, Bool);
  WEFT_B(less_equal, Bool);
  WEFT_B(greater, Bool);
  WEFT_B(greater_equal, Bool);
#undef WEFT_B
#define WEFT_L(name, F)                  \
  at(VectorOp::name)[0] = logical<F, 0>; \
  at(VectorOp::name)[1] = logical<F, 1>; \
  at(VectorOp::name)[2] = logical<F, 2>
  WEFT_L(logical_and, and_f);
  WEFT_L(logical_or, or_f);
  WEFT_L(logical_xor, xor_f);
#undef WEFT_L
  at(VectorOp::where)[0] = ternary<Bool, where_f, 0>;
  at(VectorOp::where)[2] = ternary<Bool, where_f, 2>;
  at(VectorOp::where)[4] = ternary<Bool, where_f, 4>;
  at(VectorOp::where)[6] = ternary<Bool, where_f, 6>;
  at(VectorOp::clip)[0] = ternary<F32, clip_f, 0>;
  at(VectorOp::clip)[6] = clip_between;
  fill_binary<F32, F32, add_relu_f>(t, VectorOp::add_relu);
  at(VectorOp::mul_add)[0] = ternary<F32, mul_add_f, 0>;
  at(VectorOp::mul_add)[2] = ternary<F32, mul_add_f, 2>;
  at(VectorOp::mul_add)[4] = ternary<F32, mul_add_f, 4>;
  at(VectorOp::mul_add)[6] = ternary<F32, mul_add_f, 6>;
  at(VectorOp::mul_add_relu)[0] = ternary<F32, mul_add_relu_f, 0>;
  at(VectorOp::mul_add_relu)[2] = ternary<F32, mul_add_relu_f, 2>;
  at(VectorOp::mul_add_relu)[4] = ternary<F32, mul_add_relu_f, 4>;
  at(VectorOp::mul_add_relu)[6] = ternary<F32, mul_add_relu_f, 6>;
  return t;
}

ChunkFunction find(VectorOp op, unsigned scalars) {
  static const Table table = make_table();
  return table[static_cast<size_t>(op)][scalars];
}

}  // namespace weft::backends::tbb::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::backends::tbb {

HWY_EXPORT(find);
ChunkFunction chunk_function(VectorOp op, unsigned scalars) { return HWY_DYNAMIC_DISPATCH(find)(op, scalars); }

namespace {

/// Nanoseconds an element with 4, 8 and 16 lanes at about 3.5 GHz, measured by tests/bench/backends_bench.cpp.
double cost_at_16_lanes(VectorOp op) {
  switch (op) {
    case VectorOp::exp:
      return 0.35;
    case VectorOp::log:
      return 0.45;
    case VectorOp::tanh:
      return 0.3;
    case VectorOp::erf:
      return 0.8;
    case VectorOp::sigmoid:
      return 0.4;
    case VectorOp::softplus:
      return 0.7;
    case VectorOp::silu:
      return 0.35;
    case VectorOp::elu:
      return 0.25;
    case VectorOp::gelu_erf:
      return 0.9;
    case VectorOp::gelu_tanh:
      return 0.5;
    case VectorOp::sqrt:
    case VectorOp::sqrt_pow:
    case VectorOp::div:
    case VectorOp::reciprocal:
      return 0.12;
    case VectorOp::rsqrt:
      return 0.35;
    default:
      return 0.05;
  }
}

std::optional<VectorForm> cast_form(ir::DType from, ir::DType to) {
  using ir::DType;
  if (to == DType::f32) {
    if (from == DType::boolean || from == DType::u8) return VectorForm{VectorOp::f32_from_byte};
    if (from == DType::i8) return VectorForm{VectorOp::f32_from_i8};
    if (from == DType::i32) return VectorForm{VectorOp::f32_from_i32};
    if (from == DType::bf16) return VectorForm{VectorOp::f32_from_bf16};
  } else if (from == DType::f32) {
    if (to == DType::boolean) return VectorForm{VectorOp::bool_from_f32};
    if (to == DType::u8) return VectorForm{VectorOp::u8_from_f32};
    if (to == DType::i32) return VectorForm{VectorOp::i32_from_f32};
    if (to == DType::bf16) return VectorForm{VectorOp::bf16_from_f32};
  }
  return {};
}

std::optional<VectorForm> pow_form(std::optional<double> exponent) {
  if (!exponent) return {};
  if (*exponent == 2) return VectorForm{VectorOp::square};
  if (*exponent == 3) return VectorForm{VectorOp::cube};
  if (*exponent == 0.5) return VectorForm{VectorOp::sqrt_pow};
  if (*exponent == -1) return VectorForm{VectorOp::reciprocal};
  return {};
}

}  // namespace

double chunk_cost(VectorOp op) {
  static const double factor = std::strcmp(instruction_set(), "avx3") == 0   ? 1.0
                               : std::strcmp(instruction_set(), "avx2") == 0 ? 1.6
                                                                             : 4.0;
  return cost_at_16_lanes(op) * factor;
}

std::optional<VectorForm> vector_form(const ir::Node& node, const ir::DType* operand, std::optional<double> exponent) {
  using ir::DType;
  using ir::Op;
  const auto f32 = [&](size_t i) { return operand[i] == DType::f32; };
  const auto real = [&](const char* name) { return static_cast<float>(node.attributes->real(name)); };
  switch (node.op) {
    case Op::cast:
      return cast_form(operand[0], node.types[0].dtype);
    case Op::logical_not:
      return VectorForm{VectorOp::logical_not};
    case Op::logical_and:
      return VectorForm{VectorOp::logical_and, 2};
    case Op::logical_or:
      return VectorForm{VectorOp::logical_or, 2};
    case Op::logical_xor:
      return VectorForm{VectorOp::logical_xor, 2};
    case Op::where:
      return f32(1) ? std::optional(VectorForm{VectorOp::where, 3}) : std::nullopt;
    default:
      break;
  }
  if (!f32(0)) return {};
  switch (node.op) {
    case Op::pow:
      return f32(1) ? pow_form(exponent) : std::nullopt;
    case Op::clip:
      return VectorForm{VectorOp::clip, 3};
    case Op::leaky_relu:
      return VectorForm{VectorOp::leaky_relu, 1, real("alpha")};
    case Op::elu:
      return VectorForm{VectorOp::elu, 1, real("alpha")};
    case Op::hard_sigmoid:
      return VectorForm{VectorOp::hard_sigmoid, 1, real("alpha"), real("beta")};
    case Op::gelu:
      return VectorForm{node.attributes->text("approximate") == "none" ? VectorOp::gelu_erf : VectorOp::gelu_tanh};
#define WEFT_SAME(name, arity) \
  case Op::name:               \
    return VectorForm{VectorOp::name, arity}
      WEFT_SAME(neg, 1);
      WEFT_SAME(abs, 1);
      WEFT_SAME(sign, 1);
      WEFT_SAME(sqrt, 1);
      WEFT_SAME(rsqrt, 1);
      WEFT_SAME(reciprocal, 1);
      WEFT_SAME(exp, 1);
      WEFT_SAME(log, 1);
      WEFT_SAME(tanh, 1);
      WEFT_SAME(erf, 1);
      WEFT_SAME(sigmoid, 1);
      WEFT_SAME(relu, 1);
      WEFT_SAME(softplus, 1);
      WEFT_SAME(silu, 1);
      WEFT_SAME(hard_swish, 1);
      WEFT_SAME(floor, 1);
      WEFT_SAME(ceil, 1);
      WEFT_SAME(round, 1);
      WEFT_SAME(is_nan, 1);
      WEFT_SAME(is_inf, 1);
      WEFT_SAME(add, 2);
      WEFT_SAME(sub, 2);
      WEFT_SAME(mul, 2);
      WEFT_SAME(div, 2);
      WEFT_SAME(max, 2);
      WEFT_SAME(min, 2);
      WEFT_SAME(equal, 2);
      WEFT_SAME(not_equal, 2);
      WEFT_SAME(less, 2);
      WEFT_SAME(less_equal, 2);
      WEFT_SAME(greater, 2);
      WEFT_SAME(greater_equal, 2);
#undef WEFT_SAME
    default:
      return {};
  }
}

}  // namespace weft::backends::tbb
#endif
