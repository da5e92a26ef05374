#include "runtime/container.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <random>

#include "ir/support/error.hpp"
#include "ir/support/hash.hpp"
#include "runtime/byte_stream.hpp"

namespace weft::runtime {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kTemporary = ".tmp-";

[[noreturn]] void fail_io(const char* what, const fs::path& file, int error) {
  throw Error(error == ENOENT || error == ENOTDIR ? ErrorCode::not_found : ErrorCode::io,
              fmt::format("cannot {}: {}", what, std::strerror(error)), file.string());
}

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

void write_all(int fd, std::string_view bytes, const fs::path& file) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), std::min<size_t>(bytes.size(), 1 << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail_io("write", file, n == 0 ? ENOSPC : errno);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

fs::path temporary_beside(const fs::path& file) {
  static std::atomic<unsigned> counter = std::random_device{}();
  return file.parent_path() / fmt::format("{}{}-{:08x}", kTemporary, ::getpid(), counter++);
}

}  // namespace

std::string container_header(std::string_view magic, uint32_t version, std::string_view body) {
  WEFT_CHECK(magic.size() == 8);
  Hash128 sum = hash_bytes(body.data(), body.size());
  ByteWriter w;
  w.raw(magic)
      .number<uint32_t>(version)
      .number<uint32_t>(0)
      .number<uint64_t>(body.size())
      .number(sum.low)
      .number(sum.high);
  return w.take();
}

std::string_view container_body(std::string_view bytes, std::string_view magic, uint32_t version, bool trailing) {
  if (bytes.substr(0, 8) != magic.substr(0, bytes.size()) || bytes.empty())
    fail(ErrorCode::parse, "not a {} file", magic);
  if (bytes.size() < kContainerHeader)
    fail(ErrorCode::parse, "cut short: {} of {} header bytes", bytes.size(), kContainerHeader);
  ByteReader r(bytes);
  r.raw(8, "magic");
  auto found = r.number<uint32_t>("version");
  if (found != version) fail(ErrorCode::unsupported, "format version {}, this program reads {}", found, version);
  if (r.number<uint32_t>("zero") != 0) fail(ErrorCode::parse, "damaged header");
  auto size = r.number<uint64_t>("size");
  Hash128 sum;
  sum.low = r.number<uint64_t>("checksum");
  sum.high = r.number<uint64_t>("checksum");
  size_t there = bytes.size() - kContainerHeader;
  if (size > there) fail(ErrorCode::parse, "cut short: {} of {} bytes", there, size);
  if (size < there && !trailing) fail(ErrorCode::parse, "{} bytes where {} were written", there, size);
  std::string_view body = bytes.substr(kContainerHeader, size);
  if (hash_bytes(body.data(), body.size()) != sum) fail(ErrorCode::parse, "damaged: the checksum does not match");
  return body;
}

std::string read_file(const fs::path& file, int64_t most_bytes) {
  File in(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (in.fd() < 0) fail_io("open", file, errno);
  struct stat info;
  if (::fstat(in.fd(), &info) != 0) fail_io("examine", file, errno);
  if (!S_ISREG(info.st_mode))
    throw Error(ErrorCode::io, S_ISDIR(info.st_mode) ? "is a directory" : "is no regular file", file.string());
  if (info.st_size > most_bytes)
    throw Error(ErrorCode::limit, fmt::format("{} bytes, more than {}", info.st_size, most_bytes), file.string());
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  size_t at = 0;
  while (at < bytes.size()) {
    ssize_t n = ::read(in.fd(), bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_io("read", file, errno);
    if (n == 0) break;  // it shrank meanwhile
    at += static_cast<size_t>(n);
  }
  bytes.resize(at);
  return bytes;
}

namespace {

/// Whether there is something that a rename must not replace by a file. Throws Error(io) where it is a folder.
bool is_special(const fs::path& file) {
  std::error_code none;
  const fs::file_status status = fs::status(file, none);
  if (fs::is_directory(status)) fail_io("write", file, EISDIR);
  return fs::exists(status) && !fs::is_regular_file(status);
}

/// The file that a name stands for, through symbolic links.
fs::path behind_links(const fs::path& file) {
  std::error_code error;
  if (!fs::is_symlink(file, error)) return file;
  fs::path target = fs::weakly_canonical(file, error);
  return error ? file : target;
}

}  // namespace

void check_writable(const fs::path& file) {
  if (is_special(file)) {
    if (::access(file.c_str(), W_OK) != 0) fail_io("write", file, errno);
    return;
  }
  fs::path temporary = temporary_beside(behind_links(file));
  File out(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (out.fd() < 0) fail_io("write", file, errno);
  ::unlink(temporary.c_str());
}

void write_file_atomically(const fs::path& file, std::string_view head, std::string_view tail) {
  const std::string_view pieces[] = {head, tail};
  write_file_atomically(file, pieces);
}

void write_file_atomically(const fs::path& file, std::span<const std::string_view> pieces) {
  if (is_special(file)) {
    File out(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    if (out.fd() < 0) fail_io("write", file, errno);
    for (std::string_view piece : pieces) write_all(out.fd(), piece, file);
    return;
  }
  const fs::path target = behind_links(file), temporary = temporary_beside(target);
  File out(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (out.fd() < 0) fail_io("write", file, errno);
  try {
    for (std::string_view piece : pieces) write_all(out.fd(), piece, file);
    if (::fsync(out.fd()) != 0) fail_io("sync", file, errno);
    if (::rename(temporary.c_str(), target.c_str()) != 0) fail_io("rename a temporary file to", file, errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  File folder(
      ::open(target.has_parent_path() ? target.parent_path().c_str() : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.fd() >= 0) ::fsync(folder.fd());
}

void clear_place(const fs::path& file) {
  const fs::file_status status = fs::symlink_status(file);
  if (fs::is_directory(status) || fs::is_symlink(status)) fs::remove_all(file);
}

bool is_temporary_name(std::string_view name) { return name.starts_with(kTemporary); }

bool is_stale_temporary(const fs::path& file) {
  std::string name = file.filename().string();
  if (!is_temporary_name(name)) return false;
  long pid = std::atol(name.c_str() + kTemporary.size());
  if (pid > 0 && ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) return true;
  std::error_code error;
  auto written = fs::last_write_time(file, error);
  return !error && fs::file_time_type::clock::now() - written > std::chrono::minutes(10);
}

}  // namespace weft::runtime
