#pragma once
// An optimized model against the reference interpreter, and where it goes wrong.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/compare.hpp"
#include "runtime/session.hpp"

namespace weft::runtime {

/// A step whose result is off.
struct Divergence {
  std::string step;     ///< "conv1/relu (onednn.conv)"
  std::string against;  ///< what it was compared with: the text of its program, or the name of the user's node
  Difference difference;
};
struct VerifyReport {
  std::vector<std::pair<std::string, Difference>> outputs;
  // Only looked for where an output disagrees:
  std::optional<Divergence> kernel;  ///< the first step that does not compute its program of the operands it was given
  std::optional<Divergence> node;    ///< the first step that is off the user's node that it is said to compute
  int64_t steps = 0, compared = 0;   ///< steps; of these, such as could be compared with a node
  bool agrees() const;
};
/// Runs the session's plan and the reference interpreter on the same inputs. Throws Error(unsupported) where the
/// session has no graph (a plan file).
VerifyReport verify(const Session& session, const ir::NamedTensors& inputs, const Tolerance& tolerance);

}  // namespace weft::runtime
