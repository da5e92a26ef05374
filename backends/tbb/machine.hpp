#pragma once
// What this machine can do, and the roofline that prices every kernel of this backend.
#include <cstdint>
#include <string>

#include "ir/target.hpp"

namespace weft::backends::tbb {

/// From the instruction set (a table) and the cache sizes of the system (sysfs): no clock is read, so that plans are
/// reproducible.
const ir::MachineFacts& machine();

/// One-thread work of a kernel.
struct Load {
  double compute_ns = 0;  ///< arithmetic with operands in L1
  double bytes = 0;       ///< read and written beyond L1
  double footprint = 0;   ///< distinct bytes: decides which level they come from (0 = bytes)
  int64_t units = 1;      ///< most parts that it can be split into
};
/// Parts of 20 to 200 microseconds where there is so much work, a multiple of the threads where more than one; never
/// less than 8.
int choose_parts(const Load& load, int threads);
double nanoseconds(const Load& load, int threads);

/// Share number `part` of [0, total), in whole multiples of `grain` but for the last.
struct Share {
  int64_t begin, end;
};
Share share_of(int64_t total, int64_t grain, int part, int parts);

}  // namespace weft::backends::tbb
