#pragma once
// What the user can say about a compile. Everything here that can change the plan is part of the plan key.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ir/target.hpp"

namespace weft::passes {

enum class Precision : uint8_t {
  strict,    ///< only rules without a tag: same bits up to accumulation order inside one kernel
  standard,  ///< ("default") adds contract, fold, kernel: what peers do silently
  fast       ///< all rules
};
Precision precision_from_string(std::string_view text);
std::string_view to_string(Precision precision);

struct Options {
  int level =
      2;  ///< 0: no rewriting, one kernel an op; 1: canonicalise and fuse greedily; 2: full search; 3: larger limits
  Precision precision = Precision::standard;
  int threads = 0;                ///< threads that the plan is split for; 0 = as many as the process may use
  double time_limit = 0;          ///< seconds of search, 0 = none; a plan cut by time depends on the machine
  std::vector<std::string> skip;  ///< passes to leave out, by name
  std::string stop_after;         ///< pass after which the pipeline stops
  std::string print_after;        ///< a pass name, "all" or "changed"
  std::string dump_dir;           ///< one file a pass: NN-name.txt
  std::function<void(std::string_view)> print;  ///< receives what print_after asks for; standard error where empty
  std::function<void(std::string_view, double)> progress;  ///< pass name, share done 0..1

  /// The part that can change the plan, as text for the key.
  std::string key_text() const;
};

/// Whether kernels may use the permission `contract` (KernelRequest): not where nothing is rewritten, nor under strict.
bool may_contract(const Options& options);

}  // namespace weft::passes
