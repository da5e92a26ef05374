// Finds text in a PNG with PP-OCR's detection network: compiles the model for the picture's size, runs it, draws what
// it found.
//   detect_text MODEL.onnx IMAGE.png OUT.png [--threads N]
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>

#include "ir/support/error.hpp"
#include "runtime/session.hpp"
#include "tools/examples/detect_text/text_detection.hpp"

namespace {

struct Options {
  std::filesystem::path model, image, out;
  int threads = 0;
};

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void detect(const Options& options) {
  using weft::examples::TextBox;
  weft::examples::Image image = weft::examples::read_png(options.image);
  weft::ir::Tensor input = weft::examples::text_input(image);

  weft::runtime::SessionOptions settings;
  settings.compile.threads = options.threads;
  settings.shapes = {{"x", weft::ir::to_ints(input.shape())}};  // as the network calls its input
  auto start = std::chrono::steady_clock::now();
  weft::runtime::Session session = weft::runtime::Session::load(options.model, settings);
  const std::string& to = session.outputs().at(0).name;
  session.prepare();
  fmt::print("{}: loaded and compiled for {} in {:.0f} ms (plan cache: {})\n", options.model.filename().string(),
             weft::ir::to_string(input.type()), ms_since(start),
             weft::runtime::to_string(session.report().specializations.at(0).cache));

  session.run({{"x", input}});
  start = std::chrono::steady_clock::now();
  weft::ir::Tensor map = session.run({{"x", input}}).at(to);
  fmt::print("run in {:.1f} ms\n", ms_since(start));

  std::vector<TextBox> boxes = weft::examples::text_boxes(map, image.width, image.height);
  for (const TextBox& box : boxes) {
    fmt::print("text at");
    for (const auto& corner : box.corners) fmt::print(" ({:.0f}, {:.0f})", corner.x, corner.y);
    fmt::print(", score {:.2f}\n", box.score);
  }
  weft::examples::write_png(options.out, weft::examples::overlay(image, map, boxes));
  fmt::print("{} pieces of text; picture written to {}\n", boxes.size(), options.out.string());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("finds text in a PNG with PP-OCR's detection network");
  Options options;
  app.add_option("model", options.model, "the detection model, build/models/pp_ocr_det.onnx")->required();
  app.add_option("image", options.image, "the picture, a PNG")->required();
  app.add_option("out", options.out, "where the picture with the boxes goes")->required();
  app.add_option("--threads", options.threads, "threads to use; 0 = as many as the process may")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    detect(options);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "detect_text: {}\n", error.what());
    return 1;
  }
}
