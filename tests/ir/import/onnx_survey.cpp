// Runs the ONNX backend tests and prints what passes: `onnx_survey [DATA] [--filter TEXT] [--table FILE]`.
#include <fmt/format.h>

#include <chrono>
#include <map>

#include "tests/ir/import/onnx_case.hpp"

int main(int argc, char** argv) {
  std::filesystem::path data;
  std::string filter;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg == "--filter" && i + 1 < argc) filter = argv[++i];
    else data = arg;
  }
  if (data.empty()) data = weft::test::onnx_test_data();
  if (data.empty()) {
    fmt::print(stderr, "no ONNX test data found\n");
    return 2;
  }
  std::map<weft::test::Verdict, int> counts;
  static constexpr const char* kWords[] = {"PASS", "UNSUPPORTED", "FAIL"};
  for (const auto& test : weft::test::find_onnx_cases(data)) {
    if (test.name.find(filter) == std::string::npos) continue;
    auto start = std::chrono::steady_clock::now();
    weft::test::Outcome outcome = weft::test::run_onnx_case(test);
    double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    ++counts[outcome.verdict];
    fmt::print("{}\t{}\t{:.0f}\t{}\n", kWords[static_cast<int>(outcome.verdict)], test.name, ms, outcome.why);
  }
  fmt::print("# {} passed, {} unsupported, {} failed\n", counts[weft::test::Verdict::passed],
             counts[weft::test::Verdict::unsupported], counts[weft::test::Verdict::failed]);
}
