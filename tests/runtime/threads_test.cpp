#include "runtime/threads.hpp"

#include <atomic>
#include <fstream>
#include <set>
#include <thread>

#include "ir/support/error.hpp"
#include "ir/support/log.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/graphs.hpp"

namespace weft::runtime {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;

void put(const fs::path& file, std::string_view text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

TEST_CASE("M04: the cgroup's quota, both versions, every level", "[peer-bugs]") {
  test::TemporaryDirectory root;
  CHECK(cgroup_cpus(root.path()) == 0);
  put(root / "proc/self/cgroup", "0::/a/b\n");
  put(root / "sys/fs/cgroup/cpu.max", "max 100000\n");
  CHECK(cgroup_cpus(root.path()) == 0);
  put(root / "sys/fs/cgroup/a/cpu.max", "400000 100000\n");
  CHECK(cgroup_cpus(root.path()) == 4);
  put(root / "sys/fs/cgroup/a/b/cpu.max", "150000 100000\n");
  CHECK(cgroup_cpus(root.path()) == 1.5);
  put(root / "sys/fs/cgroup/a/b/cpu.max", "garbage\n");
  CHECK(cgroup_cpus(root.path()) == 4);
  put(root / "proc/self/cgroup", "5:memory:/x\n4:cpu,cpuacct:/x\n");
  put(root / "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "-1\n");
  put(root / "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
  CHECK(cgroup_cpus(root.path()) == 0);
  put(root / "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "250000\n");
  CHECK(cgroup_cpus(root.path()) == 2.5);
}

TEST_CASE("M04: thread counts given by users", "[peer-bugs]") {
  CHECK(default_threads() >= 1);
  CHECK(default_threads() <= static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  CHECK(checked_threads(0) == default_threads());
  CHECK(checked_threads(3) == 3);
  CHECK(threads_from_text("1") == 1);
  std::string logged;
  set_log_sink([&](LogLevel, std::string_view line) { logged = line; });
  CHECK(checked_threads(100000) == kMostThreads);
  set_log_sink({});
  CHECK_THAT(logged, Contains("100000"));
  CHECK_THROWS_AS(checked_threads(-1), Error);
  for (const char* text : {"abc", "", "1x", "-1", "1.5", " 1", "99999999999999999999"}) {
    INFO(text);
    CHECK_THROWS_AS(threads_from_text(text), Error);
  }
}

int tasks_of_process() {
  int count = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/task")) count += fs::is_directory(entry);
  return count;
}

TEST_CASE("M04: budgets of one size share their threads", "[peer-bugs]") {
  const ThreadBudget& budget = ThreadBudget::of(2);
  CHECK(&budget == &ThreadBudget::of(2));
  int before = tasks_of_process();
  std::atomic<int> ran = 0;
  for (int i = 0; i < 50; ++i) budget.run([&] { run_parts(8, [&](int) { ++ran; }); });
  CHECK(ran == 400);
  CHECK(tasks_of_process() <= before + 1);
}

TEST_CASE("parts run once each, one part on the caller") {
  std::thread::id caller = std::this_thread::get_id(), seen;
  run_parts(1, [&](int part) { seen = part == 0 ? std::this_thread::get_id() : std::thread::id(); });
  CHECK(seen == caller);
  for (int parts : {0, 2, 7, 300}) {
    std::vector<std::atomic<int>> counts(static_cast<size_t>(parts));
    ThreadBudget::of(4).run([&] { run_parts(parts, [&](int part) { ++counts[static_cast<size_t>(part)]; }); });
    for (auto& count : counts) CHECK(count == 1);
  }
}

TEST_CASE("M03: exactly one exception reaches the caller, and the pool goes on", "[peer-bugs]") {
  const ThreadBudget& budget = ThreadBudget::of(8);
  for (int round = 0; round < 1000; ++round) {
    int caught = 0;
    try {
      budget.run([&] {
        run_parts(16, [&](int part) {
          if (part == 5 || part == 11) fail(ErrorCode::out_of_range, "part {}", part);
        });
      });
    } catch (const Error& e) {
      ++caught;
      REQUIRE((e.message() == "part 5" || e.message() == "part 11"));
    }
    REQUIRE(caught == 1);
  }
  std::atomic<int> ran = 0;
  CHECK_THROWS_AS(budget.run([&] {
    run_parts(4, [&](int) {
      run_parts(4, [&](int inner) {
        ++ran;
        if (inner == 2) fail(ErrorCode::invalid_argument, "nested");
      });
    });
  }),
                  Error);
  CHECK(ran >= 1);
  CHECK_THROWS_AS(budget.run([] { run_parts(4, [](int) { throw std::runtime_error("foreign"); }); }),
                  std::runtime_error);
}

TEST_CASE("items are spread and every index is seen") {
  std::vector<std::atomic<int>> seen(1000);
  for_each_index(4, seen.size(), [&](size_t i) { ++seen[i]; });
  for (auto& s : seen) CHECK(s == 1);
  CHECK_THROWS_AS(for_each_index(4, 10,
                                 [](size_t i) {
                                   if (i == 3) fail(ErrorCode::limit, "three");
                                 }),
                  Error);
}

}  // namespace
}  // namespace weft::runtime
