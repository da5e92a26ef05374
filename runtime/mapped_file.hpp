#pragma once
// A file seen as memory, and memory traced back to its file.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::runtime {

class MappedFile {
 public:
  /// Maps a regular file for reading. Throws Error(not_found or io); never blocks on a FIFO.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& file);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::string_view bytes() const { return {data_, size_}; }

 private:
  MappedFile(const char* data, size_t size) : data_(data), size_(size) {}
  const char* data_;
  size_t size_;
};

/// Where mapped files lie in this process, read once from the system's table.
class MappedRanges {
 public:
  MappedRanges();
  struct Place {
    std::string file;
    uint64_t offset = 0;
  };
  /// The file and offset that `size` bytes at `data` are mapped from; nothing where they are ordinary memory.
  std::optional<Place> locate(const void* data, size_t size) const;

 private:
  struct Range {
    uintptr_t begin, end;
    uint64_t offset;
    std::string file;
  };
  std::vector<Range> ranges_;  // ascending
};

}  // namespace weft::runtime
