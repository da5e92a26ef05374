// Attention and rotary position embeddings.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/import/onnx/emit.hpp"
#include "ir/import/onnx/handlers.hpp"
#include "ir/support/error.hpp"

namespace weft::ir::onnx_import {
namespace {

/// [B, S, H*D] -> [B, H, S, D]; rank 4 stays.
Ref heads_first(Builder& b, Ref x, int64_t heads) {
  if (b.rank(x) == 4) return x;
  if (b.rank(x) != 3 || heads < 1) fail(ErrorCode::type_mismatch, "{} with {} heads", b.describe(x), heads);
  Shape s = b.shape(x);
  return transpose(b, reshape(b, x, {s[0], s[1], heads, floor_div(s[2], Dim(heads))}), {0, 2, 1, 3});
}

Ref heads_last(Builder& b, Ref x) {
  Ref moved = transpose(b, x, {0, 2, 1, 3});
  Shape s = b.shape(moved);
  return reshape(b, moved, {s[0], s[1], s[2] * s[3]});
}

/// Additive form of a mask: a bool is 0 where true and -inf elsewhere.
Ref additive(Builder& b, Ref mask, DType dtype) {
  if (b.dtype(mask) != DType::boolean) return cast(b, mask, dtype);
  return where(b, mask, b.scalar(dtype, 0), b.scalar(dtype, -std::numeric_limits<double>::infinity()));
}

/// True where query i may see key j: j <= i + offset.
Ref causal(Builder& b, Dim queries, Dim keys, Dim offset) {
  Ref row = add(b, unsqueeze(b, iota(b, queries), 1), b.dims({offset}, true)), column = unsqueeze(b, iota(b, keys), 0);
  return binary(b, Op::less_equal, column, row);
}

/// Operands of one attention in the form that its products need: heads of a group share their keys.
struct Heads {
  Ref q, k, v;                     // [B, Hkv, group, Sq, D], [B, Hkv, 1, Sk, D], [B, Hkv, 1, Sk, Dv]
  Ref present_key, present_value;  // [B, Hkv, Sk, D], [B, Hkv, Sk, Dv]
  Shape q_shape;                   // [B, Hq, Sq, D]
  Dim kv_heads, queries, keys, value_depth, past = 0;
  Dim group;
};

Heads read_heads(Call& n) {
  Builder& b = n.b;
  int64_t q_heads = n.integer("q_num_heads", 0), kv_heads = n.integer("kv_num_heads", q_heads);
  Ref q = heads_first(b, n.in(0), q_heads), k = heads_first(b, n.in(1), kv_heads),
      v = heads_first(b, n.in(2), kv_heads);
  Heads h;
  if (n.has(4)) {
    h.past = b.shape(n.in(4))[2];
    k = concat(b, {n.in(4), k}, 2);
    v = concat(b, {n.in(5), v}, 2);
  }
  Shape qs = b.shape(q), ks = b.shape(k), vs = b.shape(v);
  if (ks[1].is(0) || (qs[1].is_constant() && ks[1].is_constant() && qs[1].value() % ks[1].value() != 0))
    fail(ErrorCode::type_mismatch, "{} query heads do not divide among {} key heads", qs[1].text(), ks[1].text());
  h.q_shape = qs, h.kv_heads = ks[1], h.queries = qs[2], h.keys = ks[2], h.value_depth = vs[3];
  h.group = floor_div(qs[1], ks[1]);
  h.present_key = k, h.present_value = v;
  h.q = reshape(b, q, {qs[0], ks[1], h.group, qs[2], qs[3]});
  h.k = unsqueeze(b, k, 2);
  h.v = unsqueeze(b, v, 2);
  return h;
}

/// Masks are [S, T], [H, S, T] or [B, H, S, T]; heads are split into groups as those of q are.
Ref grouped_mask(Builder& b, Ref mask, const Heads& h) {
  Shape shape = b.shape(mask);
  while (shape.size() < 4) shape.insert(shape.begin(), Dim(1));
  Dim missing = h.keys - shape[3];
  mask = reshape(b, mask, shape);
  if (missing.is_constant() && missing.value() > 0) {  // a shorter mask hides the keys behind it
    mask = pad(b, mask, {0, 0, 0, 0}, {0, 0, 0, missing.value()}, -std::numeric_limits<double>::infinity());
    shape[3] = h.keys;
  }
  bool one_head = shape[1].is(1);
  return reshape(b, mask, {shape[0], one_head ? Dim(1) : h.kv_heads, one_head ? Dim(1) : h.group, shape[2], shape[3]});
}

/// The sum of all that hides keys, additive; invalid where nothing does. `leave_causal`: the op itself hides later
/// keys.
Ref whole_mask(Call& n, const Heads& h, bool is_causal, bool leave_causal) {
  Builder& b = n.b;
  DType dtype = b.dtype(h.q);
  Ref mask;
  auto hide = [&](Ref other) { mask = mask.valid() ? add(b, mask, other) : other; };
  if (n.has(3)) hide(grouped_mask(b, additive(b, n.in(3), dtype), h));
  if (n.has(6)) {  // keys behind the valid length of each batch; queries are the last of the valid ones
    Ref length = reshape(b, cast(b, n.in(6), DType::i64), {h.q_shape[0], 1, 1, 1, 1});
    Ref key = along_axis(b, iota(b, h.keys), 4, 5);
    hide(additive(b, binary(b, Op::less, key, length), dtype));
    Ref last = add(b, along_axis(b, iota(b, h.queries), 3, 5), binary(b, Op::sub, length, b.dims({h.queries}, true)));
    if (is_causal) hide(additive(b, binary(b, Op::less_equal, key, last), dtype));
  } else if (is_causal && !leave_causal) {
    hide(additive(b, causal(b, h.queries, h.keys, h.past), dtype));
  }
  return mask;
}

/// Attention of opset 23 and 24: one op, or spelled out where scores are capped or wanted.
Refs attention(Call& n) {
  n.expect_inputs(3, 7);
  n.ignore({"softmax_precision"});
  Builder& b = n.b;
  Heads h = read_heads(n);
  bool is_causal = n.flag("is_causal", false), flat = b.rank(n.in(0)) == 3;
  double softcap = n.real("softcap", 0),
         scale = n.real("scale", 1 / std::sqrt(static_cast<double>(h.q_shape[3].value())));
  int64_t mode = n.integer("qk_matmul_output_mode", 0);
  bool plain = softcap == 0 && !n.wants(3), op_is_causal = plain && !n.has(6) && h.queries + h.past == h.keys;
  Ref mask = whole_mask(n, h, is_causal, op_is_causal), y, scores;
  if (plain) {
    Refs operands{h.q, h.k, h.v};
    if (mask.valid()) operands.push_back(mask);
    y = b.add(Op::attention, operands, {{"scale", scale}, {"causal", is_causal && op_is_causal}}, n.name());
  } else {
    Ref raw = mul(b, matmul(b, h.q, h.k, false, true), scale), masked = mask.valid() ? add(b, raw, mask) : raw;
    Ref capped = softcap == 0 ? masked : mul(b, unary(b, Op::tanh, div(b, masked, softcap)), softcap);
    Ref weights = b.add(Op::softmax, {capped}, {{"axis", int64_t{4}}});
    y = matmul(b, weights, h.v);
    Ref chosen = mode == 0 ? raw : mode == 1 ? masked : mode == 2 ? capped : weights;
    scores = reshape(b, chosen, {h.q_shape[0], h.q_shape[1], h.queries, h.keys});
  }
  y = reshape(b, y, {h.q_shape[0], h.q_shape[1], h.queries, h.value_depth});
  return {flat ? heads_last(b, y) : y, h.present_key, h.present_value, scores};
}

/// Rotates pairs of elements by an angle of the position: halves of a head, or neighbours where interleaved.
Refs rotary_embedding(Call& n) {
  n.expect_inputs(3, 4);
  Builder& b = n.b;
  bool interleaved = n.flag("interleaved", false), flat = b.rank(n.in(0)) == 3;
  int64_t heads = n.integer("num_heads", 0), rotated = n.integer("rotary_embedding_dim", 0);
  Ref x = heads_first(b, n.in(0), heads), cos = n.in(1), sin = n.in(2);
  Shape s = b.shape(x);
  int64_t depth = s[3].value();
  if (rotated == 0) rotated = depth;
  if (rotated < 2 || rotated > depth || rotated % 2)
    fail(ErrorCode::type_mismatch, "rotary_embedding_dim {} of {}", rotated, depth);
  if (n.has(3)) {
    cos = gather(b, cos, n.in(3), 0);
    sin = gather(b, sin, n.in(3), 0);
  }
  auto table = [&](Ref t) {  // [B, S, half] -> [B, 1, S, half]
    Ref wide = unsqueeze(b, t, 1);
    return slice(b, wide, 3, 0, rotated / 2);
  };
  cos = table(cos);
  sin = table(sin);
  Ref turn = slice(b, x, 3, 0, rotated), first, second;
  if (interleaved) {
    first = slice(b, turn, 3, 0, rotated, 2);
    second = slice(b, turn, 3, 1, rotated, 2);
  } else {
    first = slice(b, turn, 3, 0, rotated / 2);
    second = slice(b, turn, 3, rotated / 2, rotated);
  }
  Ref real = binary(b, Op::sub, mul(b, first, cos), mul(b, second, sin)),
      imaginary = add(b, mul(b, first, sin), mul(b, second, cos));
  Ref y = interleaved ? reshape(b, concat(b, {unsqueeze(b, real, 4), unsqueeze(b, imaginary, 4)}, 4),
                                {s[0], s[1], s[2], rotated})
                      : concat(b, {real, imaginary}, 3);
  if (rotated < depth) y = concat(b, {y, slice(b, x, 3, rotated, depth)}, 3);
  return {flat ? heads_last(b, y) : y};
}

constexpr OpRow kRows[] = {
    {"Attention", attention},
    {"RotaryEmbedding", rotary_embedding},
};

}  // namespace

std::span<const OpRow> attention_ops() { return kRows; }

}  // namespace weft::ir::onnx_import
