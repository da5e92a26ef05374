#pragma once
// What stands before and behind PP-OCR's detection network: a picture to its input tensor, its probability map to
// boxes.
#include <array>
#include <vector>

#include "ir/tensor.hpp"
#include "tools/examples/detect_text/image.hpp"

namespace weft::examples {

struct Point {
  double x = 0, y = 0;
};

/// A rotated rectangle around one line of text.
struct TextBox {
  std::array<Point, 4> corners;  ///< in pixels of the picture, in order around the rectangle
  double score = 0;              ///< mean probability of the pixels of its component, 0..1
};

/// f32[1,3,H,W]: blue, green, red planes, normalised by ImageNet's mean and deviation as PP-OCR was trained. H and W
/// are the picture's size scaled to at most `longest_side`, then rounded to multiples of 32 (at least 32).
ir::Tensor text_input(const Image& image, int longest_side = 960);

struct DetectionOptions {
  double pixel_threshold = 0.3;  ///< pixels above it belong to text
  double box_threshold = 0.6;    ///< boxes with a lower score are dropped
  double unclip = 1.5;           ///< the network shrinks text; boxes grow by area * unclip / perimeter
  double least_side = 3;         ///< of a box in pixels of the map, before it grows
};

/// Boxes from the probability map f32[1,1,H,W] (differentiable binarization, arXiv 1911.08947), from top to bottom,
/// scaled to a picture of `width` x `height`. Throws Error(type_mismatch) for any other type.
std::vector<TextBox> text_boxes(const ir::Tensor& map, int width, int height, const DetectionOptions& options = {});

/// The picture with the probability map glowing over it and the boxes drawn in.
Image overlay(const Image& image, const ir::Tensor& map, const std::vector<TextBox>& boxes);

}  // namespace weft::examples
