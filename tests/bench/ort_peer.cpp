#include "tests/bench/ort_peer.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "ir/support/error.hpp"
#include "tests/bench/ort_api.hpp"

namespace weft::bench {
namespace {

using ort::Place;

constexpr std::array<std::pair<ort::Element, ir::DType>, 13> kElements{{
    {ort::Element::f32, ir::DType::f32},
    {ort::Element::u8, ir::DType::u8},
    {ort::Element::i8, ir::DType::i8},
    {ort::Element::u16, ir::DType::u16},
    {ort::Element::i16, ir::DType::i16},
    {ort::Element::i32, ir::DType::i32},
    {ort::Element::i64, ir::DType::i64},
    {ort::Element::boolean, ir::DType::boolean},
    {ort::Element::f16, ir::DType::f16},
    {ort::Element::f64, ir::DType::f64},
    {ort::Element::u32, ir::DType::u32},
    {ort::Element::u64, ir::DType::u64},
    {ort::Element::bf16, ir::DType::bf16},
}};

ir::DType dtype_of(int element) {
  for (auto [theirs, ours] : kElements)
    if (static_cast<int>(theirs) == element) return ours;
  fail(ErrorCode::unsupported, "ONNX Runtime gives element type {}, which weft does not have", element);
}

int element_of(ir::DType dtype) {
  for (auto [theirs, ours] : kElements)
    if (ours == dtype) return static_cast<int>(theirs);
  fail(ErrorCode::unsupported, "ONNX Runtime has no {}", ir::to_string(dtype));
}

/// The loaded library with its environment: one for the process, never unloaded (its threads outlive sessions).
class Api {
 public:
  static const Api& instance() {
    static const Api* api = new Api();
    return *api;
  }

  /// Calls a function that returns a status; throws its message where it is not null.
  template <typename... Args>
  void call(Place place, Args... args) const {
    check(reinterpret_cast<ort::Status* (*)(Args...)>(const_cast<void*>(table_[static_cast<size_t>(place)]))(args...));
  }
  template <typename Handle>
  void release(Place place, Handle* handle) const {
    if (handle) reinterpret_cast<void (*)(Handle*)>(const_cast<void*>(table_[static_cast<size_t>(place)]))(handle);
  }
  const std::string& version() const { return version_; }
  const ort::Env* env() const { return env_; }
  const ort::MemoryInfo* memory() const { return memory_; }
  ort::Allocator* allocator() const { return allocator_; }

 private:
  Api() {
    std::filesystem::path path = ort_library_path();
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library)
      fail(ErrorCode::not_found, "cannot load ONNX Runtime: {}; run tools/scripts/fetch_models.sh", dlerror());
    auto get_base = reinterpret_cast<const ort::ApiBase* (*)()>(dlsym(library, "OrtGetApiBase"));
    if (!get_base) fail(ErrorCode::not_found, "{} has no OrtGetApiBase", path.string());
    version_ = get_base()->get_version();
    table_ = get_base()->get_api(ort::kTableVersion);
    if (!table_)
      fail(ErrorCode::unsupported, "ONNX Runtime {} does not serve API version {}", version_, ort::kTableVersion);
    constexpr int kWarnings = 3;  // the severity "error": warnings on old models are noise here
    call<int, const char*, ort::Env**>(Place::create_env, kWarnings, "weft", &env_);
    call<int, int, ort::MemoryInfo**>(Place::create_cpu_memory_info, 0, 0, &memory_);
    call<ort::Allocator**>(Place::default_allocator, &allocator_);
  }

  void check(ort::Status* status) const {
    if (!status) return;
    auto text = reinterpret_cast<const char* (*)(const ort::Status*)>(
        const_cast<void*>(table_[static_cast<size_t>(Place::get_error_message)]));
    std::string message = text(status);
    release(Place::release_status, status);
    fail(ErrorCode::invalid_argument, "ONNX Runtime {}: {}", version_, message);
  }

  std::string version_;
  const void* const* table_ = nullptr;
  ort::Env* env_ = nullptr;
  ort::MemoryInfo* memory_ = nullptr;
  ort::Allocator* allocator_ = nullptr;
};

/// Owns one handle of the API.
template <typename Handle, Place kRelease>
class Owned {
 public:
  explicit Owned(Handle* handle = nullptr) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() { Api::instance().release(kRelease, handle_); }
  Handle* get() const { return handle_; }
  Handle** out() { return &handle_; }

 private:
  Handle* handle_;
};
using OwnedOptions = Owned<ort::SessionOptions, Place::release_session_options>;
using OwnedSession = Owned<ort::Session, Place::release_session>;
using OwnedValue = Owned<ort::Value, Place::release_value>;
using OwnedType = Owned<ort::TypeInfo, Place::release_type_info>;
using OwnedTensorInfo = Owned<ort::TensorInfo, Place::release_tensor_info>;

std::pair<ir::DType, std::vector<int64_t>> read_tensor_info(const ort::TensorInfo* info) {
  const Api& api = Api::instance();
  int element = 0;
  size_t rank = 0;
  api.call(Place::element_type, info, &element);
  api.call(Place::dimension_count, info, &rank);
  std::vector<int64_t> dims(rank);
  api.call(Place::dimensions, info, dims.data(), rank);
  return {dtype_of(element), dims};
}

class OrtRunner : public Runner {
 public:
  OrtRunner(const std::filesystem::path& model, const OrtOptions& options) {
    OwnedOptions settings;
    api_.call(Place::create_session_options, settings.out());
    api_.call(Place::set_intra_op_threads, settings.get(), options.threads);
    api_.call(Place::set_inter_op_threads, settings.get(), 1);
    api_.call(Place::set_optimization_level, settings.get(), options.optimization_level);
    // Its workers spin between runs; stopped at the end of each run, they do not take the core from who runs next.
    api_.call<ort::SessionOptions*, const char*, const char*>(Place::add_session_config_entry, settings.get(),
                                                              "session.force_spinning_stop", "1");
    if (!options.optimized_model.empty())
      api_.call(Place::set_optimized_model_path, settings.get(), options.optimized_model.c_str());
    api_.call<const ort::Env*, const char*, const ort::SessionOptions*, ort::Session**>(
        Place::create_session, api_.env(), model.c_str(), settings.get(), session_.out());
    inputs_ = ports(Place::session_input_count, Place::session_input_name, Place::session_input_type);
    outputs_ = ports(Place::session_output_count, Place::session_output_name, Place::session_output_type);
  }

  std::string engine() const override { return "ONNX Runtime " + api_.version(); }
  std::vector<PortInfo> inputs() const override { return inputs_; }

  void bind(const ir::NamedTensors& inputs) override {
    bound_ = inputs;
    values_.clear();
    for (const PortInfo& port : inputs_) {
      auto found = bound_.find(port.name);
      if (found == bound_.end()) fail(ErrorCode::not_found, "no tensor for input '{}'", port.name);
      ir::Tensor& tensor = found->second;
      std::vector<int64_t> dims = ir::to_ints(tensor.shape());
      OwnedValue value;
      api_.call<const ort::MemoryInfo*, void*, size_t, const int64_t*, size_t, int, ort::Value**>(
          Place::create_tensor_with_data, api_.memory(), tensor.mutable_data(), tensor.bytes(), dims.data(),
          dims.size(), element_of(tensor.dtype()), value.out());
      values_.push_back(std::move(value));
    }
  }

  void run() override {
    std::vector<const char*> input_names, output_names;
    std::vector<const ort::Value*> in;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      input_names.push_back(inputs_[i].name.c_str());
      in.push_back(values_.at(i).get());
    }
    for (const PortInfo& port : outputs_) output_names.push_back(port.name.c_str());
    std::vector<ort::Value*> out(outputs_.size(), nullptr);
    api_.call<ort::Session*, const void*, const char* const*, const ort::Value* const*, size_t, const char* const*,
              size_t, ort::Value**>(Place::run, session_.get(), nullptr, input_names.data(), in.data(), in.size(),
                                    output_names.data(), out.size(), out.data());
    results_.clear();
    for (ort::Value* value : out) results_.emplace_back(value);
  }

  ir::NamedTensors outputs() const override {
    ir::NamedTensors named;
    for (size_t i = 0; i < results_.size(); ++i) {
      OwnedTensorInfo info;
      api_.call<const ort::Value*, ort::TensorInfo**>(Place::value_tensor_info, results_[i].get(), info.out());
      auto [dtype, dims] = read_tensor_info(info.get());
      void* data = nullptr;
      api_.call(Place::tensor_data, results_[i].get(), &data);
      ir::Tensor tensor = ir::Tensor::allocate({dtype, ir::to_shape(dims)});
      if (tensor.bytes()) std::memcpy(tensor.mutable_data(), data, tensor.bytes());
      named.emplace(outputs_[i].name, std::move(tensor));
    }
    return named;
  }

 private:
  std::vector<PortInfo> ports(Place count_of, Place name_of, Place type_of) const {
    size_t count = 0;
    api_.call<const ort::Session*, size_t*>(count_of, session_.get(), &count);
    std::vector<PortInfo> ports;
    for (size_t i = 0; i < count; ++i) {
      char* name = nullptr;
      api_.call<const ort::Session*, size_t, ort::Allocator*, char**>(name_of, session_.get(), i, api_.allocator(),
                                                                      &name);
      std::string kept = name;
      api_.call<ort::Allocator*, void*>(Place::allocator_free, api_.allocator(), name);
      OwnedType type;
      api_.call<const ort::Session*, size_t, ort::TypeInfo**>(type_of, session_.get(), i, type.out());
      const ort::TensorInfo* info = nullptr;
      api_.call<const ort::TypeInfo*, const ort::TensorInfo**>(Place::type_to_tensor_info, type.get(), &info);
      if (!info) fail(ErrorCode::unsupported, "'{}' is not a tensor", kept);
      auto [dtype, dims] = read_tensor_info(info);
      ports.push_back({std::move(kept), dtype, std::move(dims)});
    }
    return ports;
  }

  const Api& api_ = Api::instance();
  OwnedSession session_;
  std::vector<PortInfo> inputs_, outputs_;
  ir::NamedTensors bound_;
  std::vector<OwnedValue> values_, results_;
};

}  // namespace

std::filesystem::path ort_library_path() {
  if (const char* path = std::getenv("WEFT_ORT_LIBRARY")) return path;
  if (const char* folder = std::getenv("WEFT_MODELS")) return std::filesystem::path(folder) / "libonnxruntime.so.1";
  return std::filesystem::path(WEFT_MODELS_DIR) / "libonnxruntime.so.1";
}

bool ort_available(std::string* reason) {
  bool there = std::filesystem::exists(ort_library_path());
  if (!there && reason) *reason = ort_library_path().string() + " is missing: run tools/scripts/fetch_models.sh";
  return there;
}

std::unique_ptr<Runner> load_ort(const std::filesystem::path& model, const OrtOptions& options) {
  if (!std::filesystem::exists(model)) fail(ErrorCode::not_found, "no model at {}", model.string());
  return std::make_unique<OrtRunner>(model, options);
}

}  // namespace weft::bench
