#include "tests/bench/busy_neighbour.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "ir/support/error.hpp"

namespace weft::bench {

BusyNeighbour::BusyNeighbour(bool wanted) {
  if (!wanted) return;
  child_ = fork();
  if (child_ < 0) fail(ErrorCode::io, "cannot start the busy neighbour: {}", std::strerror(errno));
  if (child_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // it never outlives the bench
    for (std::atomic<unsigned> turns = 0;;) turns.fetch_add(1, std::memory_order_relaxed);
  }
}

BusyNeighbour::~BusyNeighbour() {
  if (child_ <= 0) return;
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
}

}  // namespace weft::bench
