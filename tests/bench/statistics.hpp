#pragma once
// Order statistics of timings, and what to say of the machine beside them.
#include <string>
#include <vector>

namespace weft::bench {

struct Summary {
  double median = 0, p10 = 0, p90 = 0;
  size_t count = 0;
};
/// Quantiles by linear interpolation between order statistics. An empty list gives zeros.
Summary summarize(std::vector<double> values);

std::string machine_line();  ///< CPU model, cores, memory, kernel, as one line
std::string load_average();  ///< "0.42 0.40 0.31"
std::string today();         ///< "2026-11-30", UTC

}  // namespace weft::bench
