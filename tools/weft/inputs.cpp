#include "tools/weft/inputs.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "ir/support/error.hpp"
#include "ir/support/memory.hpp"
#include "ir/support/nearest.hpp"
#include "runtime/compare.hpp"
#include "runtime/tensor_io.hpp"
#include "tools/weft/model_options.hpp"
#include "tools/weft/numbers.hpp"

namespace weft::tools {
namespace {

/// Names on the command line are told to be wrong before any file is read.
void check_name(const std::string& name, const runtime::Session& session) {
  std::vector<std::string_view> names;
  for (const runtime::NamedType& input : session.inputs()) names.push_back(input.name);
  if (std::find(names.begin(), names.end(), name) == names.end())
    fail(ErrorCode::invalid_argument, "--input: the model has no input '{}'{}", name, suggest(name, names));
}

ir::TensorType bound(ir::TensorType type, const ir::DimBindings& dims) {
  for (ir::Dim& dim : type.shape) dim = dim.substitute(dims);
  return type;
}

/// The bytes of inputs that are made and of outputs, where their shapes are known: those of the plan are known later.
int64_t bytes_of(const std::vector<runtime::NamedType>& values, const ir::NamedTensors& there,
                 const ir::DimBindings& dims) {
  int64_t bytes = 0;
  for (const runtime::NamedType& value : values) {
    if (there.contains(value.name)) continue;
    const ir::TensorType type = bound(value.type, dims);
    if (!ir::is_static(type.shape)) continue;
    if (__builtin_add_overflow(bytes, type.bytes(), &bytes)) bytes = std::numeric_limits<int64_t>::max();
  }
  return bytes;
}

}  // namespace

void InputOptions::add(CLI::App& command) {
  command.add_option("-i,--input", given_,
                     "an input: NAME=FILE.npy, NAME=VALUE, or a .npz, .npy or .pb file (repeat for more)");
  command.add_option("--seed", seed_, "of the random values of inputs that are not given")
      ->transform(whole_number(0, std::numeric_limits<uint64_t>::max()))
      ->capture_default_str();
  command.add_option("--int-bound", bound_, "random integers are below this")
      ->transform(whole_number(1))
      ->capture_default_str();
}

void InputOptions::load(const std::string& text, const runtime::Session& session, ir::NamedTensors& inputs) const {
  auto put = [&](const std::string& name, ir::Tensor tensor) {
    if (!inputs.emplace(name, std::move(tensor)).second)
      fail(ErrorCode::invalid_argument, "input '{}' is given twice", name);
  };
  std::error_code error;
  if (size_t at = text.rfind('='); at != std::string::npos && at > 0 && !std::filesystem::exists(text, error)) {
    std::string value = text.substr(at + 1), extension = std::filesystem::path(value).extension().string();
    bool file = extension == ".npy" || extension == ".pb" || extension == ".npz";
    const std::string name = text.substr(0, at);
    check_name(name, session);
    return put(name, file ? runtime::load_tensor(value) : parse_value(value, "--input"));
  }
  for (auto& [name, tensor] : runtime::load_tensors(text)) {
    bool known = false;
    for (const runtime::NamedType& input : session.inputs()) known = known || input.name == name;
    if (known)
      put(name, tensor);
    else if (session.inputs().size() == 1)
      put(session.inputs()[0].name, tensor);  // the only one there is
    else
      throw Error(ErrorCode::not_found, fmt::format("the model has no input '{}': write NAME={}", name, text), text);
  }
}

ir::NamedTensors InputOptions::gather(const runtime::Session& session) const {
  ir::NamedTensors inputs;
  for (const std::string& text : given_) load(text, session, inputs);
  ir::DimBindings dims;
  if (session.graph()) dims = ir::bind_shapes(*session.graph(), shapes_of(inputs));
  int64_t bytes = bytes_of(session.inputs(), inputs, dims);
  if (__builtin_add_overflow(bytes, bytes_of(session.outputs(), {}, dims), &bytes))
    bytes = std::numeric_limits<int64_t>::max();
  require_memory(bytes, "inputs and outputs");
  uint64_t seed = seed_;
  for (const runtime::NamedType& input : session.inputs()) {
    ++seed;
    if (inputs.contains(input.name)) continue;
    const ir::TensorType type = bound(input.type, dims);
    if (!ir::is_static(type.shape))
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{} has symbolic dimensions: give --shape, --dim or --input", to_string(type)),
                  fmt::format("input '{}'", input.name));
    inputs.emplace(input.name, runtime::random_tensor(type, seed, bound_));
  }
  return inputs;
}

runtime::NamedShapes shapes_of(const ir::NamedTensors& tensors) {
  runtime::NamedShapes shapes;
  for (const auto& [name, tensor] : tensors) shapes.emplace_back(name, to_ints(tensor.shape()));
  return shapes;
}

}  // namespace weft::tools
