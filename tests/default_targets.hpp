#pragma once
// The targets of a compile that names none: every backend of this build but the one that computes nothing.
#include <vector>

#include "backends/registry.hpp"

namespace weft::test {

inline std::vector<const ir::Target*> default_targets() {
  std::vector<const ir::Target*> targets;
  for (const backends::Backend* backend : backends::registry())
    if (backend->name() != "null") targets.push_back(backend);
  return targets;
}

}  // namespace weft::test
