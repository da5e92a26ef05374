#pragma once
// Another process that keeps one core busy while it lives: what a loaded machine does to an engine.
#include <sys/types.h>

namespace weft::bench {

class BusyNeighbour {
 public:
  explicit BusyNeighbour(bool wanted);  ///< does nothing where not wanted
  ~BusyNeighbour();
  BusyNeighbour(const BusyNeighbour&) = delete;
  BusyNeighbour& operator=(const BusyNeighbour&) = delete;

 private:
  pid_t child_ = -1;
};

}  // namespace weft::bench
