#pragma once
// What a task library orders, told to the thread sanitizer: TBB comes without the sanitizer, which would otherwise take
// everything that goes into a task or comes out of it for a race. Nothing at all in other builds.
#if defined(__SANITIZE_THREAD__)
#define WEFT_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEFT_THREAD_SANITIZER 1
#endif
#endif
#ifdef WEFT_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
/// Stands between the parameters and the body of a lambda that opens with a ForkJoin::Task: what was captured is read
/// before the task has said that it follows the fork. What the lambda calls is looked at as ever.
#define WEFT_TASK __attribute__((no_sanitize("thread")))
#else
#define WEFT_TASK
#endif

namespace weft {

/// Stands around a call that runs tasks and waits for them; every task has a ForkJoin::Task around its body. What came
/// before the fork is then visible to each task, and what the tasks did to who comes after the join; the tasks among
/// themselves stay unordered, so that races between them are still found.
class ForkJoin {
 public:
#ifdef WEFT_THREAD_SANITIZER
  ForkJoin() { __tsan_release(&fork_); }
  ~ForkJoin() { __tsan_acquire(&join_); }
  struct Task {
    explicit Task(ForkJoin& region) : region(region) { __tsan_acquire(&region.fork_); }
    ~Task() { __tsan_release(&region.join_); }
    ForkJoin& region;
  };

 private:
  char fork_ = 0, join_ = 0;
#else
  ForkJoin() {}
  ~ForkJoin() {}
  struct Task {
    explicit Task(ForkJoin&) {}
    ~Task() {}
  };
#endif
};

}  // namespace weft
