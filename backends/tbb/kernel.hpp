#pragma once
// The kernel families of this backend. Each looks at an analysed program and makes a kernel, or says why not.
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "backends/backend.hpp"
#include "backends/tbb/code.hpp"
#include "backends/tbb/machine.hpp"
#include "ir/support/error.hpp"

namespace weft::backends::tbb {

/// A kernel that knows its own price, so that estimate() and compile() cannot disagree.
class FamilyKernel : public Kernel {
 public:
  const ir::KernelResources& resources() const override { return resources_; }
  double nanoseconds = 0;
  std::string name;

 protected:
  explicit FamilyKernel(std::shared_ptr<const Analysis> analysis) : analysis_(std::move(analysis)) {}
  /// Base pointers by source of the analysis: inputs, constants; anchors are null.
  Sources sources(const RunContext& context) const;
  /// Sets parts, nanoseconds, implementation.
  void price(const Load& load, int threads, std::string implementation);
  int parts() const { return resources_.parts; }

  std::shared_ptr<const Analysis> analysis_;
  ir::KernelResources resources_;
};

using Match = std::variant<std::unique_ptr<FamilyKernel>, ir::Refusal>;

struct FamilyRequest {
  std::shared_ptr<const Analysis> analysis;
  const std::vector<ir::OperandKind>& operands;
  int threads;
};
struct Family {
  const char* name;
  Match (*match)(const FamilyRequest& request);
};

Match match_loop(const FamilyRequest& request);    ///< elementwise and movement, no structured op
Match match_reduce(const FamilyRequest& request);  ///< prologue, one reduction, epilogue
Match match_normalise(
    const FamilyRequest& request);  ///< softmax, log_softmax, layer_norm, rms_norm with prologue and epilogue
Match match_depthwise(const FamilyRequest& request);  ///< depthwise convolution nxc with epilogue
Match match_pool(const FamilyRequest& request);       ///< max_pool, avg_pool with epilogue
Match match_attention(const FamilyRequest& request);
Match match_gather(const FamilyRequest& request);
Match match_resize(const FamilyRequest& request);

// ---- what families share
// -----------------------------------------------------------------------------------------------

/// Bytes that an expression's leaves read, each source once, and arithmetic over `elements`.
double leaf_bytes(const Analysis& analysis, const Code& code);
inline int64_t align64(int64_t bytes) { return (bytes + 63) / 64 * 64; }
/// The expression of a view that reads its (only) source in order, whose source is an input or constant; else null.
const Source* plain_source(const Analysis& analysis, ExprId id);

/// What follows a structured op whose result stands, element by element in row-major order of the output, in a buffer:
/// elementwise code over the output's domain in which that result is one leaf.
class Epilogue {
 public:
  /// `anchor_source` is read by index; a refusal says what does not fit. `outputs`: which of the program's (empty =
  /// all).
  Epilogue(const Analysis& analysis, int anchor_source, std::vector<size_t> outputs = {});
  std::string refusal;
  bool trivial = false;  ///< the outputs are the anchor's result itself
  const Code& code() const { return *code_; }
  int64_t scratch_bytes() const { return trivial ? 0 : code_->scratch_bytes; }
  int64_t elements() const { return elements_; }

  /// One a thread.
  class Runner {
   public:
    Runner(const Epilogue& epilogue, Sources sources, char* scratch, const RunContext& context);
    /// Where to put result elements from flat index `begin` on: the output itself where there is no epilogue, else
    /// `buffer`.
    float* place(int64_t begin, float* buffer) const;
    /// Finishes elements [begin, begin + n), which stand at `results`.
    void finish(int64_t begin, int64_t n, const float* results);

   private:
    const Epilogue& epilogue_;
    std::optional<Block> block_;
    boost::container::small_vector<void*, 2> outputs_;
  };

 private:
  int anchor_source_;
  std::vector<size_t> outputs_;
  int64_t elements_ = 0;
  std::optional<Code> code_;
};

}  // namespace weft::backends::tbb
