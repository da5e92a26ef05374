#pragma once
// An 8-bit RGB picture in memory, and PNG files.
#include <cstdint>
#include <filesystem>
#include <vector>

namespace weft::examples {

struct Color {
  uint8_t red = 0, green = 0, blue = 0;
};

struct Image {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;  ///< row-major, 3 bytes a pixel

  Image() = default;
  Image(int w, int h) : width(w), height(h), rgb(static_cast<size_t>(w) * h * 3) {}
  const uint8_t* at(int x, int y) const { return &rgb[(static_cast<size_t>(y) * width + x) * 3]; }
  uint8_t* at(int x, int y) { return &rgb[(static_cast<size_t>(y) * width + x) * 3]; }
};

/// Any PNG, converted to 8-bit RGB over white. Throws Error(io) or Error(parse), and Error(limit) beyond 16,384 pixels
/// a side.
Image read_png(const std::filesystem::path& path);
void write_png(const std::filesystem::path& path, const Image& image);

/// Bilinear, pixel centres at half coordinates.
Image resize(const Image& image, int width, int height);
/// A line of the given thickness in pixels; what lies outside the picture is left out.
void draw_line(Image& image, double x0, double y0, double x1, double y1, Color color, double thickness);

}  // namespace weft::examples
