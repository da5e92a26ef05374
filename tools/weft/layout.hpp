#pragma once
// Where the boxes of a picture stand: in columns, so that edges lead from left to right as far as that is possible.
#include <cstdint>
#include <span>
#include <vector>

namespace weft::tools {

struct Point {
  double x = 0, y = 0;
};
struct LayoutBox {
  double width = 0, height = 0;
};
/// From a place on the right side of a box (`port` below its top) to the left side of another (`entry` below its top).
struct LayoutEdge {
  uint32_t from = 0, to = 0;
  double port = 0, entry = 0;
  uint32_t group = 0;   ///< of a box, edges of one group are needed together (the operands of one node)
  bool strong = false;  ///< leads to the right before all others do
};
struct Layout {
  std::vector<Point> boxes;                ///< top left
  std::vector<std::vector<Point>> points;  ///< by edge: from its port to its entry
  std::vector<char> backward;              ///< by edge: leads to a column that is no further right
  double width = 0, height = 0;
};

/// Layers after Sugiyama, Tagawa and Toda (IEEE Trans. SMC 11(2), 1981): cycles are cut where an edge leads to a box
/// that cannot be made earlier than its user (a box is made when one of its groups is), long edges to one box share
/// their bends, boxes are ordered by the barycentre of their neighbours and then moved towards them by isotonic
/// regression. Deterministic; near linear but for sorting.
Layout lay_out(std::span<const LayoutBox> boxes, std::span<const LayoutEdge> edges);

}  // namespace weft::tools
