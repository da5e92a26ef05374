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

struct Scores {
  Ref q, k;  // [B, Hkv, group, S, D] and [B, Hkv, 1, S, D]: heads of a group share their keys
  Dim queries, keys;
  int64_t group;
};

/// Masks are [S, T], [H, S, T] or [B, H, S, T]; heads are split into groups as those of q are.
Ref grouped_mask(Builder& b, Ref mask, const Scores& s, Dim kv_heads) {
  Shape shape = b.shape(mask);
  while (shape.size() < 4) shape.insert(shape.begin(), Dim(1));
  Dim missing = s.keys - shape[3];
  mask = reshape(b, mask, shape);
  if (missing.is_constant() && missing.value() > 0) {  // a shorter mask hides the keys behind it
    mask = pad(b, mask, {0, 0, 0, 0}, {0, 0, 0, missing.value()}, -std::numeric_limits<double>::infinity());
    shape[3] = s.keys;
  }
  bool one_head = shape[1].is(1);
  return reshape(b, mask,
                 {shape[0], one_head ? Dim(1) : kv_heads, one_head ? Dim(1) : Dim(s.group), shape[2], shape[3]});
}

/// Attention of opset 23 and 24.
Refs attention(Call& n) {
  n.expect_inputs(3, 7);
  Builder& b = n.b;
  int64_t q_heads = n.integer("q_num_heads", 0), kv_heads = n.integer("kv_num_heads", q_heads);
  bool is_causal = n.flag("is_causal", false);
  double softcap = n.real("softcap", 0);
  int64_t mode = n.integer("qk_matmul_output_mode", 0);
  n.ignore({"softmax_precision"});
  bool flat = b.rank(n.in(0)) == 3;
  Ref q = heads_first(b, n.in(0), q_heads), k = heads_first(b, n.in(1), kv_heads),
      v = heads_first(b, n.in(2), kv_heads);
  DType dtype = b.dtype(q);
  Dim past = 0;
  if (n.has(4)) {
    past = b.shape(n.in(4))[2];
    k = concat(b, {n.in(4), k}, 2);
    v = concat(b, {n.in(5), v}, 2);
  }
  Shape qs = b.shape(q), ks = b.shape(k), vs = b.shape(v);
  if (ks[1].is(0) || (qs[1].is_constant() && ks[1].is_constant() && qs[1].value() % ks[1].value() != 0))
    fail(ErrorCode::type_mismatch, "{} query heads do not divide among {} key heads", qs[1].text(), ks[1].text());
  Dim group = floor_div(qs[1], ks[1]);
  double scale = n.real("scale", 1 / std::sqrt(static_cast<double>(qs[3].value())));
  Scores s{reshape(b, q, {qs[0], ks[1], group, qs[2], qs[3]}), reshape(b, k, {ks[0], ks[1], 1, ks[2], ks[3]}), qs[2],
           ks[2], group.value()};
  Ref values = reshape(b, v, {vs[0], vs[1], 1, vs[2], vs[3]}), mask;
  auto mask_with = [&](Ref other) { mask = mask.valid() ? add(b, mask, other) : other; };
  if (n.has(3)) mask = grouped_mask(b, additive(b, n.in(3), dtype), s, ks[1]);
  bool plain = softcap == 0 && !n.wants(3);
  bool aligned = s.queries + past == s.keys;
  if (n.has(6)) {  // keys behind the valid length of each batch
    Ref length = reshape(b, cast(b, n.in(6), DType::i64), {qs[0], 1, 1, 1, 1});
    mask_with(additive(b, binary(b, Op::less, along_axis(b, iota(b, s.keys), 4, 5), length), dtype));
    if (is_causal) {  // queries are the last of the valid keys
      Ref row = add(b, along_axis(b, iota(b, s.queries), 3, 5), binary(b, Op::sub, length, b.dims({s.queries}, true)));
      mask_with(additive(b, binary(b, Op::less_equal, along_axis(b, iota(b, s.keys), 4, 5), row), dtype));
      is_causal = false;
    }
  }
  if (is_causal && !(plain && aligned)) mask_with(additive(b, causal(b, s.queries, s.keys, past), dtype));
  Ref y, extra;
  if (plain) {
    Refs operands{s.q, s.k, values};
    if (mask.valid()) operands.push_back(mask);
    y = b.add(Op::attention, operands, {{"scale", scale}, {"causal", is_causal && aligned}}, n.name());
  } else {
    Ref raw = mul(b, matmul(b, s.q, s.k, false, true), scale), masked = mask.valid() ? add(b, raw, mask) : raw;
    Ref capped = softcap == 0 ? masked : mul(b, unary(b, Op::tanh, div(b, masked, softcap)), softcap);
    Ref weights = b.add(Op::softmax, {capped}, {{"axis", int64_t{4}}});
    y = matmul(b, weights, values);
    Ref chosen = mode == 0 ? raw : mode == 1 ? masked : mode == 2 ? capped : weights;
    extra = reshape(b, chosen, {qs[0], qs[1], s.queries, s.keys});
  }
  y = reshape(b, y, {qs[0], qs[1], s.queries, vs[3]});
  return {flat ? heads_last(b, y) : y, k, v, extra};
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
