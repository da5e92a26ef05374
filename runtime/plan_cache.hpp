#pragma once
// Plans by structure: memory first, then disk. A wrong, damaged, foreign or stale entry is a miss, never a wrong
// answer.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/merkle.hpp"
#include "ir/plan.hpp"
#include "passes/options.hpp"

namespace weft::runtime {

struct CacheOptions {
  bool memory = true, disk = true;
  bool refresh = false;                     ///< never found, but stored
  std::filesystem::path directory;          ///< empty = default_cache_directory()
  int64_t disk_bytes = int64_t{512} << 20;  ///< of plans; the least recently used entries go beyond this
  int64_t packed_bytes = int64_t{2} << 30;  ///< of packed weights, likewise; 0 = none are stored
};
/// $WEFT_CACHE_DIR, else $XDG_CACHE_HOME/weft, else ~/.cache/weft; empty where none is set.
std::filesystem::path default_cache_directory();

enum class CacheOutcome : uint8_t { off, miss, memory, disk };
std::string_view to_string(CacheOutcome outcome);

/// What a plan is looked up by: everything that can change it. `text` is compared in full on a hit.
struct PlanKey {
  Hash128 hash;
  std::string text;
};
/// Key of a static graph: structure, options, rules, backends with versions, CPU, threads, format version. Names of
/// nodes and tensors and values of parameters are not in it.
PlanKey plan_key(const ir::Graph& graph, std::span<const ir::Target* const> targets, const passes::Options& options);

/// The plan with inputs and parameters in the order of the key (those that nothing reads are dropped): what is stored.
ir::Plan canonical_plan(const ir::Plan& plan, const ir::Graph& graph);
/// The reverse for another graph of equal key: inputs, outputs and parameters take its order and names.
ir::Plan plan_for_graph(const ir::Plan& canonical, const ir::Graph& graph);

struct CacheEntryInfo {
  std::filesystem::path file;
  int64_t bytes = 0;
  double age_seconds = 0;  ///< since it was last used
  std::string graph_name;  ///< empty where the entry cannot be read
  std::string problem;     ///< why it cannot be used here; empty where it can
  bool packed = false;     ///< packed weights (packed_store.hpp); else a plan
  bool damaged = false;    ///< the problem is in the file, wherever it is used
};

/// What was removed from a cache, and what could not be.
struct CacheRemoval {
  int64_t bytes = 0;                        ///< freed
  std::vector<std::filesystem::path> left;  ///< not removed
  std::string reason;                       ///< why the first of them was not
  void remove(const std::filesystem::path& file, int64_t bytes_of_file);
  CacheRemoval& operator+=(CacheRemoval other);
};

/// One directory of plans, shared by all threads and processes; and the memory in front of it, shared by this process.
class PlanCache {
 public:
  explicit PlanCache(CacheOptions options);
  struct Found {
    std::shared_ptr<const ir::Plan> plan;  ///< canonical; null on a miss
    CacheOutcome outcome = CacheOutcome::miss;
  };
  Found find(const PlanKey& key) const;
  /// Never throws for the disk's sake: a full or read-only disk is a warning.
  void store(const PlanKey& key, std::shared_ptr<const ir::Plan> canonical) const;

  const std::filesystem::path& directory() const { return directory_; }
  /// Most recently used first. `contents`: packed weights are read whole too, and compared with their checksums.
  std::vector<CacheEntryInfo> list(bool contents = false) const;
  /// Removes left-over temporary files, then the least recently used plans and packed weights down to so many bytes.
  CacheRemoval collect(int64_t plan_bytes, int64_t packed_bytes) const;
  /// Removes entries that this program cannot use here (damaged, of another version, machine or library).
  CacheRemoval collect_unusable() const;
  /// Reads every entry whole and removes those that are damaged; returns them.
  std::vector<CacheEntryInfo> remove_damaged() const;
  /// Removes every entry and temporary file, and nothing else.
  CacheRemoval clear() const;

 private:
  CacheOptions options_;
  std::filesystem::path directory_;
};

/// Empties the memory in front of the disk (tests).
void clear_memory_cache();
/// Test hook: every key gets the same hash, so that only the comparison of the full key tells plans apart.
void force_constant_key_hash(bool on);

}  // namespace weft::runtime
