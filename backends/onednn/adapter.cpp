#include "backends/onednn/adapter.hpp"

#include <fmt/format.h>

#include "ir/support/error.hpp"

extern "C" int omp_get_max_threads();  // of libgomp: clang does not come with its header
extern "C" void omp_set_num_threads(int threads);

namespace weft::backends::onednn {
namespace {

constexpr dnnl::memory::data_type kF32 = dnnl::memory::data_type::f32;

template <typename F>
auto translated(const char* what, F&& f) {
  try {
    return f();
  } catch (const dnnl::error& e) {
    fail(ErrorCode::unsupported, "oneDNN has no {}: {} (status {})", what, e.what(), static_cast<int>(e.status));
  }
}

void append_eltwise(dnnl::post_ops& ops, const PostOp& op) {
#if DNNL_VERSION_MAJOR >= 3
  float alpha = op.alpha, beta = op.beta;
  if (op.algorithm == dnnl::algorithm::eltwise_hardswish) alpha = 1.0f / 6.0f, beta = 0.5f;
  if (op.algorithm == dnnl::algorithm::eltwise_soft_relu) alpha = 1.0f;
  ops.append_eltwise(op.algorithm, alpha, beta);
#else
  ops.append_eltwise(1.0f, op.algorithm, op.alpha, op.beta);
#endif
}

/// `scale` multiplies the accumulator ahead of the chain.
dnnl::primitive_attr make_attributes(float scale, std::span<const PostOp> post_ops) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops ops;
  if (scale != 1.0f) {
#if DNNL_VERSION_MAJOR >= 3
    ops.append_eltwise(dnnl::algorithm::eltwise_linear, scale, 0.0f);
#else
    attributes.set_output_scales(0, {scale});
#endif
  }
  for (const PostOp& op : post_ops) {
    if (op.kind == PostOp::Kind::sum) ops.append_sum(1.0f);
    if (op.kind == PostOp::Kind::eltwise) append_eltwise(ops, op);
    if (op.kind == PostOp::Kind::binary) ops.append_binary(op.algorithm, op.operand);
  }
  attributes.set_post_ops(ops);
  return attributes;
}

bool is_zero(const Desc& desc) { return desc == Desc(); }

dnnl::convolution_forward::primitive_desc conv_descriptor(const ConvDesc& c, const dnnl::primitive_attr& attributes) {
  constexpr auto kind = dnnl::prop_kind::forward_inference;
  constexpr auto algorithm = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
  return {engine(),      kind,      algorithm,   c.source,     c.weights,  c.bias,
          c.destination, c.strides, c.dilations, c.pads_begin, c.pads_end, attributes};
#else
  if (is_zero(c.bias)) {
    return {{kind, algorithm, c.source, c.weights, c.destination, c.strides, c.dilations, c.pads_begin, c.pads_end},
            attributes,
            engine()};
  }
  return {
      {kind, algorithm, c.source, c.weights, c.bias, c.destination, c.strides, c.dilations, c.pads_begin, c.pads_end},
      attributes,
      engine()};
#endif
}

dnnl::matmul::primitive_desc matmul_descriptor(const Desc& a, const Desc& b, const Desc& to,
                                               const dnnl::primitive_attr& attributes) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine(), a, b, to, attributes};
#else
  return {{a, b, to}, attributes, engine()};
#endif
}

}  // namespace

SingleThreaded::SingleThreaded() : before_(omp_get_max_threads()) {
  if (before_ != 1) omp_set_num_threads(1);
}
SingleThreaded::~SingleThreaded() {
  if (before_ != 1) omp_set_num_threads(before_);
}

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

const dnnl::stream& stream() {
  thread_local const dnnl::stream own(engine());
  return own;
}

Isa effective_isa() {
  static const Isa isa = [] {
    const int bits = static_cast<int>(dnnl::get_effective_cpu_isa());
    const int avx512 = static_cast<int>(dnnl::cpu_isa::avx512_core), avx2 = static_cast<int>(dnnl::cpu_isa::avx2);
    if ((bits & avx512) == avx512) return Isa::avx512;
    return (bits & avx2) == avx2 ? Isa::avx2 : Isa::portable;
  }();
  return isa;
}

std::string library_version() {
  const dnnl_version_t& v = *dnnl_version();
  return fmt::format("oneDNN {}.{}.{} ({}), isa {:#x}", v.major, v.minor, v.patch, v.hash,
                     static_cast<int>(dnnl::get_effective_cpu_isa()));
}

Compiled make_conv(const ConvDesc& conv, std::span<const PostOp> post_ops) {
  return translated("such convolution", [&] {
    const auto pd = conv_descriptor(conv, make_attributes(1.0f, post_ops));
    return Compiled{dnnl::convolution_forward(pd), pd.src_desc(),     pd.weights_desc(), conv.bias, pd.dst_desc(),
                    pd.scratchpad_desc(),          pd.impl_info_str()};
  });
}

Compiled make_matmul(const Desc& a, const Desc& b, const Desc& destination, float scale,
                     std::span<const PostOp> post_ops) {
  return translated("such matmul", [&] {
    const auto pd = matmul_descriptor(a, b, destination, make_attributes(scale, post_ops));
    return Compiled{dnnl::matmul(pd), pd.src_desc(),        pd.weights_desc(), Desc(),
                    pd.dst_desc(),    pd.scratchpad_desc(), pd.impl_info_str()};
  });
}

dnnl::primitive make_reorder(const Desc& from, const Desc& to) {
  return translated("such reorder", [&] {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::library);
    return dnnl::primitive(dnnl::reorder(dnnl::reorder::primitive_desc(engine(), from, engine(), to, attributes)));
  });
}

std::string conv_implementation(const ConvDesc& conv) {
  const SingleThreaded guard;
  try {
    return conv_descriptor(conv, make_attributes(1.0f, {})).impl_info_str();
  } catch (const dnnl::error&) {
    return {};
  }
}

Desc f32_desc(const Dims& dims) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return {dims, kF32, strides};
}

Desc f32_desc(const Dims& dims, const Dims& strides) { return {dims, kF32, strides}; }

Desc channels_last(const Dims& dims) {
  Dims strides(dims.size());
  int64_t stride = dims[1];
  strides[1] = 1;
  for (size_t i = dims.size(); i-- > 2;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  strides[0] = stride;
  return {dims, kF32, strides};
}

Desc blocked_by_8(const Dims& dims) { return {dims, kF32, dnnl::memory::format_tag::nChw8c}; }

Desc any_desc(const Dims& dims) { return {dims, kF32, dnnl::memory::format_tag::any}; }

void execute_reorder(const dnnl::primitive& reorder, const Desc& from, const void* source, const Desc& to,
                     void* target) {
  dnnl::memory in(from, engine(), const_cast<void*>(source)), out(to, engine(), target);
  reorder.execute(stream(), {{DNNL_ARG_FROM, in}, {DNNL_ARG_TO, out}});
}

}  // namespace weft::backends::onednn
