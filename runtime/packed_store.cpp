#include "runtime/packed_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <vector>

#include "backends/registry.hpp"
#include "ir/support/error.hpp"
#include "ir/support/log.hpp"
#include "runtime/byte_stream.hpp"
#include "runtime/container.hpp"
#include "runtime/version.hpp"

namespace weft::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "WEFTPACK";
constexpr uint32_t kFormat = 2;
constexpr size_t kAlign = 64;

size_t aligned(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

Hash128 sum_of(std::span<const char> bytes) { return hash_bytes(bytes.data(), bytes.size()); }

/// Which images follow, how long they are and their checksums; they lie at multiples of kAlign behind it.
std::string table_of(std::span<const PackedImage> images) {
  ByteWriter w;
  w.text(packed_made_by()).number<uint64_t>(images.size());
  for (const PackedImage& image : images) {
    w.number<uint64_t>(image.bytes.size());
    for (const Hash128& h : {image.key, sum_of(image.bytes)}) w.number(h.low).number(h.high);
  }
  return w.take();
}

}  // namespace

std::string packed_made_by() {
  std::string text = fmt::format("weft {} packed\n", version());
  for (const backends::Backend* b : backends::registry())
    text += fmt::format("backend {}: {}; cpu {}\n", b->name(), b->version(), b->machine().cpu);
  return text;
}

std::shared_ptr<const PackedFile> PackedFile::open(const fs::path& file) {
  auto result = std::make_shared<PackedFile>();
  result->mapped_ = MappedFile::open(file);
  const std::string_view bytes = result->mapped_->bytes();
  const std::string_view table = container_body(bytes, kMagic, kFormat, true);
  ByteReader r(table);
  result->made_by_ = r.text("maker");
  size_t at = aligned(kContainerHeader + table.size());
  for (size_t n = r.count(40, "images"); n > 0; --n) {
    const auto size = r.number<uint64_t>("size");
    Hash128 key, sum;
    for (Hash128* h : {&key, &sum}) {
      h->low = r.number<uint64_t>("hash");
      h->high = r.number<uint64_t>("hash");
    }
    if (at > bytes.size() || size > bytes.size() - at) fail(ErrorCode::parse, "cut short at image {}", key.hex());
    result->images_.emplace(key, Image{{bytes.data() + at, size}, sum});
    at = aligned(at + size);
  }
  r.expect_end();
  if (at != bytes.size()) fail(ErrorCode::parse, "{} bytes where {} were written", bytes.size(), at);
  return result;
}

std::span<const char> PackedFile::find(const Hash128& key) const {
  const auto found = images_.find(key);
  return found == images_.end() ? std::span<const char>() : found->second.bytes;
}

void PackedFile::check() const {
  for (const auto& [key, image] : images_)
    if (sum_of(image.bytes) != image.sum)
      fail(ErrorCode::parse, "damaged: the checksum of image {} does not match", key.hex());
}

std::vector<Hash128> PackedFile::keys() const {
  std::vector<Hash128> keys;
  for (const auto& [key, image] : images_) keys.push_back(key);
  return keys;
}

PackedStore::PackedStore(const CacheOptions& options)
    : options_(options), enabled_(options.disk && options.packed_bytes > 0) {
  options_.directory = PlanCache(options).directory();
  enabled_ = enabled_ && !options_.directory.empty();
}

fs::path PackedStore::file(const Hash128& key) const {
  return options_.directory / (key.hex() + std::string(kPackedExtension));
}

std::shared_ptr<const PackedFile> PackedStore::find(const Hash128& key) const {
  if (!enabled_ || options_.refresh) return nullptr;
  try {
    auto found = PackedFile::open(file(key));
    if (found->bytes() <= kCheckedWhenFound) found->check();
    ::utimensat(AT_FDCWD, file(key).c_str(), nullptr, 0);  // its age tells which entries go first
    return found;
  } catch (const Error& e) {
    std::error_code none;
    if (e.code() != ErrorCode::not_found && fs::is_directory(options_.directory, none))
      log(LogLevel::warning, "packed weights: {} cannot be used, packing again: {}", file(key).string(), e.what());
    return nullptr;
  }
}

void PackedStore::store(const Hash128& key, std::span<const PackedImage> images) const {
  if (!enabled_) return;
  static constexpr char kZeros[kAlign] = {};
  const std::string table = table_of(images), header = container_header(kMagic, kFormat, table);
  std::vector<std::string_view> pieces = {header, table};
  size_t total = header.size() + table.size();
  const auto pad = [&] {
    pieces.emplace_back(kZeros, aligned(total) - total);
    total = aligned(total);
  };
  pad();
  for (const PackedImage& image : images) {
    pieces.emplace_back(image.bytes.data(), image.bytes.size());
    total += image.bytes.size();
    pad();
  }
  if (total > static_cast<size_t>(options_.packed_bytes)) return;
  try {
    fs::create_directories(options_.directory);
    clear_place(file(key));
    write_file_atomically(file(key), pieces);
    PlanCache(options_).collect(options_.disk_bytes, options_.packed_bytes);
  } catch (const std::exception& e) {
    log(LogLevel::warning, "packed weights: not stored: {}", e.what());
  }
}

}  // namespace weft::runtime
