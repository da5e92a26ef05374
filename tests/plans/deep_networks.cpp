#include "tests/plans/deep_networks.hpp"

#include <fmt/format.h>

namespace weft {
namespace {

using fmt::arg;

template <typename... Args>
std::string fill(std::string text, const TransformerSize& s, Args&&... more) {
  return fmt::format(fmt::runtime(text), arg("t", s.tokens), arg("d", s.hidden), arg("h", s.heads),
                     arg("w", s.hidden / s.heads), arg("half", s.hidden / s.heads / 2), arg("f", s.inner),
                     arg("p", s.past), arg("all", s.past + s.tokens), more...);
}

constexpr const char* kEncoderLayer = R"(
  wq_{i} = parameter f32[{d},{d}] "wq_{i}"
  wk_{i} = parameter f32[{d},{d}] "wk_{i}"
  wv_{i} = parameter f32[{d},{d}] "wv_{i}"
  wo_{i} = parameter f32[{d},{d}] "wo_{i}"
  bq_{i} = parameter f32[{d}] "bq_{i}"
  bk_{i} = parameter f32[{d}] "bk_{i}"
  bv_{i} = parameter f32[{d}] "bv_{i}"
  bo_{i} = parameter f32[{d}] "bo_{i}"
  w1_{i} = parameter f32[{d},{f}] "w1_{i}"
  b1_{i} = parameter f32[{f}] "b1_{i}"
  w2_{i} = parameter f32[{f},{d}] "w2_{i}"
  b2_{i} = parameter f32[{d}] "b2_{i}"
  qg_{i} = parameter f32[{d}] "qg_{i}"
  qb_{i} = parameter f32[{d}] "qb_{i}"
  og_{i} = parameter f32[{d}] "og_{i}"
  ob_{i} = parameter f32[{d}] "ob_{i}"
  q_{i} = transpose(reshape(matmul({x}, wq_{i}) + bq_{i}, shape=[1,{t},{h},{w}]), perm=[0,2,1,3])
  k_{i} = transpose(reshape(matmul({x}, wk_{i}) + bk_{i}, shape=[1,{t},{h},{w}]), perm=[0,2,3,1])
  v_{i} = transpose(reshape(matmul({x}, wv_{i}) + bv_{i}, shape=[1,{t},{h},{w}]), perm=[0,2,1,3])
  s_{i} = softmax(matmul(q_{i}, k_{i}) / 2.0 + mask, axis=3)
  a_{i} = reshape(transpose(matmul(s_{i}, v_{i}), perm=[0,2,1,3]), shape=[1,{t},{d}])
  r_{i} = {x} + (matmul(a_{i}, wo_{i}) + bo_{i})
  c_{i} = r_{i} - reduce_mean(r_{i}, axes=[2])
  n_{i} = c_{i} / sqrt(reduce_mean(pow(c_{i}, 2.0), axes=[2]) + 1e-5) * qg_{i} + qb_{i}
  u_{i} = matmul(n_{i}, w1_{i}) + b1_{i}
  g_{i} = u_{i} * (erf(u_{i} / 1.41421356) + 1.0) * 0.5
  z_{i} = n_{i} + (matmul(g_{i}, w2_{i}) + b2_{i})
  e_{i} = z_{i} - reduce_mean(z_{i}, axes=[2])
  y_{i} = e_{i} / sqrt(reduce_mean(pow(e_{i}, 2.0), axes=[2]) + 1e-5) * og_{i} + ob_{i})";

constexpr const char* kDecoderLayer = R"(
  wq_{i} = parameter f32[{d},{d}] "wq_{i}"
  wk_{i} = parameter f32[{d},{d}] "wk_{i}"
  wv_{i} = parameter f32[{d},{d}] "wv_{i}"
  wo_{i} = parameter f32[{d},{d}] "wo_{i}"
  wg_{i} = parameter f32[{d},{f}] "wg_{i}"
  wu_{i} = parameter f32[{d},{f}] "wu_{i}"
  wd_{i} = parameter f32[{f},{d}] "wd_{i}"
  ga_{i} = parameter f32[{d}] "ga_{i}"
  gf_{i} = parameter f32[{d}] "gf_{i}"
  n_{i} = {x} / sqrt(reduce_mean({x} * {x}, axes=[2]) + 1e-5) * ga_{i}
  q_{i} = transpose(reshape(matmul(n_{i}, wq_{i}), shape=[1,{t},{h},{w}]), perm=[0,2,1,3])
  j_{i} = transpose(reshape(matmul(n_{i}, wk_{i}), shape=[1,{t},{h},{w}]), perm=[0,2,1,3])
  v_{i} = transpose(reshape(matmul(n_{i}, wv_{i}), shape=[1,{t},{h},{w}]), perm=[0,2,1,3])
  ql_{i} = slice(q_{i}, starts=[0,0,0,0], ends=[1,{h},{t},{half}], steps=[1,1,1,1])
  qr_{i} = slice(q_{i}, starts=[0,0,0,{half}], ends=[1,{h},{t},{w}], steps=[1,1,1,1])
  jl_{i} = slice(j_{i}, starts=[0,0,0,0], ends=[1,{h},{t},{half}], steps=[1,1,1,1])
  jr_{i} = slice(j_{i}, starts=[0,0,0,{half}], ends=[1,{h},{t},{w}], steps=[1,1,1,1])
  qe_{i} = q_{i} * cosines + concat(neg(qr_{i}), ql_{i}, axis=3) * sines
  je_{i} = j_{i} * cosines + concat(neg(jr_{i}), jl_{i}, axis=3) * sines
  k_all{i} = concat(past_k{i}, je_{i}, axis=2)
  v_all{i} = concat(past_v{i}, v_{i}, axis=2)
  s_{i} = softmax(matmul(qe_{i}, transpose(k_all{i}, perm=[0,1,3,2])) / 2.0 + mask, axis=3)
  a_{i} = reshape(transpose(matmul(s_{i}, v_all{i}), perm=[0,2,1,3]), shape=[1,{t},{d}])
  r_{i} = {x} + matmul(a_{i}, wo_{i})
  m_{i} = r_{i} / sqrt(reduce_mean(r_{i} * r_{i}, axes=[2]) + 1e-5) * gf_{i}
  g_{i} = matmul(m_{i}, wg_{i})
  y_{i} = r_{i} + matmul(g_{i} * sigmoid(g_{i}) * matmul(m_{i}, wu_{i}), wd_{i}))";

}  // namespace

std::string encoder_text(const TransformerSize& size) {
  std::string text = fill("graph encoder(x: f32[1,{t},{d}], mask: f32[1,1,1,{t}]) {{", size), x = "x";
  for (int i = 0; i < size.layers; ++i) {
    text += fill(kEncoderLayer, size, arg("i", i), arg("x", x));
    x = fmt::format("y_{}", i);
  }
  return text + fmt::format("\n  return {}\n}}\n", x);
}

std::string decoder_text(const TransformerSize& size) {
  std::string text = fill(
      "graph decoder(x: f32[1,{t},{d}], mask: f32[1,1,{t},{all}], cosines: f32[1,1,{t},{w}], sines: f32[1,1,{t},{w}]",
      size);
  for (int i = 0; i < size.layers; ++i)
    text += fill(", past_k{i}: f32[1,{h},{p},{w}], past_v{i}: f32[1,{h},{p},{w}]", size, arg("i", i));
  text += ") {";
  std::string x = "x", outputs;
  for (int i = 0; i < size.layers; ++i) {
    text += fill(kDecoderLayer, size, arg("i", i), arg("x", x));
    x = fmt::format("y_{}", i);
    outputs += fmt::format(", k_all{}, v_all{}", i, i);
  }
  text += fill("\n  gn = parameter f32[{d}] \"gn\"\n  y = {x} / sqrt(reduce_mean({x} * {x}, axes=[2]) + 1e-5) * gn",
               size, arg("x", x));
  return text + "\n  return y" + outputs + "\n}\n";
}

}  // namespace weft
