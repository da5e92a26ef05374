#include "egraph/search/search.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>

#include "ir/support/error.hpp"
#include "ir/support/fork_join.hpp"

namespace weft::egraph {

namespace {

constexpr size_t kBlock = 512;  // candidate roots
constexpr size_t kWave = 64;    // blocks between two looks at the limits
constexpr size_t kFew = 8192;   // candidates in a wave that are not worth waking a second thread

struct Task {
  RuleSearch* search;
  size_t begin, end;
};

std::vector<Task> make_tasks(std::vector<RuleSearch>& searches, const FrozenGraph& frozen) {
  std::vector<Task> tasks;
  for (RuleSearch& search : searches) {
    const size_t count = Matcher::candidate_count(search.rule->program, frozen);
    for (size_t begin = 0; begin < count; begin += kBlock)
      tasks.push_back({&search, begin, std::min(begin + kBlock, count)});
  }
  return tasks;
}

MatchBlock run_task(const Task& task, const SearchContext& context, uint64_t fuel, uint64_t bytes) {
  const CompiledRule& rule = *task.search->rule;
  const uint64_t match_bytes = sizeof(uint32_t) * std::max<uint32_t>(rule.width(), 1);
  const uint64_t room = bytes == UINT64_MAX ? UINT64_MAX : bytes / match_bytes;
  const uint64_t most = task.search->max_matches;
  try {
    Matcher matcher(rule.program, context, *rule.rule, rule.right.get(), task.search->since);
    return matcher.run(task.begin, task.end, fuel, std::min(most == UINT64_MAX ? most : most + 1, room));
  } catch (const Error& error) {
    throw error.within(fmt::format("rule {} ({})", rule.rule->name, rule.rule->origin));
  }
}

/// Takes the blocks of a wave in order until a limit is passed.
class Collector {
 public:
  Collector(const SearchContext& context, const SearchLimits& limits) : context_(context), limits_(limits) {}
  StopReason stop = StopReason::saturated;
  uint64_t fuel_left() const { return limits_.fuel - std::min(fuel_, limits_.fuel); }
  uint64_t bytes_left() const {
    return limits_.bytes == UINT64_MAX ? UINT64_MAX : limits_.bytes - std::min(bytes_, limits_.bytes);
  }

  void take(const Task& task, MatchBlock block) {
    RuleSearch& search = *task.search;
    if (search.too_many) return;
    search.bindings += block.bindings, fuel_ += block.bindings;
    search.found += block.found, search.count += block.count;
    if (search.count > search.max_matches) {
      search.too_many = true;
      for (const MatchBlock& old : search.blocks) bytes_ -= old.matches.size() * sizeof(uint32_t);
      search.blocks.clear();
    } else {
      bytes_ += block.matches.size() * sizeof(uint32_t);
      if (block.cut || fuel_ > limits_.fuel || bytes_ > limits_.bytes) search.cut = true;
      if (block.count) search.blocks.push_back(std::move(block));
    }
    if (stop != StopReason::saturated) return;
    if (fuel_ > limits_.fuel)
      stop = StopReason::fuel;
    else if (search.cut)
      stop = context_.late() ? StopReason::time : StopReason::bytes;
  }

 private:
  const SearchContext& context_;
  const SearchLimits& limits_;
  uint64_t fuel_ = 0, bytes_ = 0;
};

}  // namespace

StopReason search_rules(std::vector<RuleSearch>& searches, const SearchContext& context, const SearchLimits& limits) {
  const std::vector<Task> tasks = make_tasks(searches, *context.frozen);
  Collector collector(context, limits);
  size_t next = 0;
  while (next < tasks.size() && collector.stop == StopReason::saturated) {
    std::vector<const Task*> wave;
    for (; next < tasks.size() && wave.size() < kWave; ++next)
      if (!tasks[next].search->too_many) wave.push_back(&tasks[next]);
    std::vector<MatchBlock> blocks(wave.size());
    const uint64_t fuel = collector.fuel_left(), bytes = collector.bytes_left();
    size_t candidates = 0;
    for (const Task* task : wave) candidates += task->end - task->begin;
    const auto run = [&](size_t i) { blocks[i] = run_task(*wave[i], context, fuel, bytes); };
    if (candidates <= kFew) {
      for (size_t i = 0; i < wave.size(); ++i) run(i);
    } else {
      ForkJoin region;
      tbb::parallel_for(size_t{0}, wave.size(), [&](size_t i) WEFT_TASK {
        ForkJoin::Task task(region);
        run(i);
      });
    }
    for (size_t i = 0; i < wave.size(); ++i) {
      if (collector.stop == StopReason::saturated)
        collector.take(*wave[i], std::move(blocks[i]));
      else
        wave[i]->search->cut = true;
    }
  }
  if (collector.stop != StopReason::saturated)
    for (; next < tasks.size(); ++next) tasks[next].search->cut = true;
  return collector.stop;
}

}  // namespace weft::egraph
