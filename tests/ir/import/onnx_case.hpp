#pragma once
// The ONNX project's backend tests: a folder with model.onnx and test_data_set_N/{input,output}_i.pb each.
#include <filesystem>
#include <string>
#include <vector>

#include "ir/tensor.hpp"

namespace weft::test {

struct OnnxCase {
  std::string name;  ///< "node/test_relu"
  std::filesystem::path folder;
};

/// Where the test data stands: WEFT_ONNX_TESTS, the archive ../shared/onnx-tests beside the sources (unpacked into
/// `build/onnx-tests` once), or the installed package. Empty where there is none.
std::filesystem::path onnx_test_data();

/// All cases below a data folder, sorted by name.
std::vector<OnnxCase> find_onnx_cases(const std::filesystem::path& data);

enum class Verdict { passed, unsupported, failed };
struct Outcome {
  Verdict verdict = Verdict::passed;
  std::string why;  ///< one line; empty where passed
};
/// Imports, runs the reference interpreter on every data set and compares with rtol 1e-3, atol 1e-7.
Outcome run_onnx_case(const OnnxCase& test);

/// What a case is about, for tables.
struct CaseFacts {
  int64_t opset = 0;
  std::vector<std::string> ops;     ///< of its nodes, "domain." in front where it is not ai.onnx
  std::vector<std::string> dtypes;  ///< of its inputs
};
CaseFacts facts_of(const OnnxCase& test);

/// Empty where equal within the tolerance; else the first difference.
std::string difference(const ir::Tensor& found, const ir::Tensor& expected, double rtol, double atol);

}  // namespace weft::test
