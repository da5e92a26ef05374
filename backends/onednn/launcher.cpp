#include "backends/onednn/launcher.hpp"

#include "ir/support/error.hpp"

namespace weft::backends::onednn {

Launcher::Launcher(dnnl::primitive primitive, std::vector<std::pair<int, Desc>> arguments)
    : primitive_(std::move(primitive)), arguments_(std::move(arguments)) {}

std::unique_ptr<Launcher::Set> Launcher::take() const {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<Set> set = std::move(free_.back());
      free_.pop_back();
      return set;
    }
  }
  auto set = std::make_unique<Set>();
  for (const auto& [id, desc] : arguments_) {
    set->memories.emplace_back(desc, engine(), nullptr);
    set->list.push_back({id, set->memories.back().get()});
  }
  return set;
}

void Launcher::execute(std::span<const Argument> arguments) const {
  WEFT_CHECK(arguments.size() == arguments_.size());
  std::unique_ptr<Set> set = take();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].fixed) {
      set->list[i].memory = arguments[i].fixed;
    } else {
      set->memories[i].set_data_handle(const_cast<void*>(arguments[i].pointer));
      set->list[i].memory = set->memories[i].get();
    }
  }
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive_.get(), stream().get(), static_cast<int>(set->list.size()), set->list.data());
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(set));
  }
  if (status != dnnl_success)
    fail(ErrorCode::internal, "oneDNN failed to run a primitive (status {})", static_cast<int>(status));
}

TileCopy::TileCopy(const Desc& from, const Desc& to) {
  launcher_ = std::make_unique<Launcher>(make_reorder(from, to),
                                         std::vector<std::pair<int, Desc>>{{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

void TileCopy::execute(const float* from, float* to) const {
  const Argument arguments[] = {{from}, {to}};
  launcher_->execute(arguments);
}

}  // namespace weft::backends::onednn
