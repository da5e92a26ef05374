#include "tests/backends/harness.hpp"

#include <cmath>
#include <cstring>
#include <thread>

#include "ir/support/error.hpp"
#include "ir/text.hpp"

namespace weft::test {

using backends::Kernel;
using ir::Tensor;

namespace {

constexpr size_t kGuard = 64;
constexpr unsigned char kPattern = 0xa5;

struct Aligned {
  explicit Aligned(size_t bytes) : data(static_cast<char*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64 + 64))) {
    std::memset(data, kPattern, (bytes + 63) / 64 * 64 + 64);
  }
  Aligned(const Aligned&) = delete;
  ~Aligned() { std::free(data); }
  char* data;
};

std::vector<Tensor> run_compiled(const Kernel& kernel, const ir::ProgramRef& program,
                                 const std::vector<Tensor>& operands, const RunOptions& options, int in_place) {
  const ir::Graph& graph = program->graph();
  const ir::KernelResources& resources = kernel.resources();
  std::vector<const void*> inputs;
  for (const Tensor& t : operands) inputs.push_back(t.data());
  std::vector<std::unique_ptr<Aligned>> buffers;
  std::vector<void*> outputs;
  std::vector<ir::TensorType> types;
  for (const ir::Output& output : graph.outputs()) {
    types.push_back(graph.type(output.value));
    buffers.push_back(std::make_unique<Aligned>(static_cast<size_t>(types.back().bytes()) + kGuard));
    outputs.push_back(buffers.back()->data);
  }
  if (in_place >= 0) {
    const Tensor& shared = operands[static_cast<size_t>(in_place)];
    std::memcpy(outputs[0], shared.data(), shared.bytes());
    inputs[static_cast<size_t>(in_place)] = outputs[0];
  }
  std::vector<Tensor> parameters(operands.size());
  bool any = false;
  for (size_t i = 0; i < options.operands.size(); ++i) {
    if (options.operands[i] == ir::OperandKind::parameter) parameters[i] = operands[i], any = true;
  }
  const auto packed = any ? kernel.pack(parameters) : nullptr;
  std::vector<std::unique_ptr<Aligned>> scratch;
  for (int p = 0; p < resources.parts; ++p)
    scratch.push_back(std::make_unique<Aligned>(static_cast<size_t>(resources.scratch_bytes)));
  const auto run = [&](int part) {
    kernel.run({inputs, outputs, scratch[static_cast<size_t>(part)]->data, packed.get()}, part);
  };
  if (options.concurrent) {
    std::vector<std::thread> threads;
    for (int p = 0; p < resources.parts; ++p) threads.emplace_back(run, p);
    for (std::thread& t : threads) t.join();
  } else {
    for (int p = 0; p < resources.parts; ++p) run(options.reverse ? resources.parts - 1 - p : p);
  }
  std::vector<Tensor> results;
  for (size_t i = 0; i < types.size(); ++i) {
    Tensor t = Tensor::allocate(types[i]);
    if (t.bytes() != 0) std::memcpy(t.mutable_data(), outputs[i], t.bytes());
    for (size_t k = 0; k < kGuard; ++k) {
      if (static_cast<unsigned char>(buffers[i]->data[t.bytes() + k]) != kPattern) {
        fail(ErrorCode::internal, "the kernel wrote behind output {}", i);
      }
    }
    results.push_back(std::move(t));
  }
  return results;
}

}  // namespace

std::vector<Tensor> run_kernel(const backends::Backend& backend, const ir::ProgramRef& program,
                               const std::vector<Tensor>& operands, const RunOptions& options) {
  std::vector<ir::OperandKind> kinds = options.operands;
  kinds.resize(operands.size(), ir::OperandKind::value);
  const auto kernel = backend.compile({program, kinds, options.threads});
  return run_compiled(*kernel, program, operands, options, -1);
}

std::string refusal(const backends::Backend& backend, const ir::ProgramRef& program, int threads) {
  const std::vector<ir::OperandKind> kinds(program->graph().inputs().size(), ir::OperandKind::value);
  const auto answer = backend.estimate({program, kinds, threads});
  const auto* no = std::get_if<ir::Refusal>(&answer);
  return no ? (no->reason.empty() ? "refused without a reason" : no->reason) : "";
}

std::string difference(const Tensor& found, const Tensor& expected, const Tolerance& tolerance) {
  if (found.type() != expected.type())
    return fmt::format("type {}, expected {}", to_string(found.type()), to_string(expected.type()));
  const bool floating = ir::is_float(found.dtype());
  double absolute = tolerance.absolute;
  if (tolerance.of_largest > 0) {
    for (int64_t i = 0; i < expected.elements(); ++i) {
      const double v = std::fabs(expected.at_double(i));
      if (std::isfinite(v)) absolute = std::max(absolute, v * tolerance.of_largest);
    }
  }
  const size_t bytes = ir::size_of(found.dtype());
  for (int64_t i = 0; i < found.elements(); ++i) {
    const char *a = static_cast<const char*>(found.data()) + static_cast<size_t>(i) * bytes,
               *b = static_cast<const char*>(expected.data()) + static_cast<size_t>(i) * bytes;
    if (std::memcmp(a, b, bytes) == 0) continue;
    const double x = found.at_double(i), y = expected.at_double(i);
    if (floating && std::isnan(x) && std::isnan(y)) continue;
    const bool close = floating && std::isfinite(x) && std::isfinite(y) && (tolerance.relative > 0 || absolute > 0) &&
                       std::fabs(x - y) <= absolute + tolerance.relative * std::fabs(y);
    if (!close) return fmt::format("element {} of {} is {:.9g}, expected {:.9g}", i, to_string(found.type()), x, y);
  }
  return "";
}

std::string check_against_reference(const backends::Backend& backend, const ir::ProgramRef& program,
                                    const std::vector<Tensor>& operands, const Tolerance& tolerance,
                                    const std::vector<ir::OperandKind>& kinds) {
  const std::vector<Tensor> expected = ir::run_program(*program, operands);
  std::vector<ir::OperandKind> all = kinds;
  all.resize(operands.size(), ir::OperandKind::value);
  std::vector<Tensor> first;
  const auto compare = [&](const std::vector<Tensor>& found, const char* how) -> std::string {
    for (size_t i = 0; i < found.size(); ++i) {
      const std::string wrong = difference(found[i], expected[i], tolerance);
      if (!wrong.empty())
        return fmt::format("{}, {}: output {}: {}\n{}", backend.name(), how, i, wrong, program->text());
      if (!first.empty() && !difference(found[i], first[i], {}).empty()) {
        return fmt::format("{}, {}: output {}: bits differ from one thread's: {}\n{}", backend.name(), how, i,
                           difference(found[i], first[i], {}), program->text());
      }
    }
    return "";
  };
  const auto one = backend.compile({program, all, 1});
  const auto eight = backend.compile({program, all, 8});
  RunOptions options;
  options.operands = all;
  std::vector<Tensor> results = run_compiled(*one, program, operands, options, -1);
  if (std::string wrong = compare(results, "1 thread"); !wrong.empty()) return wrong;
  first = results;
  for (int place : one->resources().in_place) {
    if (std::string wrong = compare(run_compiled(*one, program, operands, options, place), "in place"); !wrong.empty())
      return wrong;
  }
  options.reverse = true;
  if (std::string wrong = compare(run_compiled(*eight, program, operands, options, -1), "8 threads, reverse");
      !wrong.empty())
    return wrong;
  options.concurrent = true;
  return compare(run_compiled(*eight, program, operands, options, -1), "8 threads, concurrent");
}

uint64_t Random::next() {
  state_ += 0x9e3779b97f4a7c15ull;  // splitmix64
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}
double Random::real(double low, double high) {
  return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53;
}

Tensor Random::tensor(const ir::TensorType& type, double low, double high) {
  Tensor t = Tensor::allocate(type);
  for (int64_t i = 0; i < t.elements(); ++i) {
    if (type.dtype == ir::DType::boolean)
      ir::set_from_double(t, i, static_cast<double>(next() >> 63));
    else if (ir::is_float(type.dtype))
      ir::set_from_double(t, i, real(low, high));
    else
      ir::set_from_double(t, i, std::floor(real(ir::is_signed(type.dtype) ? low : std::max(low, 0.0), high)));
  }
  return t;
}

void plant(Tensor& tensor, double value) {
  const int64_t n = tensor.elements();
  if (n == 0) return;
  for (int64_t i : {int64_t{0}, n / 2, n - 1}) ir::set_from_double(tensor, i, value);
}

ir::ProgramRef program_of(const std::string& text) { return ir::make_program(ir::parse_graph(text, "test")); }

std::vector<Tensor> random_operands(const ir::Program& program, uint64_t seed, double low, double high) {
  Random random(seed);
  std::vector<Tensor> operands;
  for (ir::NodeId id : program.graph().inputs())
    operands.push_back(random.tensor(program.graph().node(id).types[0], low, high));
  return operands;
}

}  // namespace weft::test
