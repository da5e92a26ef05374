#include "passes/plan_memory.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <utility>

#include "ir/support/error.hpp"

namespace weft::passes {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int kRounds = 60;              // of promoting the highest interval, from each starting order
constexpr size_t kManyIntervals = 4000;  // above this the quadratic placements would take longer than a second
int64_t align(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// Bytes alive from step `first` to step `last`, both included.
struct Interval {
  int64_t bytes = 0;
  int first = 0, last = 0;
  int64_t offset = -1;
};

/// What is free of an arena: gaps below `top_`, and all above it.
class Gaps {
 public:
  /// The smallest gap that is large enough, the lowest of equal ones.
  int64_t take(int64_t bytes) {
    const auto fit = by_size_.lower_bound({bytes, 0});
    if (fit == by_size_.end()) return std::exchange(top_, top_ + bytes);
    const auto [size, offset] = *fit;
    remove(by_offset_.find(offset));
    if (size > bytes) add(offset + bytes, size - bytes);
    return offset;
  }

  void give(int64_t offset, int64_t bytes) {
    if (bytes == 0) return;
    if (auto after = by_offset_.find(offset + bytes); after != by_offset_.end()) {
      bytes += after->second;
      remove(after);
    }
    if (auto before = by_offset_.lower_bound(offset); before != by_offset_.begin()) {
      --before;
      if (before->first + before->second == offset) {
        offset = before->first;
        bytes += before->second;
        remove(before);
      }
    }
    if (offset + bytes == top_)
      top_ = offset;
    else
      add(offset, bytes);
  }

 private:
  void add(int64_t offset, int64_t bytes) {
    by_offset_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }
  void remove(std::map<int64_t, int64_t>::iterator gap) {
    by_size_.erase({gap->second, gap->first});
    by_offset_.erase(gap);
  }

  std::map<int64_t, int64_t> by_offset_;
  std::set<std::pair<int64_t, int64_t>> by_size_;
  int64_t top_ = 0;
};

class MemoryPlanner {
 public:
  explicit MemoryPlanner(ir::Plan& plan)
      : plan_(plan), interval_of_(plan.buffers.size(), -1), last_use_(plan.buffers.size(), -1) {}

  void run() {
    find_last_uses();
    for (size_t s = 0; s < plan_.steps.size(); ++s) make_intervals(static_cast<int>(s));
    plan_.stats.arena_lower_bound = lower_bound();
    plan_.arena_bytes = place();
    for (size_t b = 0; b < plan_.buffers.size(); ++b)
      if (interval_of_[b] >= 0) plan_.buffers[b].offset = intervals_[interval_of_[b]].offset;
    for (size_t s = 0; s < plan_.steps.size(); ++s)
      if (scratch_of_[s] >= 0) plan_.steps[s].scratch_offset = intervals_[scratch_of_[s]].offset;
  }

 private:
  bool in_arena(ir::BufferId b) const { return plan_.buffers[b.value].placement == ir::Placement::arena; }

  void find_last_uses() {
    for (size_t s = 0; s < plan_.steps.size(); ++s)
      for (const auto* list : {&plan_.steps[s].inputs, &plan_.steps[s].outputs})
        for (ir::BufferId b : *list) last_use_[b.value] = static_cast<int>(s);
    for (auto [from, to] : plan_.copies) last_use_[from.value] = static_cast<int>(plan_.steps.size());
  }

  void make_intervals(int s) {
    const ir::Step& step = plan_.steps[s];
    for (size_t o = 0; o < step.outputs.size(); ++o) {
      ir::BufferId out = step.outputs[o];
      if (!in_arena(out)) continue;
      int taken = o == 0 && step.outputs.size() == 1 ? taken_over(step, s) : -1;
      if (taken < 0) {
        taken = static_cast<int>(intervals_.size());
        add_interval(align(plan_.buffers[out.value].bytes), s);
      }
      owner_[taken] = out;
      intervals_[taken].last = std::max(intervals_[taken].last, last_use_[out.value]);
      interval_of_[out.value] = taken;
    }
    int64_t scratch = align(step.resources.scratch_bytes) * step.resources.parts;
    scratch_of_.push_back(scratch > 0 ? static_cast<int>(intervals_.size()) : -1);
    if (scratch > 0) add_interval(scratch, s);
  }
  void add_interval(int64_t bytes, int s) {
    intervals_.push_back({bytes, s, s});
    owner_.push_back({});
  }

  /// The interval of an operand that the output may overwrite: it dies here, is named once, and is large enough.
  int taken_over(const ir::Step& step, int s) const {
    for (int operand : step.resources.in_place) {
      ir::BufferId b = step.inputs[operand];
      if (!in_arena(b) || last_use_[b.value] != s || std::count(step.inputs.begin(), step.inputs.end(), b) != 1)
        continue;
      int interval = interval_of_[b.value];
      if (interval < 0 || owner_[interval] != b) continue;
      if (intervals_[interval].bytes >= align(plan_.buffers[step.outputs[0].value].bytes)) return interval;
    }
    return -1;
  }
  int64_t lower_bound() const {
    std::vector<int64_t> change(plan_.steps.size() + 2, 0);
    for (const Interval& i : intervals_) change[i.first] += i.bytes, change[i.last + 1] -= i.bytes;
    int64_t live = 0, most = 0;
    for (int64_t c : change) most = std::max(most, live += c);
    return most;
  }

  int64_t place() {
    if (intervals_.size() > kManyIntervals) return place_in_time();
    std::vector<int> order(intervals_.size());
    std::iota(order.begin(), order.end(), 0);
    auto by = [&](auto key) {
      std::vector<int> sorted = order;
      std::stable_sort(sorted.begin(), sorted.end(),
                       [&](int a, int b) { return key(intervals_[a]) > key(intervals_[b]); });
      return sorted;
    };
    using Key = std::pair<int64_t, int64_t>;
    std::vector<std::vector<int>> orders = {
        by([](const Interval& i) { return Key(i.bytes, i.last - i.first); }),
        by([](const Interval& i) { return Key(i.last - i.first, i.bytes); }),
        by([](const Interval& i) { return Key(-i.first, i.bytes); }),
        by([](const Interval& i) { return Key(i.bytes * (i.last - i.first + 1), 0); })};
    int64_t best = -1;
    std::vector<int64_t> offsets;
    auto better = [&](const std::vector<int>& candidate) {
      int64_t total = place_in(candidate);
      if (best >= 0 && total >= best) return false;
      best = total;
      offsets.clear();
      for (const Interval& i : intervals_) offsets.push_back(i.offset);
      return true;
    };
    for (std::vector<int>& candidate : orders) {
      better(candidate);
      for (int round = 0; round < kRounds && best > plan_.stats.arena_lower_bound; ++round) {
        if (!promote_highest(candidate)) break;
        better(candidate);
      }
      if (best == plan_.stats.arena_lower_bound) break;
    }
    for (size_t i = 0; i < offsets.size(); ++i) intervals_[i].offset = offsets[i];
    return std::max<int64_t>(best, 0);
  }

  /// Moves the interval that ends highest in the placement just made to the front of the order: it is placed low next
  /// time. False where it is there already.
  bool promote_highest(std::vector<int>& order) const {
    auto end = [&](int i) { return intervals_[i].offset + intervals_[i].bytes; };
    auto highest = std::max_element(order.begin(), order.end(), [&](int a, int b) { return end(a) < end(b); });
    if (highest == order.begin() || highest == order.end()) return false;
    std::rotate(order.begin(), highest, highest + 1);
    return true;
  }

  /// Best fit: the smallest gap between already placed intervals alive at the same time.
  int64_t place_in(const std::vector<int>& order) {
    int64_t total = 0;
    std::vector<int> placed;  // by offset
    for (int current : order) {
      Interval& i = intervals_[current];
      int64_t end = 0, best = -1, best_gap = 0;
      for (int other : placed) {
        const Interval& j = intervals_[other];
        if (j.last < i.first || j.first > i.last) continue;
        int64_t gap = j.offset - end;
        if (gap >= i.bytes && (best < 0 || gap < best_gap)) best = end, best_gap = gap;
        end = std::max(end, j.offset + j.bytes);
      }
      i.offset = best >= 0 ? best : end;
      total = std::max(total, i.offset + i.bytes);
      placed.insert(std::upper_bound(placed.begin(), placed.end(), i.offset,
                                     [&](int64_t offset, int p) { return offset < intervals_[p].offset; }),
                    current);
    }
    return total;
  }

  /// Near-linear placement for very long plans: in the order of time, best fit among the gaps of that moment.
  int64_t place_in_time() {
    using End = std::pair<int, size_t>;  // last step, interval
    std::priority_queue<End, std::vector<End>, std::greater<>> live;
    int64_t total = 0;
    Gaps gaps;
    for (size_t current = 0; current < intervals_.size(); ++current) {
      Interval& i = intervals_[current];
      for (; !live.empty() && live.top().first < i.first; live.pop()) {
        const Interval& over = intervals_[live.top().second];
        gaps.give(over.offset, over.bytes);
      }
      i.offset = gaps.take(i.bytes);
      total = std::max(total, i.offset + i.bytes);
      live.emplace(i.last, current);
    }
    return total;
  }

  ir::Plan& plan_;
  std::vector<Interval> intervals_;
  std::vector<ir::BufferId> owner_;  // by interval: the buffer that holds it last
  std::vector<int> interval_of_, last_use_, scratch_of_;
};

}  // namespace

void plan_memory(ir::Plan& plan) { MemoryPlanner(plan).run(); }

}  // namespace weft::passes
