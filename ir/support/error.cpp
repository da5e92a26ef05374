#include "ir/support/error.hpp"

#include "ir/support/readable.hpp"

namespace weft {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid argument";
    case ErrorCode::parse:
      return "parse error";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::not_found:
      return "not found";
    case ErrorCode::type_mismatch:
      return "type mismatch";
    case ErrorCode::out_of_range:
      return "out of range";
    case ErrorCode::limit:
      return "limit reached";
    case ErrorCode::io:
      return "input/output error";
    case ErrorCode::internal:
      return "internal error";
  }
  return "error";
}

Error::Error(ErrorCode code, std::string message, std::string where)
    : code_(code), message_(readable_message(message)), where_(readable_message(where)) {
  what_ = where_.empty() ? fmt::format("{}: {}", to_string(code_), message_)
                         : fmt::format("{}: {}: {}", where_, to_string(code_), message_);
}

Error Error::within(std::string_view place) const {
  return Error(code_, message_, where_.empty() ? std::string(place) : fmt::format("{}: {}", place, where_));
}

void check_failed(const char* condition, const char* file, int line, const std::string& message) {
  throw Error(ErrorCode::internal,
              message.empty() ? fmt::format("check failed: {}", condition)
                              : fmt::format("check failed: {}: {}", condition, message),
              fmt::format("{}:{}", file, line));
}

}  // namespace weft
