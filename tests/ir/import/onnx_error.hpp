#pragma once
// What a malformed model makes the importer say.
#include <functional>
#include <string>

#include "ir/support/error.hpp"
#include "tests/catch.hpp"

namespace weft::test {

/// The full message of the Error that `body` throws; fails where it throws none.
inline std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    CHECK(e.code() != ErrorCode::internal);
    return e.what();
  }
  FAIL("no Error was thrown");
  return {};
}

}  // namespace weft::test
