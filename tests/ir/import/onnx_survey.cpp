// Runs the ONNX backend tests and prints what passes: weft_onnx_survey [DATA] [--filter TEXT] [--table FILE].
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <fstream>
#include <map>
#include <set>

#include "ir/import/onnx.hpp"
#include "tests/ir/import/onnx_case.hpp"

namespace {

using namespace weft::test;

/// What the tests of one op say.
struct OpCoverage {
  int passed = 0, total = 0;
  int64_t first_opset = INT64_MAX, last_opset = 0;
  std::set<std::string> dtypes;  ///< of passing tests

  void add(const CaseFacts& facts, bool pass) {
    ++total;
    passed += pass;
    if (!pass) return;
    first_opset = std::min(first_opset, facts.opset);
    last_opset = std::max(last_opset, facts.opset);
    dtypes.insert(facts.dtypes.begin(), facts.dtypes.end());
  }
};

void write_table(const std::string& path, const std::map<std::string, OpCoverage>& ops,
                 const std::map<std::string, std::pair<int, int>>& groups) {
  std::ofstream out(path);
  out << "# ONNX ops: what the importer takes\n\nWritten by `weft_onnx_survey --table ir/import/onnx_coverage.md` from "
         "the ONNX backend tests.\n"
         "Opsets and element types are those of tests that pass; a test counts for every op in it.\n\n| tests | passed "
         "| of |\n|---|---|---|\n";
  for (const auto& [group, counts] : groups)
    out << fmt::format("| {} | {} | {} |\n", group, counts.first, counts.second);
  out << "\n| op | passed | of | opsets | element types of inputs |\n|---|---|---|---|---|\n";
  std::set<std::string> untested;
  for (const auto& op : weft::ir::onnx_ops())
    untested.insert(op.domain.empty() ? std::string(op.name) : fmt::format("{}.{}", op.domain, op.name));
  for (const auto& [name, op] : ops) {
    untested.erase(name);
    std::string opsets = op.passed == 0                    ? ""
                         : op.first_opset == op.last_opset ? fmt::format("{}", op.last_opset)
                                                           : fmt::format("{}-{}", op.first_opset, op.last_opset);
    out << fmt::format("| {} | {} | {} | {} | {} |\n", name, op.passed, op.total, opsets, fmt::join(op.dtypes, " "));
  }
  out << fmt::format("\nImported, without a backend test: {}.\n", fmt::join(untested, ", "));
}

}  // namespace

int main(int argc, char** argv) {
  std::filesystem::path data;
  std::string filter, table;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg == "--filter" && i + 1 < argc)
      filter = argv[++i];
    else if (arg == "--table" && i + 1 < argc)
      table = argv[++i];
    else
      data = arg;
  }
  if (data.empty()) data = onnx_test_data();
  if (data.empty()) {
    fmt::print(stderr, "no ONNX test data found: set WEFT_ONNX_TESTS or install libonnx-testdata\n");
    return 2;
  }
  std::map<Verdict, int> counts;
  std::map<std::string, OpCoverage> ops;
  std::map<std::string, std::pair<int, int>> groups;
  static constexpr const char* kWords[] = {"PASS", "UNSUPPORTED", "FAIL"};
  for (const auto& test : find_onnx_cases(data)) {
    if (test.name.find(filter) == std::string::npos) continue;
    auto start = std::chrono::steady_clock::now();
    Outcome outcome = run_onnx_case(test);
    double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    bool pass = outcome.verdict == Verdict::passed;
    ++counts[outcome.verdict];
    auto& group = groups[test.name.substr(0, test.name.find('/'))];
    group.first += pass;
    ++group.second;
    CaseFacts facts = facts_of(test);
    for (const std::string& op : facts.ops) ops[op].add(facts, pass);
    fmt::print("{}\t{}\t{:.0f}\t{}\n", kWords[static_cast<int>(outcome.verdict)], test.name, ms, outcome.why);
  }
  fmt::print("# {} passed, {} unsupported, {} failed\n", counts[Verdict::passed], counts[Verdict::unsupported],
             counts[Verdict::failed]);
  if (!table.empty()) write_table(table, ops, groups);
}
