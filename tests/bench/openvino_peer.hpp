#pragma once
// OpenVINO beside weft in one run: a child process that is given its turns through pipes (openvino_peer.py).
#include <filesystem>
#include <memory>

#include "tests/bench/runner.hpp"

namespace weft::bench {

/// Starts the process at `bind`, for the shapes of its inputs. Its runs are timed by itself. Throws Error where
/// python3, the package or the model does not work.
std::unique_ptr<Runner> load_openvino(const std::filesystem::path& model, int threads);

}  // namespace weft::bench
