#pragma once
// The one door to oneDNN: what differs between its major versions 2 and 3, the engine, and single-threaded entry.
#include <dnnl.hpp>
#include <span>
#include <string>
#include <vector>

namespace weft::backends::onednn {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;

/// oneDNN in Debian runs on OpenMP. Whoever enters it holds one of these: the calling thread's OpenMP team is one
/// thread for as long as it lives (parts are spread by the caller), and what the user had set comes back afterwards.
class SingleThreaded {
 public:
  SingleThreaded();
  ~SingleThreaded();
  SingleThreaded(const SingleThreaded&) = delete;
  SingleThreaded& operator=(const SingleThreaded&) = delete;

 private:
  int before_;
};

const dnnl::engine& engine();
const dnnl::stream& stream();   ///< of the calling thread
std::string library_version();  ///< "oneDNN 2.6.3 (commit), avx2"
enum class Isa { portable, avx2, avx512 };
Isa effective_isa();

/// One entry of a primitive's chain of post-ops.
struct PostOp {
  enum class Kind { sum, eltwise, binary } kind = Kind::eltwise;
  dnnl::algorithm algorithm = dnnl::algorithm::undef;
  float alpha = 0, beta = 0;  ///< of eltwise, as version 2 counts them
  Desc operand;               ///< of binary
};

/// A primitive and what it wants its operands to look like.
struct Compiled {
  dnnl::primitive primitive;
  Desc source, weights, bias, destination, scratchpad;
  std::string implementation;  ///< "jit_1x1:avx2"
};

struct ConvDesc {
  Desc source, weights, bias, destination;        ///< weights with format any; a zero bias descriptor = none
  Dims strides, dilations, pads_begin, pads_end;  ///< dilations count from 0
};

// Each throws weft::Error(unsupported) where oneDNN has no implementation. Scratchpads are the caller's.
Compiled make_conv(const ConvDesc& conv, std::span<const PostOp> post_ops);
Compiled make_matmul(const Desc& a, const Desc& b, const Desc& destination, float scale,
                     std::span<const PostOp> post_ops);
dnnl::primitive make_reorder(const Desc& from, const Desc& to);
/// The implementation alone, without generating code (about 50 us); empty where there is none.
std::string conv_implementation(const ConvDesc& conv);

/// Row-major descriptor of f32; with strides, in elements.
Desc f32_desc(const Dims& dims);
Desc f32_desc(const Dims& dims, const Dims& strides);
/// Channels-last activations: dims in oneDNN's order [N, C, spatial].
Desc channels_last(const Dims& dims);
/// Blocks of 8 channels: [N, C/8, H, W, 8]. Two spatial axes.
Desc blocked_by_8(const Dims& dims);
Desc any_desc(const Dims& dims);
void execute_reorder(const dnnl::primitive& reorder, const Desc& from, const void* source, const Desc& to,
                     void* target);

}  // namespace weft::backends::onednn
