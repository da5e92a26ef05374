#pragma once
// Inputs of a run: from files, or random.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "runtime/session.hpp"

namespace weft::tools {

class InputOptions {
 public:
  void add(CLI::App& command);
  /// A tensor for every input: those given, random ones for the rest. Throws Error where a shape is not known.
  ir::NamedTensors gather(const runtime::Session& session) const;
  uint64_t seed() const { return seed_; }

 private:
  void load(const std::string& text, const runtime::Session& session, ir::NamedTensors& inputs) const;
  std::vector<std::string> given_;
  uint64_t seed_ = 0;
  int64_t bound_ = 100;
};

/// The shapes of tensors, for Session::prepare.
runtime::NamedShapes shapes_of(const ir::NamedTensors& tensors);

}  // namespace weft::tools
