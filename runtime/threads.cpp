#include "runtime/threads.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ir/support/control_groups.hpp"
#include "ir/support/error.hpp"
#include "ir/support/fork_join.hpp"
#include "ir/support/log.hpp"

namespace weft::runtime {
namespace {

namespace fs = std::filesystem;

int affinity_cpus() {
  for (int cpus = 1024; cpus <= 1 << 18; cpus *= 4) {
    cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(cpus));
    if (!set) break;
    size_t size = CPU_ALLOC_SIZE(static_cast<size_t>(cpus));
    CPU_ZERO_S(size, set);
    int count = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
  return 1;
}

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

/// Quota over period of the two formats; 0 where unlimited or unreadable.
double cpus_of(const ControlGroup& group) {
  double quota = 0, period = 0;
  if (group.version == 2) {
    period = 100000;
    if (std::sscanf(first_line(group.folder / "cpu.max").c_str(), "%lf %lf", &quota, &period) < 1) return 0;
  } else {
    quota = std::atof(first_line(group.folder / "cpu.cfs_quota_us").c_str());
    period = std::atof(first_line(group.folder / "cpu.cfs_period_us").c_str());
  }
  return quota > 0 && period > 0 ? quota / period : 0;
}

/// Waits until told to end: stands in for a worker thread when we ask whether the system would start that many.
struct Gate {
  std::mutex mutex;
  std::condition_variable opened;
  bool open = false;
};
void* wait_at_gate(void* argument) {
  Gate& gate = *static_cast<Gate*>(argument);
  std::unique_lock lock(gate.mutex);
  gate.opened.wait(lock, [&] { return gate.open; });
  return nullptr;
}

/// Whether the process may take the addresses that `threads` take when they work: a heap of 64 MiB each (glibc: at most
/// 8 a CPU), and what TBB and a first run allocate.
bool room_for(int threads) {
  const size_t heaps = static_cast<size_t>(std::min(threads, 8 * affinity_cpus()));
  const size_t bytes = (heaps * 64 + 96) << 20;
  void* room = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return false;
  munmap(room, bytes);
  return true;
}

struct Startable {
  int threads = 0;
  bool room = true;
};
/// How many of `wanted` further threads the system starts, and whether there is room for them to work in. TBB ends the
/// process where a worker cannot be started (rml thread_monitor), so we ask first.
Startable startable(int wanted) {
  Gate gate;
  std::vector<pthread_t> threads;
  for (pthread_t thread;
       static_cast<int>(threads.size()) < wanted && pthread_create(&thread, nullptr, wait_at_gate, &gate) == 0;)
    threads.push_back(thread);
  const Startable found = {static_cast<int>(threads.size()), room_for(wanted)};
  {
    std::lock_guard lock(gate.mutex);
    gate.open = true;
  }
  gate.opened.notify_all();
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  return found;
}

}  // namespace

double cgroup_cpus(const fs::path& root) {
  double least = 0;
  for (const ControlGroup& group : control_groups("cpu", root))
    if (const double found = cpus_of(group); found > 0 && (least == 0 || found < least)) least = found;
  return least;
}

int default_threads() {
  static const int threads = [] {
    int cpus = affinity_cpus();
    double quota = cgroup_cpus();
    if (quota > 0) cpus = std::min(cpus, static_cast<int>(std::min(quota, 1e6)));
    return std::clamp(cpus, 1, kMostThreads);
  }();
  return threads;
}

int checked_threads(int64_t asked) {
  if (asked < 0)
    fail(ErrorCode::invalid_argument, "{} threads: expected 0 (as many as the process may use) or more", asked);
  if (asked == 0) return default_threads();
  if (asked > kMostThreads) {
    log(LogLevel::warning, "{} threads asked for, {} used", asked, kMostThreads);
    return kMostThreads;
  }
  return static_cast<int>(asked);
}

int threads_from_text(std::string_view text, std::string_view name) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    fail(ErrorCode::invalid_argument, "{} '{}' is no number of threads", name, text);
  return checked_threads(value);
}

struct ThreadBudget::Arena {
  std::optional<tbb::global_control>
      more;  // TBB starts no more than one thread a CPU unless told that more are allowed
  tbb::task_arena arena;
  explicit Arena(int threads) : arena(threads, 1) {
    if (threads > tbb::info::default_concurrency())
      more.emplace(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(kMostThreads) + 1);
    arena.initialize();
    start(threads);
  }

  /// Has all threads started before anything else is allocated: TBB would start them when first needed, and end the
  /// process where one then finds no room for its stack. They sleep until there is work.
  void start(int threads) {
    using Clock = std::chrono::steady_clock;
    const auto allowed = tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
    const int expected = static_cast<int>(std::min(static_cast<size_t>(threads), allowed));
    const auto patience = Clock::now() + std::chrono::milliseconds(200);  // others may hold TBB's threads
    std::atomic<int> arrived = 0;
    ForkJoin region;
    auto meet = [&](int) WEFT_TASK {
      ForkJoin::Task task(region);
      arrived.fetch_add(1);
      while (arrived.load() < expected && Clock::now() < patience)
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    };
    arena.execute([&] { tbb::parallel_for(0, threads, meet, tbb::simple_partitioner()); });
  }
};

ThreadBudget::ThreadBudget(int threads) : size_(threads) {
  if (threads <= 1) return;
  const Startable found = startable(threads - 1);
  int started = found.threads;
  if (!found.room) {
    log(LogLevel::warning, "no address space for {} threads to work in: 1 used", threads);
    started = 0;
  } else if (started < threads - 1) {
    const int used = started / 2;  // others may start some in the meantime
    log(LogLevel::warning, "the system starts only {} of {} threads: {} used", started + 1, threads, used + 1);
    started = used;
  }
  size_ = started + 1;
  if (size_ > 1) arena_ = std::make_unique<Arena>(size_);
}
ThreadBudget::~ThreadBudget() = default;

const ThreadBudget& ThreadBudget::of(int threads) {
  static std::mutex mutex;
  static auto& budgets = *new std::map<int, std::unique_ptr<ThreadBudget>>;  // outlives every static session
  threads = std::clamp(threads, 1, kMostThreads);
  std::lock_guard lock(mutex);
  std::unique_ptr<ThreadBudget>& budget = budgets[threads];
  if (!budget) budget.reset(new ThreadBudget(threads));
  return *budget;
}

void ThreadBudget::run(const std::function<void()>& body) const {
  if (!arena_) return body();
  ForkJoin region;  // a full arena hands the body to one of its own threads
  arena_->arena.execute([&]() WEFT_TASK {
    ForkJoin::Task task(region);
    body();
  });
}

void run_parts_parallel(int parts, void (*call)(const void*, int), const void* f) {
  if (parts <= 0) return;
  // Isolated: a thread that waits for its parts must not take up another run of the same arena in the meantime.
  ForkJoin region;
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(
        tbb::blocked_range<int>(0, parts, 1),
        [&](const tbb::blocked_range<int>& r) WEFT_TASK {
          ForkJoin::Task task(region);
          for (int part = r.begin(); part != r.end(); ++part) call(f, part);
        },
        tbb::simple_partitioner());
  });
}

void for_each_index(int threads, size_t count, const std::function<void(size_t)>& f) {
  const ThreadBudget& budget = ThreadBudget::of(threads);
  if (budget.size() == 1 || count < 2) {
    for (size_t i = 0; i < count; ++i) f(i);
    return;
  }
  budget.run([&] {
    ForkJoin region;
    auto one = [&](size_t i) WEFT_TASK {
      ForkJoin::Task task(region);
      f(i);
    };
    tbb::parallel_for(size_t{0}, count, one, tbb::simple_partitioner());
  });
}

}  // namespace weft::runtime
