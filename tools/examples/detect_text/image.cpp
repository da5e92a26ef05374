#include "tools/examples/detect_text/image.hpp"

#include <png.h>

#include <algorithm>
#include <cmath>

#include "ir/support/error.hpp"

namespace weft::examples {
namespace {

constexpr uint32_t kMostPixelsASide = 16384;

/// Frees what libpng's simplified interface holds, on every way out.
struct PngImage {
  png_image header{};
  PngImage() { header.version = PNG_IMAGE_VERSION; }
  ~PngImage() { png_image_free(&header); }
};

}  // namespace

Image read_png(const std::filesystem::path& path) {
  PngImage png;
  if (!png_image_begin_read_from_file(&png.header, path.c_str()))
    fail(std::filesystem::exists(path) ? ErrorCode::parse : ErrorCode::io, "cannot read {}: {}", path.string(),
         png.header.message);
  if (png.header.width > kMostPixelsASide || png.header.height > kMostPixelsASide)
    fail(ErrorCode::limit, "{} has {}x{} pixels, at most {} a side are taken", path.string(), png.header.width,
         png.header.height, kMostPixelsASide);
  png.header.format = PNG_FORMAT_RGB;
  Image image(static_cast<int>(png.header.width), static_cast<int>(png.header.height));
  const png_color white{255, 255, 255};
  if (!png_image_finish_read(&png.header, &white, image.rgb.data(), 0, nullptr))
    fail(ErrorCode::parse, "cannot read {}: {}", path.string(), png.header.message);
  return image;
}

void write_png(const std::filesystem::path& path, const Image& image) {
  PngImage png;
  png.header.width = static_cast<png_uint_32>(image.width);
  png.header.height = static_cast<png_uint_32>(image.height);
  png.header.format = PNG_FORMAT_RGB;
  if (!png_image_write_to_file(&png.header, path.c_str(), 0, image.rgb.data(), 0, nullptr))
    fail(ErrorCode::io, "cannot write {}: {}", path.string(), png.header.message);
}

Image resize(const Image& image, int width, int height) {
  Image result(width, height);
  double step_x = static_cast<double>(image.width) / width, step_y = static_cast<double>(image.height) / height;
  for (int y = 0; y < height; ++y) {
    double source_y = std::clamp((y + 0.5) * step_y - 0.5, 0.0, image.height - 1.0);
    int y0 = static_cast<int>(source_y), y1 = std::min(y0 + 1, image.height - 1);
    for (int x = 0; x < width; ++x) {
      double source_x = std::clamp((x + 0.5) * step_x - 0.5, 0.0, image.width - 1.0);
      int x0 = static_cast<int>(source_x), x1 = std::min(x0 + 1, image.width - 1);
      for (int c = 0; c < 3; ++c) {
        double top = std::lerp(image.at(x0, y0)[c], image.at(x1, y0)[c], source_x - x0);
        double bottom = std::lerp(image.at(x0, y1)[c], image.at(x1, y1)[c], source_x - x0);
        result.at(x, y)[c] = static_cast<uint8_t>(std::lround(std::lerp(top, bottom, source_y - y0)));
      }
    }
  }
  return result;
}

void draw_line(Image& image, double x0, double y0, double x1, double y1, Color color, double thickness) {
  double length_x = x1 - x0, length_y = y1 - y0, square = std::max(length_x * length_x + length_y * length_y, 1e-9);
  auto pixel = [](double v, int limit) { return static_cast<int>(std::clamp(v, 0.0, static_cast<double>(limit - 1))); };
  for (int y = pixel(std::min(y0, y1) - thickness, image.height);
       y <= pixel(std::max(y0, y1) + thickness, image.height); ++y)
    for (int x = pixel(std::min(x0, x1) - thickness, image.width);
         x <= pixel(std::max(x0, x1) + thickness, image.width); ++x) {
      double along = std::clamp(((x - x0) * length_x + (y - y0) * length_y) / square, 0.0, 1.0);
      if (std::hypot(x - x0 - along * length_x, y - y0 - along * length_y) > thickness / 2) continue;
      uint8_t* to = image.at(x, y);
      to[0] = color.red, to[1] = color.green, to[2] = color.blue;
    }
}

}  // namespace weft::examples
