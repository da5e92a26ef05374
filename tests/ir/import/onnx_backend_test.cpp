// The ONNX backend tests through import and the reference interpreter, against a list of those that do not pass.
#include <fstream>
#include <map>

#include "tests/catch.hpp"
#include "tests/ir/import/onnx_case.hpp"

using namespace weft::test;

namespace {

/// "name<TAB>reason" lines; `#` starts a comment.
std::map<std::string, std::string> read_skips(const char* path) {
  std::map<std::string, std::string> skips;
  std::ifstream in(path);
  REQUIRE(in);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    size_t tab = line.find('\t');
    INFO("line '" << line << "' has no reason");
    REQUIRE(tab != std::string::npos);
    REQUIRE(line.size() > tab + 1);
    skips[line.substr(0, tab)] = line.substr(tab + 1);
  }
  return skips;
}

}  // namespace

TEST_CASE("onnx backend tests pass, and those on the skip list do not") {
  std::filesystem::path data = onnx_test_data();
  if (data.empty()) {
    WARN("no ONNX test data: set WEFT_ONNX_TESTS or install libonnx-testdata");
    return;
  }
  WARN("ONNX test data: " << data.string());
  auto skips = read_skips("tests/ir/import/onnx_skips.txt");
  bool old_data = !std::filesystem::exists(data / "light");  // Debian's package of ONNX 1.12
  if (old_data) skips.merge(read_skips("tests/ir/import/onnx_skips_1.12.txt"));
  auto cases = find_onnx_cases(data);
  CHECK(cases.size() > 1000);
  size_t passed = 0, skipped = 0;
  for (const OnnxCase& test : cases) {
    Outcome outcome = run_onnx_case(test);
    auto skip = skips.find(test.name);
    if (outcome.verdict == Verdict::passed) {
      ++passed;
      if (skip != skips.end()) FAIL_CHECK(test.name << " passes, but is on the skip list: " << skip->second);
    } else if (skip == skips.end()) {
      FAIL_CHECK(test.name << ": " << outcome.why);
    } else {
      ++skipped;
    }
  }
  WARN(passed << " passed, " << skipped << " skipped of " << cases.size());
}
