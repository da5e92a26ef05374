#pragma once
// 3x3 convolutions through transformed tiles: 4 (or 2.25) times fewer products, at twice the rounding error.
#include <memory>
#include <optional>

#include "backends/backend.hpp"
#include "backends/onednn/winograd_loops.hpp"

namespace weft::backends::onednn {

struct WinogradChoice {
  int64_t output = 4;      ///< pixels of a tile along each axis: 2 or 4
  double nanoseconds = 0;  ///< on one thread, without launch
  int parts = 1;
  bool by_panels = false;  ///< parts are output channels; else tiles
  double balance = 1;
};

/// The cheapest way, or nothing: 3x3, stride 1, no groups, whole vectors of channels, steps that our loops have.
std::optional<WinogradChoice> choose_winograd(const ConvForm& form, int threads);
std::unique_ptr<Kernel> make_winograd_kernel(ConvForm form, const WinogradChoice& choice);

}  // namespace weft::backends::onednn
