#include "tools/examples/detect_text/text_detection.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>

#include "ir/support/error.hpp"
#include "tests/bench/ort_peer.hpp"
#include "tests/catch.hpp"
#include "tests/models/model_list.hpp"

namespace weft::examples {
namespace {

/// A map of `height` x `width` with `value` where `inside(x, y)` holds of the pixel's centre.
template <typename F>
ir::Tensor map_where(int height, int width, float value, F inside) {
  ir::Tensor map = ir::Tensor::zeros({ir::DType::f32, ir::to_shape({1, 1, height, width})});
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      if (inside(x + 0.5, y + 0.5)) map.mutable_as<float>()[static_cast<size_t>(y) * width + x] = value;
  return map;
}

double side(const TextBox& box, int i) {
  const Point &a = box.corners[i], &b = box.corners[(i + 1) % 4];
  return std::hypot(a.x - b.x, a.y - b.y);
}

TEST_CASE("text boxes: an upright rectangle, grown by the unclip distance and scaled to the picture") {
  ir::Tensor map = map_where(64, 96, 0.9f, [](double x, double y) { return x > 20 && x < 60 && y > 10 && y < 20; });
  std::vector<TextBox> boxes = text_boxes(map, 192, 64);
  REQUIRE(boxes.size() == 1);
  CHECK(boxes[0].score == Approx(0.9));
  double grow = 40 * 10 * 1.5 / (2 * (40 + 10)), low_x = 1e9, high_y = -1e9;
  for (const Point& p : boxes[0].corners) low_x = std::min(low_x, p.x), high_y = std::max(high_y, p.y);
  CHECK(low_x == Approx(2 * (20 - grow)));
  CHECK(high_y == Approx(20 + grow));
}

TEST_CASE("text boxes: a rotated rectangle keeps its angle and sides") {
  double c = std::cos(0.35), s = std::sin(0.35);
  ir::Tensor map = map_where(120, 160, 0.8f, [&](double x, double y) {
    double u = (x - 80) * c + (y - 60) * s, v = (y - 60) * c - (x - 80) * s;
    return std::abs(u) < 50 && std::abs(v) < 8;
  });
  DetectionOptions options;
  options.unclip = 0;
  std::vector<TextBox> boxes = text_boxes(map, 160, 120, options);
  REQUIRE(boxes.size() == 1);
  CHECK(std::max(side(boxes[0], 0), side(boxes[0], 1)) == Approx(100).margin(2));
  CHECK(std::min(side(boxes[0], 0), side(boxes[0], 1)) == Approx(16).margin(2));
}

TEST_CASE("text boxes: faint, thin and missing text gives none") {
  auto block = [](double x, double y) { return x > 5 && x < 30 && y > 5 && y < 15; };
  CHECK(text_boxes(map_where(32, 64, 0.5f, block), 64, 32).empty());
  CHECK(
      text_boxes(map_where(32, 64, 0.9f, [](double x, double y) { return x < 30 && y > 5 && y < 7; }), 64, 32).empty());
  CHECK(text_boxes(map_where(32, 64, 0.9f, [](double, double) { return false; }), 64, 32).empty());
  CHECK(text_boxes(map_where(32, 64, 0.9f, [](double, double) { return true; }), 64, 32).size() == 1);
  CHECK_THROWS_AS(text_boxes(ir::Tensor::zeros({ir::DType::f32, ir::to_shape({1, 2, 4, 4})}), 4, 4), Error);
}

TEST_CASE("text input: sides are multiples of 32, planes are blue, green, red") {
  Image image(100, 40);
  for (int y = 0; y < 40; ++y)
    for (int x = 0; x < 100; ++x) image.at(x, y)[2] = 255;
  ir::Tensor tensor = text_input(image);
  CHECK(ir::to_ints(tensor.shape()) == std::vector<int64_t>{1, 3, 32, 96});
  CHECK(tensor.as<float>()[0] == Approx((1 - 0.485) / 0.229));
  CHECK(tensor.as<float>()[2 * 32 * 96] == Approx(-0.406 / 0.225));
  CHECK(ir::to_ints(text_input(Image(3000, 10)).shape()) == std::vector<int64_t>{1, 3, 32, 960});
}

TEST_CASE("png: what is written reads back; damaged and missing files are errors") {
  Image image(7, 5);
  for (size_t i = 0; i < image.rgb.size(); ++i) image.rgb[i] = static_cast<uint8_t>(i * 11);
  std::filesystem::path path = std::filesystem::temp_directory_path() / "weft_text_detection_test.png";
  write_png(path, image);
  CHECK(read_png(path).rgb == image.rgb);
  std::filesystem::resize_file(path, 50);
  CHECK_THROWS_AS(read_png(path), Error);
  std::ofstream(path) << "no picture";
  CHECK_THROWS_AS(read_png(path), Error);
  std::filesystem::remove(path);
  CHECK_THROWS_AS(read_png(path), Error);
}

TEST_CASE("the demo picture: ONNX Runtime's map of it shows its pieces of text", "[models]") {
  std::string reason;
  const models::Model& model = models::find_model("pp_ocr_det");
  if (!model_available(model, &reason) || !bench::ort_available(&reason)) {
    if (std::getenv("WEFT_REQUIRE_MODELS")) FAIL(reason);
    WARN("skipped: " << reason);
    return;
  }
  Image image = read_png("tests/data/street_signs.png");
  auto peer = bench::load_ort(model_path(model));
  peer->bind({{"x", text_input(image)}});
  peer->run();
  ir::Tensor map = peer->outputs().begin()->second;
  std::vector<TextBox> boxes = text_boxes(map, image.width, image.height);
  if (const char* out = std::getenv("WEFT_DEMO_OUT")) write_png(out, overlay(image, map, boxes));
  CHECK(boxes.size() >= 8);
}

}  // namespace
}  // namespace weft::examples
