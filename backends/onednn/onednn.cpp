// The backend: recognises a program, prices it, compiles it; remembers all three by the program's hash.
#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include "backends/backend.hpp"
#include "backends/onednn/conv_kernel.hpp"
#include "backends/onednn/cost.hpp"
#include "backends/onednn/matmul_kernel.hpp"
#include "backends/onednn/rules.hpp"
#include "backends/onednn/winograd.hpp"
#include "ir/support/error.hpp"

namespace weft::backends::onednn {
namespace {

constexpr size_t kEstimates = 1 << 16, kKernels = 512;  // remembered; the cache is emptied when full

struct Key {
  Hash128 program;
  std::vector<ir::OperandKind> operands;
  int threads;
  bool contract;
  auto operator<=>(const Key&) const = default;
};
Key key_of(const ir::KernelRequest& request) {
  return {request.program->hash(), request.operands, request.threads, request.contract};
}

/// A program made ready: the form with its split and price.
struct Ready {
  Form form;
  ConvSplit conv_split{};
  ConvChoice conv_choice{};
  std::optional<WinogradChoice> winograd{};
  MatmulSplit matmul_split{};
  std::string kernel{};
  uint64_t nanoseconds = 0;
};
Ready unfit(std::string reason) { return {Unfit{std::move(reason)}}; }

/// A tensor operand that is not the residual added first.
bool has_tensor_operand(const ConvForm& form) {
  const size_t first = form.bias_first ? 1 : 0;
  for (size_t i = 0; i < form.steps.size(); ++i) {
    const Step& s = form.steps[i];
    if (s.spread == Spread::full && !(i == first && s.kind == StepKind::add)) return true;
  }
  return false;
}

/// An operand of a step behind the bias, unless it is a constant of the program.
bool has_operand(const ConvForm& form) {
  const auto steps = std::span(form.steps).subspan(form.bias_first ? 1 : 0);
  return std::any_of(steps.begin(), steps.end(),
                     [](const Step& s) { return s.spread != Spread::none && s.spread != Spread::constant; });
}

/// The same convolution through transformed tiles, where that is cheaper. Compared on one thread: bits must not depend
/// on their number.
void try_winograd(Ready& ready, const ConvForm& form, int threads) {
  const std::optional<WinogradChoice> choice = choose_winograd(form, threads);
  if (!choice || choice->nanoseconds >= ready.conv_choice.nanoseconds) return;
  ready.winograd = choice;
  ready.nanoseconds = kernel_nanoseconds(choice->nanoseconds, choice->parts, choice->balance);
}

Ready ready_conv(ConvForm form, const ir::KernelRequest& request) {
  const int threads = request.threads;
  simplify(form);
  ConvChoice choice = choose_conv(form);
  if (choice.implementation.empty()) return unfit("oneDNN has no such convolution");
  if (choice.implementation.find("ref") != std::string::npos)
    return unfit("oneDNN has only its slow reference code for it");
  if (choice.im2col && has_tensor_operand(form)) {
    return unfit("only im2col code, which takes no tensor operand but a residual that is added first");
  }
  if (choice.im2col && form.window.size() == 3 && has_operand(form))
    return unfit("only im2col code, which mistakes every operand over three spatial axes");
  const double one_thread = choice.nanoseconds;
  Ready ready;
  ready.conv_choice = std::move(choice);
  ready.conv_split = split_conv(form, threads, one_thread);
  ready.kernel = form.kernel;
  ready.nanoseconds = kernel_nanoseconds(one_thread, ready.conv_split.parts, ready.conv_split.balance);
  if (request.contract) try_winograd(ready, form, threads);
  ready.form = std::move(form);
  return ready;
}

/// Strided matrices of one row or column: oneDNN has fast code for some of them only, and tells when it is asked.
bool is_thin(const MatmulForm& form) {
  for (const View* view : {&form.a, &form.b, &form.destination})
    for (size_t i = std::max<size_t>(view->axes.size(), 2) - 2; i < view->axes.size(); ++i)
      if (axis_size(view->axes[i]) == 1) return true;
  return false;
}

Ready ready_matmul(MatmulForm form, int threads) {
  const double one_thread = matmul_nanoseconds(form);
  Ready ready;
  ready.matmul_split = split_matmul(form, threads, one_thread);
  if (is_thin(form)) try {
      make_matmul_kernel(form, ready.matmul_split);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      return unfit(error.message());
    }
  ready.kernel = "matmul";
  ready.nanoseconds = kernel_nanoseconds(one_thread, ready.matmul_split.parts, ready.matmul_split.balance);
  ready.form = std::move(form);
  return ready;
}

Ready make_ready(const ir::KernelRequest& request) {
  Form form = recognize(*request.program, request.operands);
  if (auto* conv = std::get_if<ConvForm>(&form)) return ready_conv(std::move(*conv), request);
  if (auto* matmul = std::get_if<MatmulForm>(&form)) return ready_matmul(std::move(*matmul), request.threads);
  return {std::move(form)};
}

/// A kernel that the cache keeps too.
class SharedKernel : public Kernel {
 public:
  explicit SharedKernel(std::shared_ptr<const Kernel> kernel) : kernel_(std::move(kernel)) {}
  const ir::KernelResources& resources() const override { return kernel_->resources(); }
  std::unique_ptr<PackedParameters> pack(std::span<const ir::Tensor> operands) const override {
    return kernel_->pack(operands);
  }
  std::unique_ptr<PackedParameters> unpack(std::span<const char> image,
                                           std::shared_ptr<const void> owner) const override {
    return kernel_->unpack(image, std::move(owner));
  }
  void run(const RunContext& context, int part) const override { kernel_->run(context, part); }

 private:
  std::shared_ptr<const Kernel> kernel_;
};

class OneDnn : public Backend {
 public:
  std::string_view name() const override { return "onednn"; }
  std::string version() const override { return "onednn 3, " + library_version(); }
  const ir::MachineFacts& machine() const override { return machine_facts(); }
  std::vector<ir::RuleText> rules() const override {
    return {{"backends/onednn/layout.rules", std::string(kLayoutRules)}};
  }

  std::variant<ir::KernelEstimate, ir::Refusal> estimate(const ir::KernelRequest& request) const override {
    const Key key = key_of(request);
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = estimates_.find(key); found != estimates_.end()) return found->second;
    }
    const Ready ready = make_ready(request);
    std::variant<ir::KernelEstimate, ir::Refusal> result = ir::KernelEstimate{ready.kernel, ready.nanoseconds};
    if (const Unfit* unfit = std::get_if<Unfit>(&ready.form)) result = ir::Refusal{unfit->reason};
    const std::lock_guard lock(mutex_);
    if (estimates_.size() >= kEstimates) estimates_.clear();
    estimates_.emplace(key, result);
    return result;
  }

  ir::KernelResources resources(const ir::KernelRequest& request) const override {
    return shared(request)->resources();
  }

  std::unique_ptr<Kernel> compile(const ir::KernelRequest& request) const override {
    return std::make_unique<SharedKernel>(shared(request));
  }

 private:
  std::shared_ptr<const Kernel> shared(const ir::KernelRequest& request) const {
    const Key key = key_of(request);
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = kernels_.find(key); found != kernels_.end()) return found->second;
    }
    std::shared_ptr<const Kernel> kernel = made(make_ready(request));
    const std::lock_guard lock(mutex_);
    if (kernels_.size() >= kKernels) kernels_.clear();
    return kernels_.emplace(key, kernel).first->second;
  }

  static std::shared_ptr<const Kernel> made(Ready ready) {
    if (const Unfit* unfit = std::get_if<Unfit>(&ready.form)) fail(ErrorCode::unsupported, "onednn: {}", unfit->reason);
    if (ready.winograd) return make_winograd_kernel(std::move(std::get<ConvForm>(ready.form)), *ready.winograd);
    if (auto* conv = std::get_if<ConvForm>(&ready.form))
      return make_conv_kernel(std::move(*conv), ready.conv_split, std::move(ready.conv_choice));
    return make_matmul_kernel(std::move(std::get<MatmulForm>(ready.form)), ready.matmul_split);
  }

  mutable std::mutex mutex_;
  mutable std::map<Key, std::variant<ir::KernelEstimate, ir::Refusal>> estimates_;
  mutable std::map<Key, std::shared_ptr<const Kernel>> kernels_;
};

}  // namespace

const Backend& instance();
const Backend& instance() {
  static const OneDnn backend;
  return backend;
}

}  // namespace weft::backends::onednn
