#include "ir/support/memory.hpp"

#include <unistd.h>

#include <fstream>
#include <limits>

#include "ir/support/control_groups.hpp"
#include "ir/support/error.hpp"
#include "ir/tensor.hpp"
#include "tests/catch.hpp"

using namespace weft;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

/// A folder that stands in for "/".
struct Machine {
  fs::path root = fs::temp_directory_path() / fmt::format("weft-memory-{}", getpid());
  Machine() { fs::remove_all(root); }
  ~Machine() { fs::remove_all(root); }
  void put(const char* file, std::string_view text) const {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  }
};

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

}  // namespace

TEST_CASE("available memory is what the machine and its control groups leave") {
  const Machine m;
  CHECK(available_memory(m.root) == kUnlimited);
  m.put("proc/meminfo", "MemTotal: 900 kB\nMemAvailable:  700 kB\nSwapFree: 100 kB\n");
  CHECK(available_memory(m.root) == 800 * 1024);
  m.put("proc/self/cgroup", "0::/a/b\n");
  m.put("sys/fs/cgroup/a/memory.max", "500000\n");
  m.put("sys/fs/cgroup/a/memory.current", "400000\n");
  CHECK(available_memory(m.root) == 100000);
  m.put("sys/fs/cgroup/a/memory.stat", "anon 300000\ninactive_file 20000\nactive_file 10000\n");
  CHECK(available_memory(m.root) == 130000);
  m.put("sys/fs/cgroup/a/b/memory.max", "max\n");
  m.put("sys/fs/cgroup/a/b/memory.current", "400000\n");
  CHECK(available_memory(m.root) == 130000);
  m.put("sys/fs/cgroup/a/memory.current", "600000\n");
  CHECK(available_memory(m.root) == 0);
  m.put("proc/self/cgroup", "4:memory:/x\n3:cpu:/y\n");
  m.put("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "70000\n");
  m.put("sys/fs/cgroup/memory/x/memory.usage_in_bytes", "60000\n");
  m.put("sys/fs/cgroup/memory/x/memory.stat", "total_inactive_file 5000\n");
  CHECK(available_memory(m.root) == 15000);
}

TEST_CASE("more memory than there is is refused before it is asked for") {
  CHECK(available_memory() > 0);
  CHECK_NOTHROW(require_memory(kLeastLookedUp, "this test"));
  if (available_memory() == kUnlimited) return;  // nothing tells
  try {
    ir::Tensor::allocate({ir::DType::f32, {ir::Dim(int64_t{1} << 44)}});
    FAIL("64 TiB were allocated");
  } catch (const Error& e) {
    CHECK(e.code() == ErrorCode::limit);
    CHECK_THAT(e.what(), Contains("70368744177664 bytes") && Contains("are available"));
  }
}
