#include "runtime/plan_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <list>
#include <mutex>
#include <set>
#include <unordered_map>

#include "backends/registry.hpp"
#include "ir/support/error.hpp"
#include "ir/support/log.hpp"
#include "runtime/byte_stream.hpp"
#include "runtime/container.hpp"
#include "runtime/packed_store.hpp"
#include "runtime/plan_codec.hpp"
#include "runtime/version.hpp"

namespace weft::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "WEFTCACH";
constexpr std::string_view kExtension = ".plan";
constexpr int64_t kMostEntryBytes = int64_t{256} << 20;
constexpr size_t kMemoryEntries = 128;
constexpr size_t kMemoryBytes = size_t{64} << 20;

/// Plans of this process by key, the least recently used ones dropped.
class MemoryCache {
 public:
  std::shared_ptr<const ir::Plan> find(const PlanKey& key) {
    std::lock_guard lock(mutex_);
    auto found = index_.find(key.hash);
    if (found == index_.end() || found->second->text != key.text) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->plan;
  }
  void store(const PlanKey& key, std::shared_ptr<const ir::Plan> plan) {
    std::lock_guard lock(mutex_);
    if (auto found = index_.find(key.hash); found != index_.end()) remove(found->second);
    size_t bytes = key.text.size() + footprint(*plan);
    entries_.push_front({key.hash, key.text, std::move(plan), bytes});
    index_[key.hash] = entries_.begin();
    bytes_ += bytes;
    while (entries_.size() > 1 && (entries_.size() > kMemoryEntries || bytes_ > kMemoryBytes))
      remove(std::prev(entries_.end()));
  }
  void clear() {
    std::lock_guard lock(mutex_);
    entries_.clear();
    index_.clear();
    bytes_ = 0;
  }

 private:
  struct Entry {
    Hash128 hash;
    std::string text;
    std::shared_ptr<const ir::Plan> plan;
    size_t bytes;
  };
  static size_t footprint(const ir::Plan& plan) {
    size_t bytes = sizeof plan + plan.buffers.size() * sizeof(ir::Buffer);
    for (const auto* steps : {&plan.prologue, &plan.steps})
      for (const ir::Step& step : *steps) bytes += sizeof step + step.source.size() + 4 * step.program->text().size();
    for (const ir::Tensor& c : plan.constants) bytes += sizeof c + c.bytes();
    return bytes;
  }
  void remove(std::list<Entry>::iterator entry) {
    bytes_ -= entry->bytes;
    index_.erase(entry->hash);
    entries_.erase(entry);
  }

  std::mutex mutex_;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<Hash128, std::list<Entry>::iterator> index_;
  size_t bytes_ = 0;
};
MemoryCache& memory_cache() {
  static auto& cache = *new MemoryCache;
  return cache;
}

/// The disk's troubles are reported once a message: a read-only directory must not fill the log.
void warn_once(const std::string& line) {
  static std::mutex mutex;
  static auto& said = *new std::set<std::string>;
  {
    std::lock_guard lock(mutex);
    if (said.size() > 1000 || !said.insert(line).second) return;
  }
  log_line(LogLevel::warning, line);
}

std::string encode_entry(const PlanKey& key, const ir::Plan& plan) {
  ByteWriter w;
  w.text(key.text).text(encode_plan(plan));
  return w.take();
}

struct Entry {
  std::string key_text;
  std::string_view plan;
};
/// `bytes` must outlive the result.
Entry open_entry(std::string_view bytes) {
  ByteReader r(container_body(bytes, kMagic, kPlanFormat));
  Entry entry;
  entry.key_text = r.text("key");
  entry.plan = r.text("plan");
  r.expect_end();
  return entry;
}

/// Why an entry of this key cannot be used by this program here; empty where it can.
std::string foreign(std::string_view key_text) {
  if (!key_text.starts_with(fmt::format("weft {} ", version()))) return "made by another version of weft";
  for (std::string_view rest = key_text; !rest.empty();) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (!line.starts_with("backend ")) continue;
    bool known = false;
    for (const backends::Backend* b : backends::registry())
      known = known || line == fmt::format("backend {}: {}; cpu {}", b->name(), b->version(), b->machine().cpu);
    if (!known) return "made for another machine or library: " + std::string(line);
  }
  return {};
}

bool is_packed_name(std::string_view name) {
  return name.size() == 32 + kPackedExtension.size() && name.ends_with(kPackedExtension);
}
bool is_entry_name(std::string_view name) {
  return (name.size() == 32 + kExtension.size() && name.ends_with(kExtension)) || is_packed_name(name);
}

}  // namespace

std::string_view to_string(CacheOutcome outcome) {
  switch (outcome) {
    case CacheOutcome::off:
      return "off";
    case CacheOutcome::miss:
      return "miss";
    case CacheOutcome::memory:
      return "memory hit";
    case CacheOutcome::disk:
      return "disk hit";
  }
  return "?";
}

void clear_memory_cache() { memory_cache().clear(); }

fs::path default_cache_directory() {
  auto variable = [](const char* name) -> fs::path {
    const char* value = std::getenv(name);
    return value ? value : "";
  };
  if (fs::path dir = variable("WEFT_CACHE_DIR"); !dir.empty()) return dir;
  if (fs::path dir = variable("XDG_CACHE_HOME"); dir.is_absolute())
    return dir / "weft";  // the XDG standard ignores relative ones
  if (fs::path home = variable("HOME"); !home.empty()) return home / ".cache" / "weft";
  return {};
}

PlanCache::PlanCache(CacheOptions options) : options_(std::move(options)), directory_(options_.directory) {
  if (directory_.empty()) directory_ = default_cache_directory();
  if (directory_.empty()) options_.disk = false;
}

PlanCache::Found PlanCache::find(const PlanKey& key) const {
  if (!options_.memory && !options_.disk) return {nullptr, CacheOutcome::off};
  if (options_.memory)
    if (auto plan = memory_cache().find(key)) return {plan, CacheOutcome::memory};
  if (!options_.disk) return {};
  fs::path file = directory_ / (key.hash.hex() + std::string(kExtension));
  std::error_code none;
  if (!fs::is_directory(directory_, none)) return {};  // storing says why it is of no use
  try {
    std::string bytes = read_file(file, kMostEntryBytes);
    Entry entry = open_entry(bytes);
    if (entry.key_text != key.text) {
      log(LogLevel::info, "plan cache: {} is of another program with the same hash: recompiling", file.string());
      return {};
    }
    auto plan = std::make_shared<const ir::Plan>(decode_plan(entry.plan));
    ::utimensat(AT_FDCWD, file.c_str(), nullptr, 0);  // its age tells which entries go first
    if (options_.memory) memory_cache().store(key, plan);
    return {plan, CacheOutcome::disk};
  } catch (const Error& e) {
    if (e.code() != ErrorCode::not_found)
      log(LogLevel::warning, "plan cache: {} cannot be used, recompiling: {}", file.string(), e.what());
    return {};
  }
}

void PlanCache::store(const PlanKey& key, std::shared_ptr<const ir::Plan> canonical) const {
  if (options_.memory) memory_cache().store(key, canonical);
  if (!options_.disk) return;
  fs::path file = directory_ / (key.hash.hex() + std::string(kExtension));
  try {
    fs::create_directories(directory_);
    clear_place(file);
    std::string body = encode_entry(key, *canonical);
    write_file_atomically(file, container_header(kMagic, kPlanFormat, body), body);
    collect(options_.disk_bytes, options_.packed_bytes);
  } catch (const std::exception& e) {
    warn_once(fmt::format("plan cache: not stored: {}", e.what()));
  }
}

namespace {
struct Seen {
  fs::path file;
  int64_t bytes = 0;
  fs::file_time_type used;
};
/// Entries of the directory, most recently used first; stale temporary files are removed on the way where `clean` is
/// given.
std::vector<Seen> scan(const fs::path& directory, CacheRemoval* clean = nullptr) {
  std::vector<Seen> seen;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    std::error_code gone;
    auto bytes = static_cast<int64_t>(it->file_size(gone));
    if (gone) bytes = 0;
    if (clean && is_temporary_name(name) && is_stale_temporary(it->path())) {
      clean->remove(it->path(), bytes);
    } else if (is_entry_name(name)) {
      seen.push_back({it->path(), bytes, it->last_write_time(gone)});
    }
  }
  std::sort(seen.begin(), seen.end(),
            [](const Seen& a, const Seen& b) { return std::tie(b.used, a.file) < std::tie(a.used, b.file); });
  return seen;
}
}  // namespace

std::vector<CacheEntryInfo> PlanCache::list(bool contents) const {
  std::vector<CacheEntryInfo> list;
  for (const Seen& seen : scan(directory_)) {
    CacheEntryInfo info;
    info.file = seen.file;
    info.bytes = seen.bytes;
    info.packed = is_packed_name(seen.file.filename().string());
    info.age_seconds = std::chrono::duration<double>(fs::file_time_type::clock::now() - seen.used).count();
    try {
      if (info.packed) {
        info.graph_name = "packed weights";
        const auto file = PackedFile::open(seen.file);
        if (contents) file->check();
        info.problem = foreign(file->made_by());
        list.push_back(std::move(info));
        continue;
      }
      std::string bytes = read_file(seen.file, kMostEntryBytes);
      Entry entry = open_entry(bytes);
      info.graph_name = decode_plan(entry.plan).graph_name;
      info.problem = foreign(entry.key_text);
    } catch (const Error& e) {
      info.problem = e.what();
      info.damaged = e.code() != ErrorCode::unsupported;  // another version's format
    }
    list.push_back(std::move(info));
  }
  return list;
}

void CacheRemoval::remove(const fs::path& file, int64_t bytes_of_file) {
  std::error_code error;
  fs::remove_all(file, error);
  if (!error) {
    bytes += bytes_of_file;
    return;
  }
  if (left.empty()) reason = error.message();
  left.push_back(file);
}

CacheRemoval& CacheRemoval::operator+=(CacheRemoval other) {
  bytes += other.bytes;
  if (left.empty()) reason = std::move(other.reason);
  left.insert(left.end(), other.left.begin(), other.left.end());
  return *this;
}

CacheRemoval PlanCache::collect(int64_t plan_bytes, int64_t packed_bytes) const {
  CacheRemoval removal;
  int64_t kept[] = {0, 0};
  for (const Seen& seen : scan(directory_, &removal)) {
    const bool packed = is_packed_name(seen.file.filename().string());
    if (kept[packed] + seen.bytes <= (packed ? packed_bytes : plan_bytes))
      kept[packed] += seen.bytes;
    else
      removal.remove(seen.file, seen.bytes);
  }
  return removal;
}

CacheRemoval PlanCache::collect_unusable() const {
  CacheRemoval removal;
  for (const CacheEntryInfo& info : list())
    if (!info.problem.empty()) removal.remove(info.file, info.bytes);
  return removal;
}

std::vector<CacheEntryInfo> PlanCache::remove_damaged() const {
  std::vector<CacheEntryInfo> damaged = list(true);
  std::erase_if(damaged, [](const CacheEntryInfo& info) { return !info.damaged; });
  std::error_code error;
  for (const CacheEntryInfo& info : damaged) fs::remove_all(info.file, error);
  return damaged;
}

CacheRemoval PlanCache::clear() const {
  memory_cache().clear();
  CacheRemoval removal;
  std::error_code error;
  for (fs::directory_iterator it(directory_, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    if (!is_entry_name(name) && !is_temporary_name(name)) continue;  // never anything that is not ours
    std::error_code gone;
    const auto bytes = static_cast<int64_t>(it->file_size(gone));
    removal.remove(it->path(), gone ? 0 : bytes);
  }
  return removal;
}

}  // namespace weft::runtime
