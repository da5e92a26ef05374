#pragma once
// Running kernels as the runtime does, and comparing them with the reference interpreter.
#include <string>
#include <vector>

#include "backends/registry.hpp"
#include "ir/eval.hpp"

namespace weft::test {

struct RunOptions {
  int threads = 1;
  bool reverse = false;                   ///< parts from last to first
  bool concurrent = false;                ///< each part on its own thread
  std::vector<ir::OperandKind> operands;  ///< empty: all values
};

/// Compiles and runs; outputs are pre-filled with a pattern, guard bytes behind each are checked.
std::vector<ir::Tensor> run_kernel(const backends::Backend& backend, const ir::ProgramRef& program,
                                   const std::vector<ir::Tensor>& operands, const RunOptions& options = {});

/// "" where the backend takes the program, else its reason.
std::string refusal(const backends::Backend& backend, const ir::ProgramRef& program, int threads = 1);

struct Tolerance {
  double relative = 0, absolute = 0;  ///< both 0: equal bits (a NaN equals a NaN)
  double of_largest = 0;              ///< absolute, as a share of the largest finite |expected|
};
/// "" where equal, else the first difference.
std::string difference(const ir::Tensor& found, const ir::Tensor& expected, const Tolerance& tolerance);

/// Runs one program on 1 and 8 threads, parts in reverse and concurrently, in place where allowed: all must be
/// bit-equal to each other and within tolerance of the interpreter. Returns "" or what is wrong.
std::string check_against_reference(const backends::Backend& backend, const ir::ProgramRef& program,
                                    const std::vector<ir::Tensor>& operands, const Tolerance& tolerance,
                                    const std::vector<ir::OperandKind>& kinds = {});

/// Deterministic pseudo-random contents; floats are uniform in [low, high).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}
  uint64_t next();
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  double real(double low, double high);
  ir::Tensor tensor(const ir::TensorType& type, double low = -4, double high = 4);

 private:
  uint64_t state_;
};

/// Puts value in the first, middle and last element.
void plant(ir::Tensor& tensor, double value);

/// A program from graph text.
ir::ProgramRef program_of(const std::string& text);
std::vector<ir::Tensor> random_operands(const ir::Program& program, uint64_t seed, double low = -4, double high = 4);

}  // namespace weft::test
