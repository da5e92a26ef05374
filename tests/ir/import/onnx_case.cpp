#include "tests/ir/import/onnx_case.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>

#include "ir/eval.hpp"
#include "ir/import/onnx.hpp"
#include "ir/support/error.hpp"
#include "ir/verify.hpp"

namespace weft::test {
namespace fs = std::filesystem;

fs::path onnx_test_data() {
  if (const char* given = std::getenv("WEFT_ONNX_TESTS"); given && *given) return given;
  fs::path archive = fs::path(WEFT_SOURCE_DIR) / "../shared/onnx-tests/onnx-backend-tests-1.20.tar.xz";
  fs::path unpacked = fs::path(WEFT_BINARY_DIR) / "onnx-tests";
  if (fs::exists(unpacked / "data/node")) return unpacked / "data";
  if (fs::exists(archive)) {
    fs::path partial = unpacked.string() + fmt::format(".{}", ::getpid());
    fs::create_directories(partial);
    std::string command = fmt::format("tar xJf '{}' -C '{}'", archive.string(), partial.string());
    std::error_code error;
    if (std::system(command.c_str()) == 0) fs::rename(partial, unpacked, error);  // another process may have been first
    if (error || !fs::exists(unpacked)) fs::remove_all(partial, error);
    if (fs::exists(unpacked / "data/node")) return unpacked / "data";
  }
  fs::path installed = "/usr/share/libonnx-testdata/data";
  return fs::exists(installed) ? installed : fs::path();
}

std::vector<OnnxCase> find_onnx_cases(const fs::path& data) {
  std::vector<OnnxCase> cases;
  for (const char* group : {"node", "simple", "pytorch-converted", "pytorch-operator", "light"}) {
    if (!fs::is_directory(data / group)) continue;
    for (const auto& entry : fs::directory_iterator(data / group))
      if (fs::exists(entry.path() / "model.onnx"))
        cases.push_back({std::string(group) + "/" + entry.path().filename().string(), entry.path()});
  }
  std::sort(cases.begin(), cases.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return cases;
}

std::string difference(const ir::Tensor& found, const ir::Tensor& expected, double rtol, double atol) {
  if (found.type() != expected.type())
    return fmt::format("type {}, expected {}", to_string(found.type()), to_string(expected.type()));
  for (int64_t i = 0; i < found.elements(); ++i) {
    bool same;
    if (is_float(found.dtype())) {
      double x = found.at_double(i), y = expected.at_double(i);
      same = x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= atol + rtol * std::abs(y);
      if (!same) return fmt::format("element {} is {}, expected {}", i, x, y);
    } else if (found.at_int(i) != expected.at_int(i)) {
      return fmt::format("element {} is {}, expected {}", i, found.at_int(i), expected.at_int(i));
    }
  }
  return {};
}

namespace {

/// Names of the inputs that are fed: those of the model without an initializer. Refuses sequences and optionals, whose
/// files hold other messages than tensors.
std::vector<std::string> fed_inputs(const ::onnx::ModelProto& model) {
  std::set<std::string> initialized;
  for (const auto& t : model.graph().initializer()) initialized.insert(t.name());
  std::vector<std::string> names;
  for (const auto& input : model.graph().input())
    if (!input.type().has_tensor_type())
      fail(ErrorCode::unsupported, "input '{}' is not a tensor", input.name());
    else if (!initialized.contains(input.name()))
      names.push_back(input.name());
  return names;
}

::onnx::ModelProto parse(const fs::path& path) {
  ::onnx::ModelProto model;
  std::ifstream in(path, std::ios::binary);
  model.ParseFromIstream(&in);
  return model;
}

/// Runs one data set: shapes come from the inputs; what must be known at import is bound to them.
std::string run_data_set(const OnnxCase& test, const fs::path& set) {
  ir::NamedTensors inputs;
  ir::OnnxOptions options;
  std::vector<std::string> names = fed_inputs(parse(test.folder / "model.onnx"));
  for (size_t i = 0; i < names.size(); ++i) {
    fs::path file = set / fmt::format("input_{}.pb", i);
    if (!fs::exists(file)) continue;
    inputs[names[i]] = ir::read_onnx_tensor(file).second;
    options.shapes.emplace_back(names[i], to_ints(inputs[names[i]].shape()));
  }
  ir::Graph graph;
  try {
    graph = ir::import_onnx(test.folder / "model.onnx", options);
  } catch (const Error& e) {
    // Targets of Reshape and the like come as inputs in these tests: small integers are bound, as a user would.
    if (e.code() != ErrorCode::unsupported || e.message().find("known at import") == std::string::npos) throw;
    for (const auto& [name, tensor] : inputs)
      if (!is_float(tensor.dtype()) || tensor.elements() <= 16) options.binds[name] = tensor;
    graph = ir::import_onnx(test.folder / "model.onnx", options);
    for (const auto& [name, tensor] : options.binds) inputs.erase(name);
  }
  ir::verify(graph);
  std::vector<ir::Tensor> outputs = ir::run_reference(graph, inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    fs::path file = set / fmt::format("output_{}.pb", i);
    if (!fs::exists(file)) return fmt::format("no expected output {}", i);
    std::string wrong = difference(outputs[i], ir::read_onnx_tensor(file).second, 1e-3, 1e-7);
    if (!wrong.empty()) return fmt::format("output {}: {}", i, wrong);
  }
  return {};
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

CaseFacts facts_of(const OnnxCase& test) {
  ::onnx::ModelProto model = parse(test.folder / "model.onnx");
  std::set<std::string> ops, dtypes;
  for (const auto& node : model.graph().node())
    ops.insert(node.domain().empty() ? node.op_type() : node.domain() + "." + node.op_type());
  for (const auto& input : model.graph().input()) {
    int type = input.type().tensor_type().elem_type();
    if (type && ::onnx::TensorProto::DataType_IsValid(type)) {
      std::string name = ::onnx::TensorProto::DataType_Name(::onnx::TensorProto::DataType(type));
      std::transform(name.begin(), name.end(), name.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      dtypes.insert(name);
    }
  }
  CaseFacts facts{0, {ops.begin(), ops.end()}, {dtypes.begin(), dtypes.end()}};
  for (const auto& import : model.opset_import())
    if (import.domain().empty() || import.domain() == "ai.onnx") facts.opset = import.version();
  return facts;
}

Outcome run_onnx_case(const OnnxCase& test) try {
  for (int set = 0;; ++set) {
    fs::path folder = test.folder / fmt::format("test_data_set_{}", set);
    if (!fs::is_directory(folder)) return set ? Outcome{} : Outcome{Verdict::failed, "no data set"};
    if (std::string wrong = run_data_set(test, folder); !wrong.empty()) return {Verdict::failed, wrong};
  }
} catch (const Error& e) {
  bool unsupported = e.code() == ErrorCode::unsupported;
  return {unsupported ? Verdict::unsupported : Verdict::failed, one_line(unsupported ? e.message() : e.what())};
}

}  // namespace weft::test
