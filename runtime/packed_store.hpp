#pragma once
// Packed weights on disk, beside the plans: one file a bound plan, found by the contents of the weights and by what
// packed them, mapped when it is used.
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/support/hash.hpp"
#include "runtime/mapped_file.hpp"
#include "runtime/plan_cache.hpp"

namespace weft::runtime {

inline constexpr std::string_view kPackedExtension = ".packed";

/// A mapped file of images (PackedParameters::image) by key.
class PackedFile {
 public:
  /// Throws Error where it is no whole file of this format.
  static std::shared_ptr<const PackedFile> open(const std::filesystem::path& file);
  /// Empty where there is none. Lives as long as this.
  std::span<const char> find(const Hash128& key) const;
  /// Reads every image; throws Error(parse) naming one whose bytes are not those that were written.
  void check() const;
  const std::string& made_by() const { return made_by_; }
  size_t bytes() const { return mapped_->bytes().size(); }
  std::vector<Hash128> keys() const;

 private:
  struct Image {
    std::span<const char> bytes;
    Hash128 sum;
  };
  std::shared_ptr<const MappedFile> mapped_;
  std::map<Hash128, Image> images_;
  std::string made_by_;
};

struct PackedImage {
  Hash128 key;
  std::span<const char> bytes;
};

/// Files up to this size are checked whenever they are found (3 ms); larger ones by `weft cache check` alone.
inline constexpr size_t kCheckedWhenFound = size_t{32} << 20;

class PackedStore {
 public:
  explicit PackedStore(const CacheOptions& options);
  bool enabled() const { return enabled_; }
  /// Null on a miss; a damaged file is one, with a line in the log.
  std::shared_ptr<const PackedFile> find(const Hash128& key) const;
  /// Never throws for the disk's sake. More than the limit is not stored at all.
  void store(const Hash128& key, std::span<const PackedImage> images) const;

 private:
  std::filesystem::path file(const Hash128& key) const;
  CacheOptions options_;
  bool enabled_;
};

/// What can read packed weights of now: version of weft, backends, CPU, as in the text of a plan key.
std::string packed_made_by();

}  // namespace weft::runtime
