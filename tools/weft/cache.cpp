// weft cache: the plans on disk.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "ir/support/error.hpp"
#include "ir/support/readable.hpp"
#include "runtime/plan_cache.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/numbers.hpp"

namespace weft::tools {
namespace {

struct Cache {
  Outcome* outcome = nullptr;
  std::string directory;
  int64_t bytes = runtime::CacheOptions().disk_bytes, packed_bytes = runtime::CacheOptions().packed_bytes;

  runtime::PlanCache open() const {
    runtime::CacheOptions options;
    options.directory = directory;
    runtime::PlanCache cache(options);
    if (cache.directory().empty())
      fail(ErrorCode::not_found, "no cache directory: set WEFT_CACHE_DIR or HOME, or give --cache-dir");
    if (std::error_code none;
        std::filesystem::exists(cache.directory(), none) && !std::filesystem::is_directory(cache.directory(), none))
      throw Error(ErrorCode::io, "the cache directory is no directory", cache.directory().string());
    return cache;
  }
  void ls() const {
    runtime::PlanCache cache = open();
    int64_t total = 0, plans = 0, packed = 0;
    for (const runtime::CacheEntryInfo& info : cache.list()) {
      fmt::print("{:>10} bytes  {:>8.0f} s  {}  {}{}\n", info.bytes, info.age_seconds,
                 readable(info.file.filename().string()), readable(info.graph_name),
                 info.problem.empty() ? "" : "  (" + readable_message(info.problem) + ")");
      total += info.bytes;
      ++(info.packed ? packed : plans);
    }
    fmt::print("{} plans, {} files of packed weights, {} bytes in {}\n", plans, packed, total,
               cache.directory().string());
  }
  /// Exit 1 where something could not be removed.
  void report(const runtime::PlanCache& cache, const runtime::CacheRemoval& removal) const {
    fmt::print("{} bytes freed in {}\n", removal.bytes, cache.directory().string());
    if (removal.left.empty()) return;
    fail(ErrorCode::io, "cannot remove {}{}: {}", readable(removal.left[0].string()),
         removal.left.size() == 1 ? "" : fmt::format(" and {} more", removal.left.size() - 1), removal.reason);
  }
  void gc() const {
    runtime::PlanCache cache = open();
    runtime::CacheRemoval removal = cache.collect_unusable();
    report(cache, removal += cache.collect(bytes, packed_bytes));
  }
  void check() const {
    const std::vector<runtime::CacheEntryInfo> damaged = open().remove_damaged();
    for (const runtime::CacheEntryInfo& info : damaged) {
      std::error_code error;
      const bool left = std::filesystem::exists(std::filesystem::symlink_status(info.file, error));
      fmt::print("{} {}: {}\n", left ? "cannot remove" : "removed", readable(info.file.filename().string()),
                 readable_message(info.problem));
    }
    fmt::print("{} damaged entries in {}\n", damaged.size(), open().directory().string());
    if (!damaged.empty()) outcome->exit_code = 1;
  }
  void clear() const {
    runtime::PlanCache cache = open();
    report(cache, cache.clear());
  }
};

}  // namespace

void add_cache(CLI::App& app, Outcome& outcome) {
  CLI::App* command = app.add_subcommand("cache", "look after the cached plans and packed weights");
  auto state = std::make_shared<Cache>();
  state->outcome = &outcome;
  command->require_subcommand(1);
  auto add = [&](const char* name, const char* what, void (Cache::*f)() const) {
    CLI::App* sub = command->add_subcommand(name, what);
    sub->add_option("--cache-dir", state->directory,
                    "the directory (default: $WEFT_CACHE_DIR, $XDG_CACHE_HOME/weft or ~/.cache/weft)")
        ->check(not_empty());
    sub->callback([state, f] { ((*state).*f)(); });
    return sub;
  };
  add("ls", "list entries, most recently used first", &Cache::ls);
  CLI::App* gc =
      add("gc", "remove entries that cannot be used here, left-over files, and the oldest entries beyond a size",
          &Cache::gc);
  gc->add_option("--bytes", state->bytes, "size of plans to keep")->transform(whole_number())->capture_default_str();
  gc->add_option("--packed-bytes", state->packed_bytes, "size of packed weights to keep")
      ->transform(whole_number())
      ->capture_default_str();
  add("check", "read every entry whole and remove those that are damaged; exit 1 where there were any", &Cache::check);
  add("clear", "remove all entries", &Cache::clear);
}

}  // namespace weft::tools
