#pragma once
// Runs a function on a thread with a small stack: what recurses with the depth of its input ends in a signal here.
#include <pthread.h>

#include <exception>
#include <functional>

#include "tests/catch.hpp"

namespace weft::test {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WEFT_LARGE_FRAMES
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(WEFT_LARGE_FRAMES)
inline constexpr size_t kSmallStack = 1024 * 1024;  // sanitizers make frames several times larger
inline constexpr int kDeep = 25'000;                // and an hour of 100,000: 41 bytes a frame are still too many
#else
inline constexpr size_t kSmallStack = 256 * 1024;
inline constexpr int kDeep = 100'000;  ///< links of a deep chain; as kDeep / 10, one more than a multiple of 3
#endif
static_assert(kDeep % 3 == 1 && kDeep / 10 % 3 == 1);

/// Exceptions of `body` are thrown on. Catch assertions belong outside: only one thread may make them.
inline void on_small_stack(const std::function<void()>& body, size_t bytes = kSmallStack) {
  struct Call {
    const std::function<void()>& body;
    std::exception_ptr error;
  } call{body, nullptr};
  auto run = [](void* argument) -> void* {
    auto* c = static_cast<Call*>(argument);
    try {
      c->body();
    } catch (...) {
      c->error = std::current_exception();
    }
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, bytes) == 0);
  pthread_t thread;
  REQUIRE(pthread_create(&thread, &attributes, run, &call) == 0);
  pthread_attr_destroy(&attributes);
  pthread_join(thread, nullptr);
  if (call.error) std::rethrow_exception(call.error);
}

}  // namespace weft::test
