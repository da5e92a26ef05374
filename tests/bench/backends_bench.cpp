// Kernels of the own loops on one thread: measured time beside the estimate, bytes a second beside a copy of the same
// size.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "backends/registry.hpp"
#include "ir/text.hpp"

namespace {

using namespace weft;

struct Case {
  const char* name;
  const char* text;
};

const Case kCases[] = {
    {"add 1M", "graph p(x: f32[1000000], y: f32[1000000]) { return x + y }"},
    {"add 60K", "graph p(x: f32[60000], y: f32[60000]) { return x + y }"},
    {"relu 60K", "graph p(x: f32[60000]) { return relu(x) }"},
    {"exp 60K", "graph p(x: f32[60000]) { return exp(x) }"},
    {"tanh 60K", "graph p(x: f32[60000]) { return tanh(x) }"},
    {"sigmoid 60K", "graph p(x: f32[60000]) { return sigmoid(x) }"},
    {"erf 60K", "graph p(x: f32[60000]) { return erf(x) }"},
    {"gelu 60K", "graph p(x: f32[60000]) { return gelu(x) }"},
    {"silu 60K", "graph p(x: f32[60000]) { return silu(x) }"},
    {"log 60K", "graph p(x: f32[60000]) { return log(x) }"},
    {"div 60K", "graph p(x: f32[60000], y: f32[60000]) { return x / y }"},
    {"max 60K", "graph p(x: f32[60000], y: f32[60000]) { return max(x, y) }"},
    {"hard_swish chain 60K", "graph p(x: f32[60000]) { return x * clip(x + 3, 0, 6) / 6 }"},
    {"bias+relu nhwc 56x56x64", "graph p(x: f32[1,56,56,64], b: f32[64]) { return relu(x + b) }"},
    {"scale+bias+relu nchw 64x56x56",
     "graph p(x: f32[1,64,56,56], s: f32[64,1,1], b: f32[64,1,1]) { return relu(x * s + b) }"},
    {"scale+bias nchw 512x7x7",
     "graph p(x: f32[1,512,7,7], s: f32[512,1,1], b: f32[512,1,1]) { return relu(x * s + b) }"},
    {"add small 100", "graph p(x: f32[100], y: f32[100]) { return x + y }"},
    {"nchw to nhwc 64x56x56", "graph p(x: f32[1,64,56,56]) { return transpose(x, [0,2,3,1]) }"},
    {"nhwc to nchw 56x56x64", "graph p(x: f32[1,56,56,64]) { return transpose(x, [0,3,1,2]) }"},
    {"nchw to nhwc 3x224x224", "graph p(x: f32[1,3,224,224]) { return transpose(x, [0,2,3,1]) }"},
    {"transpose 512x512", "graph p(x: f32[512,512]) { return transpose(x, [1,0]) }"},
    {"head split 128x12x64", "graph p(x: f32[1,128,768]) { return transpose(reshape(x, [1,128,12,64]), [0,2,1,3]) }"},
    {"concat channels nhwc", "graph p(x: f32[1,56,56,64], y: f32[1,56,56,64]) { return concat(x, y, axis=3) }"},
    {"pad nhwc", "graph p(x: f32[1,56,56,64]) { return pad(x, 0, low=[0,1,1,0], high=[0,1,1,0]) }"},
    {"pad nchw", "graph p(x: f32[1,64,56,56]) { return pad(x, 0, low=[0,0,1,1], high=[0,0,1,1]) }"},
    {"spatial mean nchw 2048x7x7", "graph p(x: f32[1,2048,7,7]) { return reduce_mean(x, axes=[2,3]) }"},
    {"spatial mean nhwc 7x7x2048", "graph p(x: f32[1,7,7,2048]) { return reduce_mean(x, axes=[1,2]) }"},
    {"spatial mean nhwc 56x56x64", "graph p(x: f32[1,56,56,64]) { return reduce_mean(relu(x), axes=[1,2]) }"},
    {"sum 1M", "graph p(x: f32[1000000]) { return reduce_sum(x, axes=[0]) }"},
    {"softmax 1536x128", "graph p(x: f32[1536,128]) { return softmax(x, axis=1) }"},
    {"layer_norm 128x768", "graph p(x: f32[128,768], s: f32[768], b: f32[768]) { return layer_norm(x, s, b) }"},
    {"add layer_norm 128x768",
     "graph p(x: f32[128,768], r: f32[128,768], s: f32[768], b: f32[768]) { return layer_norm(x + r, s, b) }"},
    {"depthwise 3x3 112x112x32",
     "graph p(x: f32[1,112,112,32], w: f32[32,1,3,3], b: f32[32]) { return clip(conv(x, w, groups=32, pads=[1,1,1,1], "
     "layout=\"nxc\") + b, 0, 6) }"},
    {"depthwise 3x3 s2 112x112x96",
     "graph p(x: f32[1,112,112,96], w: f32[96,1,3,3], b: f32[96]) { return clip(conv(x, w, groups=96, pads=[1,1,1,1], "
     "strides=[2,2], layout=\"nxc\") + b, 0, 6) }"},
    {"depthwise 3x3 14x14x384",
     "graph p(x: f32[1,14,14,384], w: f32[384,1,3,3], b: f32[384]) { return clip(conv(x, w, groups=384, "
     "pads=[1,1,1,1], layout=\"nxc\") + b, 0, 6) }"},
    {"depthwise 5x5 14x14x240",
     "graph p(x: f32[1,14,14,240], w: f32[240,1,5,5]) { return conv(x, w, groups=240, pads=[2,2,2,2], layout=\"nxc\") "
     "}"},
    {"max_pool nhwc 112x112x64",
     "graph p(x: f32[1,112,112,64]) { return max_pool(x, kernel=[3,3], strides=[2,2], pads=[1,1,1,1], layout=\"nxc\") "
     "}"},
    {"max_pool nchw 64x112x112",
     "graph p(x: f32[1,64,112,112]) { return max_pool(x, kernel=[3,3], strides=[2,2], pads=[1,1,1,1]) }"},
    {"attention 12x128x64",
     "graph p(q: f32[1,128,768], k: f32[1,128,768], v: f32[1,128,768]) {\n a = transpose(reshape(q, [1,128,12,64]), "
     "[0,2,1,3])\n"
     " b = transpose(reshape(k, [1,128,12,64]), [0,2,1,3])\n c = transpose(reshape(v, [1,128,12,64]), [0,2,1,3])\n"
     " return reshape(transpose(attention(a, b, c, scale=0.125), [0,2,1,3]), [1,128,768]) }"},
    {"attention decode 32x2048x128",
     "graph p(q: f32[32,1,128], k: f32[32,2048,128], v: f32[32,2048,128]) { return attention(q, k, v, scale=0.1) }"},
    {"resize nearest nhwc 40x40x96",
     "graph p(x: f32[1,40,40,96]) { return resize(x, shape=[1,80,80,96], scales=[1,2,2,1], coordinate=\"asymmetric\", "
     "nearest=\"floor\") }"},
    {"resize linear nhwc 40x40x64",
     "graph p(x: f32[1,40,40,64]) { return resize(x, shape=[1,80,80,64], scales=[1,2,2,1], mode=\"linear\") }"},
    {"embedding 128x768",
     "graph p(x: f32[30522,768], i: i64[128], p: f32[128,768]) { return gather(x, i, axis=0) + p }"},
};

struct Buffer {
  explicit Buffer(int64_t bytes)
      : data(static_cast<float*>(std::aligned_alloc(64, static_cast<size_t>(bytes + 127) / 64 * 64))) {}
  ~Buffer() { std::free(data); }
  Buffer(const Buffer&) = delete;
  float* data;
};

void run_case(benchmark::State& state, const Case& c) {
  const ir::ProgramRef program = ir::make_program(ir::parse_graph(c.text, c.name));
  const ir::Graph& graph = program->graph();
  std::vector<ir::OperandKind> kinds(graph.inputs().size(), ir::OperandKind::value);
  if (std::strstr(c.name, "depthwise")) kinds[1] = ir::OperandKind::parameter;
  const backends::Backend& backend = backends::backend("tbb");
  const auto estimate = backend.estimate({program, kinds, 1});
  if (const auto* no = std::get_if<ir::Refusal>(&estimate)) return state.SkipWithError(no->reason.c_str());
  const auto kernel = backend.compile({program, kinds, 1});
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  std::vector<ir::Tensor> parameters;
  double bytes = 0;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const ir::TensorType& type = graph.node(graph.inputs()[i]).types[0];
    buffers.push_back(std::make_unique<Buffer>(type.bytes()));
    if (ir::is_float(type.dtype)) {
      for (int64_t k = 0; k < type.elements(); ++k) buffers.back()->data[k] = static_cast<float>(k * 37 % 101) / 20 - 2;
    } else {
      std::memset(buffers.back()->data, 0, static_cast<size_t>(type.bytes()));
    }
    inputs.push_back(buffers.back()->data);
    parameters.push_back(ir::Tensor::view(type, buffers.back()->data, nullptr));
    bytes += static_cast<double>(std::min<int64_t>(type.bytes(), 64 << 20));
  }
  for (const ir::Output& output : graph.outputs()) {
    buffers.push_back(std::make_unique<Buffer>(graph.type(output.value).bytes()));
    outputs.push_back(buffers.back()->data);
    bytes += static_cast<double>(graph.type(output.value).bytes());
  }
  Buffer scratch(kernel->resources().scratch_bytes + 64);
  const auto packed = kernel->pack(parameters);
  for (auto _ : state) kernel->run({inputs, outputs, scratch.data, packed.get()}, 0);
  state.counters["estimate_us"] = static_cast<double>(std::get<0>(estimate).nanoseconds) / 1000;
  state.counters["GB/s"] = benchmark::Counter(bytes * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void copy_case(benchmark::State& state) {
  const int64_t bytes = state.range(0);
  Buffer from(bytes), to(bytes);
  std::memset(from.data, 1, static_cast<size_t>(bytes));
  for (auto _ : state) {
    std::memcpy(to.data, from.data, static_cast<size_t>(bytes));
    benchmark::ClobberMemory();
  }
  state.counters["GB/s"] =
      benchmark::Counter(2e-9 * static_cast<double>(bytes), benchmark::Counter::kIsIterationInvariantRate);
}

void estimate_case(benchmark::State& state, const Case& c) {
  const ir::ProgramRef program = ir::make_program(ir::parse_graph(c.text, c.name));
  const std::vector<ir::OperandKind> kinds(program->graph().inputs().size(), ir::OperandKind::value);
  for (auto _ : state) benchmark::DoNotOptimize(backends::backend("tbb").estimate({program, kinds, 2}));
}

}  // namespace

int main(int argc, char** argv) {
  for (int64_t bytes : {240000, 800000, 4000000})
    benchmark::RegisterBenchmark(fmt::format("memcpy/{}", bytes).c_str(), copy_case)->Arg(bytes);
  for (const Case& c : kCases) {
    benchmark::RegisterBenchmark(c.name, [&c](benchmark::State& state) {
      run_case(state, c);
    })->Unit(benchmark::kMicrosecond);
  }
  for (const Case& c : {kCases[0], kCases[12], kCases[35], kCases[38]}) {
    benchmark::RegisterBenchmark(fmt::format("estimate/{}", c.name).c_str(),
                                 [c](benchmark::State& state) { estimate_case(state, c); });
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
