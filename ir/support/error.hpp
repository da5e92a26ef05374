#pragma once
// The one exception of the public API, and the check for our own bugs.
#include <fmt/format.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace weft {

/// What kind of thing went wrong: who can mend it.
enum class ErrorCode {
  invalid_argument,  ///< a value, shape, dtype or option given by the caller
  parse,             ///< malformed text, file or model
  unsupported,       ///< well formed, but not implemented (op, opset, dtype)
  not_found,         ///< a file, tensor, op or rule that does not exist
  type_mismatch,     ///< dtype or shape of operands do not fit an op
  out_of_range,      ///< an index, id or size beyond its bound
  limit,             ///< a limit set by the user or by the format was reached
  io,                ///< the operating system refused a read or write
  internal           ///< a bug of weft
};

std::string_view to_string(ErrorCode code);

/// Thrown by every public C++ function of weft. `where` names the place (file:line, node, tensor, option), `message`
/// names the value found and what was expected.
class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message, std::string where = {});
  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }
  const std::string& where() const { return where_; }
  const char* what() const noexcept override { return what_.c_str(); }
  /// The same error, seen from further out: `place` is put in front of `where`.
  Error within(std::string_view place) const;

 private:
  ErrorCode code_;
  std::string message_, where_, what_;
};

/// Throws an Error with a formatted message.
template <typename... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

[[noreturn]] void check_failed(const char* condition, const char* file, int line, const std::string& message);

}  // namespace weft

namespace weft::detail {
inline std::string check_message() { return {}; }
template <typename... Args>
std::string check_message(fmt::format_string<Args...> format, Args&&... args) {
  return fmt::format(format, std::forward<Args>(args)...);
}
}  // namespace weft::detail

/// For our own bugs only, never for bad input: throws an internal Error that names the condition and its line.
#define WEFT_CHECK(condition, ...)                                                                      \
  do {                                                                                                  \
    if (!(condition)) [[unlikely]]                                                                      \
      ::weft::check_failed(#condition, __FILE__, __LINE__, ::weft::detail::check_message(__VA_ARGS__)); \
  } while (false)
