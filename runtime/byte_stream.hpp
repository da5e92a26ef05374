#pragma once
// Little-endian bytes, written one after another and read back with every bound checked.
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "ir/support/error.hpp"

namespace weft::runtime {

static_assert(std::endian::native == std::endian::little,
              "plan files are little-endian; a big-endian machine needs swaps here");

class ByteWriter {
 public:
  template <typename T>
  ByteWriter& number(T value) {
    static_assert(std::is_arithmetic_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  ByteWriter& text(std::string_view s) {
    number<uint64_t>(s.size());
    return raw(s);
  }
  ByteWriter& raw(std::string_view s) {
    bytes_.append(s);
    return *this;
  }
  std::string take() { return std::move(bytes_); }
  size_t size() const { return bytes_.size(); }

 private:
  std::string bytes_;
};

/// Reads what ByteWriter wrote. Throws Error(parse) with the offset where the bytes end too early. Counts are checked
/// against the bytes that are left, so no damaged number can make a reader allocate more than a multiple of the file.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  template <typename T>
  T number(const char* what) {
    static_assert(std::is_arithmetic_v<T>);
    T value;
    std::memcpy(&value, raw(sizeof value, what).data(), sizeof value);
    return value;
  }
  std::string_view raw(uint64_t size, const char* what) {
    if (size > bytes_.size() - at_)
      fail(ErrorCode::parse, "{} at byte {}: {} bytes wanted, {} left", what, at_, size, bytes_.size() - at_);
    std::string_view found = bytes_.substr(at_, size);
    at_ += size;
    return found;
  }
  std::string_view text(const char* what) { return raw(number<uint64_t>(what), what); }
  /// A count of items that take at least `least_bytes` each.
  size_t count(size_t least_bytes, const char* what) {
    uint64_t n = number<uint64_t>(what);
    if (n > (bytes_.size() - at_) / least_bytes)
      fail(ErrorCode::parse, "{} at byte {}: {} items do not fit in {} bytes", what, at_, n, bytes_.size() - at_);
    return n;
  }
  /// An enumerator below `end`.
  template <typename E>
  E enumerator(E end, const char* what) {
    auto value = number<uint8_t>(what);
    if (value >= static_cast<uint8_t>(end))
      fail(ErrorCode::parse, "{} at byte {}: {} is out of range", what, at_, value);
    return static_cast<E>(value);
  }
  void expect_end() const {
    if (at_ != bytes_.size()) fail(ErrorCode::parse, "{} bytes too many at byte {}", bytes_.size() - at_, at_);
  }
  size_t position() const { return at_; }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
};

}  // namespace weft::runtime
