#pragma once
// A machine on paper: accepts and prices kernels by fixed numbers, so that what the search chooses is the same
// everywhere and can be written down.
#include "ir/target.hpp"

namespace weft {

/// One thread of 50 operations and 10 bytes a nanosecond, a microsecond a step. Takes elementwise groups; one
/// convolution (channels last), product, norm, reduction, pool or the like with elementwise ops after it; reshapes and
/// transposes around products and attention; up to two results beside each other. Any op alone is taken too, at ten
/// times the price.
class PaperMachine : public ir::Target {
 public:
  std::string_view name() const override { return "paper"; }
  std::string version() const override { return "paper 1"; }
  const ir::MachineFacts& machine() const override { return facts_; }
  std::variant<ir::KernelEstimate, ir::Refusal> estimate(const ir::KernelRequest& request) const override;
  ir::KernelResources resources(const ir::KernelRequest& request) const override;
  std::vector<ir::RuleText> rules() const override;  ///< those that make convolutions channels last

 private:
  ir::MachineFacts facts_{"paper", 50, 10, 10, 10, 1 << 20, 1 << 24, 1000};
};

}  // namespace weft
