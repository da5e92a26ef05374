// Every convolution and matmul of some networks through the oneDNN backend: time, share of peak, and what estimate()
// said.
//   onednn_bench [threads] [words of names to run...]
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "backends/registry.hpp"
#include "ir/program.hpp"

using namespace weft;

namespace {

using ir::Op;
using ir::OperandKind;
using ir::Value;

struct Program {
  std::string name;
  ir::Graph graph;
  std::vector<OperandKind> kinds;
  double flops = 0;

  Value operand(std::vector<int64_t> dims, OperandKind kind) {
    kinds.push_back(kind);
    return graph.input(fmt::format("i{}", kinds.size()), {ir::DType::f32, ir::to_shape(dims)});
  }
};

struct ConvLine {
  const char* net;
  int64_t inputs, size, outputs, window, stride, groups;
  const char* epilogue;  // b bias, r residual, u relu, 6 clip to 6, h hard_swish
};

const ConvLine kConvs[] = {
    {"resnet50", 3, 224, 64, 7, 2, 1, "bu"},      {"resnet50", 64, 56, 64, 1, 1, 1, "bu"},
    {"resnet50", 64, 56, 64, 3, 1, 1, "bu"},      {"resnet50", 64, 56, 256, 1, 1, 1, "bru"},
    {"resnet50", 256, 56, 64, 1, 1, 1, "bu"},     {"resnet50", 256, 56, 128, 1, 1, 1, "bu"},
    {"resnet50", 128, 56, 128, 3, 2, 1, "bu"},    {"resnet50", 256, 56, 512, 1, 2, 1, "b"},
    {"resnet50", 128, 28, 512, 1, 1, 1, "bru"},   {"resnet50", 512, 28, 128, 1, 1, 1, "bu"},
    {"resnet50", 128, 28, 128, 3, 1, 1, "bu"},    {"resnet50", 256, 28, 256, 3, 2, 1, "bu"},
    {"resnet50", 512, 28, 1024, 1, 2, 1, "b"},    {"resnet50", 256, 14, 1024, 1, 1, 1, "bru"},
    {"resnet50", 1024, 14, 256, 1, 1, 1, "bu"},   {"resnet50", 256, 14, 256, 3, 1, 1, "bu"},
    {"resnet50", 512, 14, 512, 3, 2, 1, "bu"},    {"resnet50", 1024, 14, 2048, 1, 2, 1, "b"},
    {"resnet50", 512, 7, 2048, 1, 1, 1, "bru"},   {"resnet50", 2048, 7, 512, 1, 1, 1, "bu"},
    {"resnet50", 512, 7, 512, 3, 1, 1, "bu"},     {"mobilenet", 3, 224, 32, 3, 2, 1, "b6"},
    {"mobilenet", 32, 112, 32, 3, 1, 32, "b6"},   {"mobilenet", 32, 112, 16, 1, 1, 1, "b"},
    {"mobilenet", 16, 112, 96, 1, 1, 1, "b6"},    {"mobilenet", 96, 112, 96, 3, 2, 96, "b6"},
    {"mobilenet", 96, 56, 24, 1, 1, 1, "b"},      {"mobilenet", 24, 56, 144, 1, 1, 1, "b6"},
    {"mobilenet", 144, 56, 144, 3, 1, 144, "b6"}, {"mobilenet", 144, 56, 24, 1, 1, 1, "br"},
    {"mobilenet", 144, 28, 32, 1, 1, 1, "b"},     {"mobilenet", 32, 28, 192, 1, 1, 1, "b6"},
    {"mobilenet", 192, 14, 64, 1, 1, 1, "b"},     {"mobilenet", 64, 14, 384, 1, 1, 1, "b6"},
    {"mobilenet", 384, 14, 384, 3, 1, 384, "b6"}, {"mobilenet", 384, 14, 96, 1, 1, 1, "b"},
    {"mobilenet", 96, 14, 576, 1, 1, 1, "b6"},    {"mobilenet", 576, 14, 96, 1, 1, 1, "br"},
    {"mobilenet", 576, 7, 160, 1, 1, 1, "b"},     {"mobilenet", 160, 7, 960, 1, 1, 1, "b6"},
    {"mobilenet", 960, 7, 960, 3, 1, 960, "b6"},  {"mobilenet", 960, 7, 160, 1, 1, 1, "br"},
    {"mobilenet", 320, 7, 1280, 1, 1, 1, "b6"},   {"ppocr", 3, 320, 16, 3, 2, 1, "bh"},
    {"ppocr", 16, 160, 32, 1, 1, 1, "bh"},        {"ppocr", 48, 80, 48, 3, 1, 48, "bh"},
    {"ppocr", 96, 40, 96, 1, 1, 1, "bh"},         {"ppocr", 192, 20, 192, 5, 1, 192, "bh"},
    {"ppocr", 192, 20, 192, 1, 1, 1, "bh"},       {"ppocr", 96, 80, 24, 3, 1, 1, "bu"},
    {"ppocr", 192, 1, 48, 1, 1, 1, "bu"},         {"mlsd", 128, 80, 128, 3, 1, 1, "bu"},
    {"mlsd", 64, 160, 64, 3, 1, 1, "bu"},
};

struct MatmulLine {
  const char* net;
  int64_t batch, rows, depth, columns;
  const char* epilogue;  // b bias, r residual, g gelu; v = b is a value
};
const MatmulLine kMatmuls[] = {
    {"bert", 1, 128, 768, 2304, "b"},  {"bert", 1, 128, 768, 768, "br"}, {"bert", 1, 128, 768, 3072, "bg"},
    {"bert", 1, 128, 3072, 768, "br"}, {"bert", 12, 128, 64, 128, "v"},  {"bert", 12, 128, 128, 64, "v"},
    {"fc", 1, 1, 2048, 1000, "b"},     {"fc", 1, 8, 768, 768, "b"},
};

Value epilogue(Program& p, Value y, const char* steps) {
  const std::vector<int64_t> dims = ir::to_ints(p.graph.type(y).shape);
  for (const char* s = steps; *s; ++s) {
    if (*s == 'b') y = p.graph.value(Op::add, {y, p.operand({dims.back()}, OperandKind::parameter)});
    if (*s == 'r') y = p.graph.value(Op::add, {y, p.operand(dims, OperandKind::value)});
    if (*s == 'u') y = p.graph.value(Op::relu, {y});
    if (*s == 'g') y = p.graph.value(Op::gelu, {y});
    if (*s == 'h') y = p.graph.value(Op::hard_swish, {y});
    if (*s == '6') {
      const Value low = p.graph.constant(ir::Tensor::scalar<float>(0)),
                  high = p.graph.constant(ir::Tensor::scalar<float>(6));
      y = p.graph.value(Op::clip, {y, low, high});
    }
  }
  return y;
}

Program conv_program(const ConvLine& c) {
  Program p;
  const int64_t pad = c.window / 2;
  const Value x = p.operand({1, c.size, c.size, c.inputs}, OperandKind::value);
  const Value w = p.operand({c.outputs, c.inputs / c.groups, c.window, c.window}, OperandKind::parameter);
  Value y = p.graph.value(Op::conv, {x, w},
                          {{"strides", std::vector<int64_t>{c.stride, c.stride}},
                           {"pads", std::vector<int64_t>{pad, pad, pad, pad}},
                           {"groups", c.groups},
                           {"layout", std::string("nxc")}});
  p.flops = 2.0 * static_cast<double>(p.graph.type(y).elements() * c.inputs / c.groups * c.window * c.window);
  y = epilogue(p, y, c.epilogue);
  p.graph.set_outputs({{"y", y}});
  p.name = fmt::format("{} {}x{}x{} -> {} k{} s{}{} {}", c.net, c.size, c.size, c.inputs, c.outputs, c.window, c.stride,
                       c.groups > 1 ? " dw" : "", c.epilogue);
  return p;
}

Program matmul_program(const MatmulLine& m) {
  Program p;
  const bool value = std::strchr(m.epilogue, 'v');
  std::vector<int64_t> a = {m.rows, m.depth}, b = {m.depth, m.columns};
  if (m.batch > 1) a.insert(a.begin(), m.batch), b.insert(b.begin(), m.batch);
  const Value x = p.operand(a, OperandKind::value),
              w = p.operand(b, value ? OperandKind::value : OperandKind::parameter);
  p.graph.set_outputs({{"y", epilogue(p, p.graph.value(Op::matmul, {x, w}), m.epilogue)}});
  p.flops = 2.0 * static_cast<double>(m.batch * m.rows * m.depth * m.columns);
  p.name = fmt::format("{} {}x {}x{}x{} {}", m.net, m.batch, m.rows, m.depth, m.columns, m.epilogue);
  return p;
}

/// Runs f(part) for all parts at once, again and again, on threads that stay.
template <typename F>
class Team {
 public:
  Team(int parts, const F& f) : gate_(parts) {
    for (int part = 1; part < parts; ++part) {
      threads_.emplace_back([this, part, &f] {
        for (;;) {
          gate_.arrive_and_wait();
          if (stopped_) return;
          f(part);
          gate_.arrive_and_wait();
        }
      });
    }
  }
  ~Team() {
    stopped_ = true;
    gate_.arrive_and_wait();
    for (std::thread& t : threads_) t.join();
  }
  void run(const F& f) {
    gate_.arrive_and_wait();
    f(0);
    gate_.arrive_and_wait();
  }

 private:
  std::barrier<> gate_;
  std::atomic<bool> stopped_{false};
  std::vector<std::thread> threads_;
};

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void measure(const Program& p, int threads) {
  const backends::Backend& backend = backends::backend("onednn");
  const ir::KernelRequest request{ir::make_program(p.graph), p.kinds, threads, true};
  const double before = seconds();
  const auto estimate = backend.estimate(request);
  const double estimating = seconds() - before;
  if (const auto* refusal = std::get_if<ir::Refusal>(&estimate)) {
    fmt::print("{:<44} refused: {}\n", p.name, refusal->reason);
    return;
  }
  const auto kernel = backend.compile(request);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<ir::Tensor> data, parameters(p.kinds.size());
  std::vector<const void*> inputs;
  for (size_t i = 0; i < p.kinds.size(); ++i) {
    data.push_back(ir::Tensor::allocate(p.graph.node(p.graph.inputs()[i]).types[0]));
    for (float& f : data[i].mutable_as<float>()) f = uniform(random);
    if (p.kinds[i] == OperandKind::parameter) parameters[i] = data[i];
    inputs.push_back(data[i].data());
  }
  ir::Tensor result = ir::Tensor::allocate(p.graph.type(p.graph.outputs()[0].value));
  void* outputs[] = {result.mutable_data()};
  const auto packed = kernel->pack(parameters);
  const auto& resources = kernel->resources();
  const int64_t each = (resources.scratch_bytes + 63) / 64 * 64;
  ir::Tensor scratch = ir::Tensor::allocate({ir::DType::u8, {each * resources.parts + 64}});
  const auto run = [&](int part) {
    kernel->run({inputs, outputs, static_cast<char*>(scratch.mutable_data()) + each * part, packed.get()}, part);
  };
  Team team(resources.parts, run);
  double best = 1e9;
  const double stop = seconds() + 0.25;
  for (int i = 0; i < 5 || seconds() < stop; ++i) {
    const double start = seconds();
    team.run(run);
    best = std::min(best, seconds() - start);
  }
  const double estimated = static_cast<double>(std::get<ir::KernelEstimate>(estimate).nanoseconds) * 1e-9;
  fmt::print(
      "{:<44} {:>9.1f} us {:>6.1f} GFLOP/s {:>4.0f} % of peak  {} parts  estimate {:>9.1f} us (measured / estimated "
      "{:.2f}, took {:.0f} us)  {}\n",
      p.name, best * 1e6, p.flops / best * 1e-9, p.flops / best * 1e-9 / (backend.machine().gflops_f32 * threads) * 100,
      resources.parts, estimated * 1e6, best / estimated, estimating * 1e6, resources.implementation);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
  const auto wanted = [&](const Program& p) {
    for (int i = 2; i < argc; ++i)
      if (p.name.find(argv[i]) == std::string::npos) return false;
    return true;
  };
  for (const ConvLine& c : kConvs)
    if (const Program p = conv_program(c); wanted(p)) measure(p, threads);
  for (const MatmulLine& m : kMatmuls)
    if (const Program p = matmul_program(m); wanted(p)) measure(p, threads);
}
