#include "runtime/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "ir/support/error.hpp"

namespace weft::runtime {

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& file) {
  int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) throw Error(errno == ENOENT ? ErrorCode::not_found : ErrorCode::io, std::strerror(errno), file.string());
  struct stat info;
  const void* data = nullptr;
  std::string problem;
  if (::fstat(fd, &info) != 0)
    problem = std::strerror(errno);
  else if (!S_ISREG(info.st_mode))
    problem = S_ISDIR(info.st_mode) ? "is a directory" : "is no regular file";
  else if (info.st_size > 0 &&
           (data = ::mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0)) == MAP_FAILED)
    problem = std::strerror(errno);
  ::close(fd);
  if (!problem.empty()) throw Error(ErrorCode::io, problem, file.string());
  return std::shared_ptr<const MappedFile>(
      new MappedFile(static_cast<const char*>(data), static_cast<size_t>(info.st_size)));
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<char*>(data_), size_);
}

MappedRanges::MappedRanges() {
  std::ifstream in("/proc/self/maps");
  for (std::string line; std::getline(in, line);) {
    uintptr_t begin = 0, end = 0;
    uint64_t offset = 0;
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %*4s %" SCNx64 " %*s %*s %n", &begin, &end, &offset,
                    &path_at) < 3)
      continue;
    if (path_at <= 0 || static_cast<size_t>(path_at) >= line.size() || line[static_cast<size_t>(path_at)] != '/')
      continue;
    ranges_.push_back({begin, end, offset, line.substr(static_cast<size_t>(path_at))});
  }
}

std::optional<MappedRanges::Place> MappedRanges::locate(const void* data, size_t size) const {
  auto at = reinterpret_cast<uintptr_t>(data);
  auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), at, [](uintptr_t a, const Range& r) { return a < r.begin; });
  if (after == ranges_.begin()) return std::nullopt;
  const Range& range = *std::prev(after);
  if (at + size > range.end || range.file.ends_with(" (deleted)")) return std::nullopt;
  return Place{range.file, range.offset + (at - range.begin)};
}

}  // namespace weft::runtime
