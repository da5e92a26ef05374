#include "tests/bench/weft_runner.hpp"

#include "ir/support/error.hpp"

namespace weft::bench {

bool weft_available() { return false; }

std::unique_ptr<Runner> load_weft(const std::filesystem::path&, const models::ModelCase&, int) {
  fail(ErrorCode::unsupported, "this build has no runtime");
}

}  // namespace weft::bench
