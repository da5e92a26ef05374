#pragma once
// The one thread budget of the process: how many threads there may be, and how the parts of a kernel are spread over
// them.
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

namespace weft::runtime {

/// More threads than this are never used, whatever is asked for.
inline constexpr int kMostThreads = 256;

/// Threads that this process may keep busy: the smaller of its CPU affinity and its cgroup quota (v1 and v2, every
/// level above it, rounded down), at least 1. Read once.
int default_threads();
/// The cgroup quota in CPUs, 0 where there is none. `root` stands in for "/" in tests (proc/self/cgroup,
/// sys/fs/cgroup).
double cgroup_cpus(const std::filesystem::path& root = "/");

/// The thread count that a user's number means: 0 is the default, more than kMostThreads is cut with a log line.
/// Throws Error(invalid_argument) where negative.
int checked_threads(int64_t asked);
/// The same from text; throws Error(invalid_argument) unless it is a decimal number. `name` is the option named in the
/// error.
int threads_from_text(std::string_view text, std::string_view name = "threads");

/// A share of the one pool: at most `size()` threads at once, the caller's among them. All budgets of one size in a
/// process are the same arena, so sessions never add threads up. Threads start with the first budget that has them;
/// where the system refuses to start them or leaves no room to work, the budget shrinks with one log line.
class ThreadBudget {
 public:
  /// `threads` as checked_threads() gives it (1 .. kMostThreads).
  static const ThreadBudget& of(int threads);
  ~ThreadBudget();

  int size() const { return size_; }
  /// Runs `body` with the threads of this budget at hand (inline where size() is 1).
  void run(const std::function<void()>& body) const;

 private:
  explicit ThreadBudget(int threads);
  struct Arena;
  std::unique_ptr<Arena> arena_;
  int size_ = 1;
};

/// Calls f(0) .. f(parts - 1), each once, in any order, from inside ThreadBudget::run. One part runs on the caller
/// without any task. Exactly one of the exceptions thrown reaches the caller, after all running parts have ended.
template <typename F>
void run_parts(int parts, const F& f);

/// Calls f(0) .. f(count - 1) on up to `threads` threads: for compiling and packing, where the items differ in size.
void for_each_index(int threads, size_t count, const std::function<void(size_t)>& f);

/// The part of run_parts() that needs the task library.
void run_parts_parallel(int parts, void (*call)(const void* f, int part), const void* f);

template <typename F>
void run_parts(int parts, const F& f) {
  if (parts == 1) return f(0);
  run_parts_parallel(
      parts, [](const void* g, int part) { (*static_cast<const F*>(g))(part); }, &f);
}

}  // namespace weft::runtime
