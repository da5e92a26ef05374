#pragma once
// A primitive with its list of arguments, ready to be run from many threads at once.
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "backends/onednn/adapter.hpp"

namespace weft::backends::onednn {

/// What one argument is in one run: a buffer, or a memory object that is the same in all runs (packed weights).
struct Argument {
  const void* pointer = nullptr;
  dnnl_memory_t fixed = nullptr;
};

class Launcher {
 public:
  /// `arguments`: DNNL_ARG_... and descriptor, in the order in which execute() takes them.
  Launcher(dnnl::primitive primitive, std::vector<std::pair<int, Desc>> arguments);
  /// The calling thread holds a SingleThreaded. Several runs at once are fine: memory objects come from a pool.
  void execute(std::span<const Argument> arguments) const;

 private:
  struct Set {
    std::vector<dnnl::memory> memories;
    std::vector<dnnl_exec_arg_t> list;
  };
  std::unique_ptr<Set> take() const;
  dnnl::primitive primitive_;
  std::vector<std::pair<int, Desc>> arguments_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Set>> free_;
};

/// Copies between two layouts of the same dimensions: a strided view's part and a tile, either way.
class TileCopy {
 public:
  TileCopy(const Desc& from, const Desc& to);
  void execute(const float* from, float* to) const;

 private:
  std::unique_ptr<Launcher> launcher_;
};

}  // namespace weft::backends::onednn
