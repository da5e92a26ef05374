#pragma once
// What a machine can do and at what cost, as passes see it: abstract, so that passes and backends never meet.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/program.hpp"

namespace weft::ir {

struct MachineFacts {
  std::string cpu;                                    ///< instruction set in use, for example "avx2"
  double gflops_f32 = 50;                             ///< peak of one thread, multiply-add counted as 2
  double l2_gbps = 60, l3_gbps = 40, dram_gbps = 12;  ///< read bandwidth of one thread
  int64_t l2_bytes = 512 << 10, l3_bytes = 16 << 20;
  double launch_ns = 1000;  ///< fixed cost of one step
};

/// How a kernel's operand comes to it.
enum class OperandKind : uint8_t { value, parameter };

struct KernelRequest {
  ProgramRef program;
  std::vector<OperandKind> operands;  ///< one an input of the program
  int threads = 1;
  /// Sums may be rounded otherwise than products summed in some order, within a small multiple of that error (the
  /// permission `contract` of rules): transformed convolutions. NaN, infinities and -0 keep their meaning.
  bool contract = false;
};

struct KernelEstimate {
  std::string kernel;        ///< the backend's own name of the kernel that would run it, for example "conv", "loop"
  uint64_t nanoseconds = 0;  ///< with request.threads
};
struct Refusal {
  std::string reason;  ///< one line
};

/// What the chosen kernel needs, asked once a kernel after extraction.
struct KernelResources {
  int parts = 1;               ///< tasks that one run is split into
  int64_t scratch_bytes = 0;   ///< a part
  std::vector<int> in_place;   ///< operands whose buffer the (only) output may take over, best first
  std::string implementation;  ///< for reports: "jit:avx2"
};

struct RuleText {
  std::string file;  ///< for messages: "backends/onednn/layout.rules"
  std::string text;
};

class Target {
 public:
  virtual ~Target() = default;
  virtual std::string_view name() const = 0;
  virtual std::string version()
      const = 0;  ///< part of the plan key, with the libraries behind it and the CPU features in use
  virtual const MachineFacts& machine() const = 0;
  /// Cheap (microseconds): called for every fusion candidate. A refusal says why.
  virtual std::variant<KernelEstimate, Refusal> estimate(const KernelRequest& request) const = 0;
  virtual KernelResources resources(const KernelRequest& request) const = 0;
  virtual std::vector<RuleText> rules() const { return {}; }
};

}  // namespace weft::ir
