// Writes what ONNX Runtime computes for seeded random inputs: the expectation of `weft run --expect`.
//   ort_reference MODEL [--seeds 3] [--out build/reference]
// MODEL is a name of tests/models/model_list.cpp, or `all`. Files: NAME.CASE.SEED.inputs.npz and .outputs.npz.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "ir/support/error.hpp"
#include "runtime/tensor_io.hpp"
#include "tests/bench/ort_peer.hpp"
#include "tests/models/model_list.hpp"

namespace {

void write_model(const weft::models::Model& model, int seeds, const std::filesystem::path& folder) {
  auto peer = weft::bench::load_ort(weft::models::model_path(model));
  for (const weft::models::ModelCase& one : model.cases)
    for (int seed = 1; seed <= seeds; ++seed) {
      weft::ir::NamedTensors inputs = weft::models::random_inputs(one, static_cast<uint64_t>(seed));
      peer->bind(inputs);
      peer->run();
      std::string stem = fmt::format("{}.{}.{}", model.name, one.label, seed);
      weft::runtime::save_tensors(folder / (stem + ".inputs.npz"), inputs);
      weft::runtime::save_tensors(folder / (stem + ".outputs.npz"), peer->outputs());
      fmt::print("{}\n", (folder / (stem + ".outputs.npz")).string());
    }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("writes ONNX Runtime's outputs for seeded random inputs as .npz");
  std::string name;
  std::filesystem::path folder = "build/reference";
  int seeds = 3;
  app.add_option("model", name, "a model of tests/models/model_list.cpp, or all")->required();
  app.add_option("--seeds", seeds, "number of seeds, from 1")->capture_default_str();
  app.add_option("--out", folder, "folder for the files")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    std::filesystem::create_directories(folder);
    if (name != "all")
      write_model(weft::models::find_model(name), seeds, folder);
    else
      for (const weft::models::Model& model : weft::models::all_models()) write_model(model, seeds, folder);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "ort_reference: {}\n", error.what());
    return 1;
  }
}
