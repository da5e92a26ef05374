#include "tools/examples/detect_text/text_detection.hpp"

#include <algorithm>
#include <boost/geometry.hpp>
#include <boost/geometry/geometries/multi_point.hpp>
#include <boost/geometry/geometries/point_xy.hpp>
#include <boost/geometry/geometries/polygon.hpp>
#include <cmath>
#include <limits>

#include "ir/support/error.hpp"

namespace weft::examples {
namespace {

namespace geometry = boost::geometry;
using Corner = geometry::model::d2::point_xy<double>;
using Polygon = geometry::model::polygon<Corner>;
using Cloud = geometry::model::multi_point<Corner>;

constexpr double kMean[3] = {0.485, 0.456, 0.406}, kDeviation[3] = {0.229, 0.224, 0.225};

int rounded_side(double pixels) { return std::max(32, static_cast<int>(std::lround(pixels / 32)) * 32); }

struct Map {
  std::span<const float> values;
  int width, height;
  float at(int x, int y) const { return values[static_cast<size_t>(y) * width + x]; }
};

Map map_of(const ir::Tensor& tensor) {
  std::vector<int64_t> dims = ir::to_ints(tensor.shape());
  if (tensor.dtype() != ir::DType::f32 || dims.size() != 4 || dims[0] != 1 || dims[1] != 1)
    fail(ErrorCode::type_mismatch, "a probability map is f32[1,1,H,W], not {}", ir::to_string(tensor.type()));
  return {tensor.as<float>(), static_cast<int>(dims[3]), static_cast<int>(dims[2])};
}

struct Component {
  Cloud pixels;
  double sum = 0;  // of the probabilities
};

/// Connected pixels (8 neighbours) above the threshold, in order of their first pixel; filled with a stack of its own.
std::vector<Component> components_of(const Map& map, double threshold) {
  std::vector<char> seen(map.values.size(), 0);
  std::vector<Component> found;
  std::vector<std::pair<int, int>> open;
  for (int y = 0; y < map.height; ++y)
    for (int x = 0; x < map.width; ++x) {
      auto visit = [&](int px, int py) {
        if (px < 0 || py < 0 || px >= map.width || py >= map.height) return;
        char& mark = seen[static_cast<size_t>(py) * map.width + px];
        if (mark || !(map.at(px, py) > threshold)) return;
        mark = 1;
        open.emplace_back(px, py);
      };
      visit(x, y);
      if (open.empty()) continue;
      Component component;
      while (!open.empty()) {
        auto [px, py] = open.back();
        open.pop_back();
        component.pixels.emplace_back(px + 0.5, py + 0.5);
        component.sum += map.at(px, py);
        for (int dy = -1; dy <= 1; ++dy)
          for (int dx = -1; dx <= 1; ++dx) visit(px + dx, py + dy);
      }
      found.push_back(std::move(component));
    }
  return found;
}

struct Rectangle {
  Point centre, along;  // `along` is the unit vector of the first side
  double length = 0, breadth = 0;
};

/// The smallest rectangle around points: one of its sides lies on an edge of the convex hull.
Rectangle smallest_rectangle(const Cloud& points) {
  Polygon hull;
  geometry::convex_hull(points, hull);
  const auto& ring = hull.outer();
  Rectangle best;
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i + 1 < std::max<size_t>(ring.size(), 2); ++i) {
    const Corner &a = ring[i], &b = ring[std::min(i + 1, ring.size() - 1)];
    double dx = b.x() - a.x(), dy = b.y() - a.y(), norm = std::hypot(dx, dy);
    Point u = norm > 0 ? Point{dx / norm, dy / norm} : Point{1, 0};
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    double low_u = kInfinity, high_u = -kInfinity, low_v = kInfinity, high_v = -kInfinity;
    for (const Corner& p : ring) {
      double along = p.x() * u.x + p.y() * u.y, across = p.y() * u.x - p.x() * u.y;
      low_u = std::min(low_u, along), high_u = std::max(high_u, along);
      low_v = std::min(low_v, across), high_v = std::max(high_v, across);
    }
    double length = high_u - low_u + 1, breadth = high_v - low_v + 1;  // pixels are squares, not points
    if (length * breadth >= least) continue;
    least = length * breadth;
    double mid_u = (low_u + high_u) / 2, mid_v = (low_v + high_v) / 2;
    best = {{mid_u * u.x - mid_v * u.y, mid_u * u.y + mid_v * u.x}, u, length, breadth};
  }
  return best;
}

TextBox box_of(const Rectangle& r, double grow, double scale_x, double scale_y, double score) {
  double half_u = r.length / 2 + grow, half_v = r.breadth / 2 + grow;
  TextBox box;
  box.score = score;
  constexpr double kSigns[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
  for (int i = 0; i < 4; ++i) {
    double u = kSigns[i][0] * half_u, v = kSigns[i][1] * half_v;
    box.corners[i] = {(r.centre.x + u * r.along.x - v * r.along.y) * scale_x,
                      (r.centre.y + u * r.along.y + v * r.along.x) * scale_y};
  }
  return box;
}

}  // namespace

ir::Tensor text_input(const Image& image, int longest_side) {
  double scale = std::min(1.0, static_cast<double>(longest_side) / std::max(image.width, image.height));
  Image fitted = resize(image, rounded_side(image.width * scale), rounded_side(image.height * scale));
  ir::Tensor tensor = ir::Tensor::allocate({ir::DType::f32, ir::to_shape({1, 3, fitted.height, fitted.width})});
  std::span<float> out = tensor.mutable_as<float>();
  size_t plane = static_cast<size_t>(fitted.width) * fitted.height;
  for (size_t i = 0; i < plane; ++i)
    for (size_t c = 0; c < 3; ++c)
      out[c * plane + i] = static_cast<float>((fitted.rgb[i * 3 + 2 - c] / 255.0 - kMean[c]) / kDeviation[c]);
  return tensor;
}

std::vector<TextBox> text_boxes(const ir::Tensor& map_tensor, int width, int height, const DetectionOptions& options) {
  Map map = map_of(map_tensor);
  std::vector<TextBox> boxes;
  for (const Component& component : components_of(map, options.pixel_threshold)) {
    Rectangle rectangle = smallest_rectangle(component.pixels);
    double score = component.sum / static_cast<double>(component.pixels.size());
    if (score < options.box_threshold || std::min(rectangle.length, rectangle.breadth) < options.least_side) continue;
    double grow = rectangle.length * rectangle.breadth * options.unclip / (2 * (rectangle.length + rectangle.breadth));
    boxes.push_back(box_of(rectangle, grow, static_cast<double>(width) / map.width,
                           static_cast<double>(height) / map.height, score));
  }
  return boxes;
}

Image overlay(const Image& image, const ir::Tensor& map_tensor, const std::vector<TextBox>& boxes) {
  Map map = map_of(map_tensor);
  Image result = image;
  constexpr Color kGlow{255, 60, 40}, kLine{60, 255, 90};
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x) {
      float share = std::clamp(map.at(x * map.width / image.width, y * map.height / image.height), 0.0f, 1.0f) * 0.6f;
      uint8_t* to = result.at(x, y);
      const uint8_t glow[3] = {kGlow.red, kGlow.green, kGlow.blue};
      for (int c = 0; c < 3; ++c)
        to[c] =
            static_cast<uint8_t>(std::lround(std::lerp(static_cast<float>(to[c]), static_cast<float>(glow[c]), share)));
    }
  for (const TextBox& box : boxes)
    for (int i = 0; i < 4; ++i) {
      const Point &a = box.corners[i], &b = box.corners[(i + 1) % 4];
      draw_line(result, a.x, a.y, b.x, b.y, kLine, 3);
    }
  return result;
}

}  // namespace weft::examples
