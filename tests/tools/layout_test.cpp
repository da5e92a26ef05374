#include "tools/weft/layout.hpp"

#include <chrono>
#include <random>

#include "tests/catch.hpp"

using namespace weft::tools;

namespace {

void check(const std::vector<LayoutBox>& boxes, const std::vector<LayoutEdge>& edges, const Layout& layout) {
  REQUIRE(layout.boxes.size() == boxes.size());
  REQUIRE(layout.points.size() == edges.size());
  std::vector<size_t> order(boxes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(layout.boxes[a].x, layout.boxes[a].y) < std::pair(layout.boxes[b].x, layout.boxes[b].y);
  });
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t b = order[i];
    REQUIRE(layout.boxes[b].x >= 0);
    REQUIRE(layout.boxes[b].y >= -1e-6);
    REQUIRE(layout.boxes[b].x + boxes[b].width <= layout.width + 1e-6);
    REQUIRE(layout.boxes[b].y + boxes[b].height <= layout.height + 1e-6);
    if (i == 0) continue;
    const size_t a = order[i - 1];
    if (layout.boxes[a].x == layout.boxes[b].x)
      REQUIRE(layout.boxes[a].y + boxes[a].height < layout.boxes[b].y);
    else
      REQUIRE(layout.boxes[a].x + boxes[a].width < layout.boxes[b].x);
  }
  for (size_t e = 0; e < edges.size(); ++e) {
    const std::vector<Point>& path = layout.points[e];
    REQUIRE(path.size() >= 2);
    CHECK(path.front().x == layout.boxes[edges[e].from].x + boxes[edges[e].from].width);
    CHECK(path.front().y == layout.boxes[edges[e].from].y + edges[e].port);
    CHECK(path.back().x == layout.boxes[edges[e].to].x);
    if (layout.backward[e]) continue;
    for (size_t p = 1; p < path.size(); ++p) REQUIRE(path[p].x >= path[p - 1].x);
  }
}

/// Every box but the last has one group that leads to later boxes; others lead anywhere.
void random_graph(std::mt19937& random, size_t count, std::vector<LayoutBox>& boxes, std::vector<LayoutEdge>& edges) {
  for (size_t i = 0; i < count; ++i) boxes.push_back({50.0 + random() % 300, 20.0 + random() % 200});
  for (uint32_t i = 0; i + 1 < count; ++i)
    for (uint32_t group = 0; group < 1 + random() % 3; ++group)
      for (uint32_t operand = 0; operand < 1 + random() % 2; ++operand) {
        const uint32_t near = static_cast<uint32_t>(std::min<size_t>(count - 1, i + 1 + random() % 20));
        const uint32_t any = static_cast<uint32_t>(random() % count);
        edges.push_back({i, group == 0 ? near : any, 5.0 + group, 9, group, random() % 3 == 0});
      }
}

}  // namespace

TEST_CASE("boxes of a layout never meet and edges lead where they say", "[layout]") {
  check({}, {}, lay_out({}, {}));
  const std::vector<LayoutBox> one{{10, 10}};
  const std::vector<LayoutEdge> self{{0, 0, 3, 4, 0}};
  check(one, {}, lay_out(one, {}));
  check(one, self, lay_out(one, self));
  std::mt19937 random(7);
  for (size_t count : {2, 3, 10, 60, 400}) {
    std::vector<LayoutBox> boxes;
    std::vector<LayoutEdge> edges;
    random_graph(random, count, boxes, edges);
    const Layout layout = lay_out(boxes, edges), again = lay_out(boxes, edges);
    check(boxes, edges, layout);
    for (size_t b = 0; b < count; ++b)
      REQUIRE((layout.boxes[b].x == again.boxes[b].x && layout.boxes[b].y == again.boxes[b].y));
  }
}

TEST_CASE("what can lead forward does", "[layout]") {
  // 0 = f(1) or g(0'); 1 = h(2); 2 = i(1) or leaf: only i leads back
  const std::vector<LayoutBox> boxes(3, {100, 40});
  const std::vector<LayoutEdge> edges{{0, 1, 5, 5, 0}, {0, 0, 15, 5, 1}, {1, 2, 5, 5, 0}, {2, 1, 5, 5, 0}};
  std::vector<LayoutEdge> with_leaf = edges;
  Layout layout = lay_out(boxes, with_leaf);
  CHECK(layout.backward == std::vector<char>{0, 1, 0, 1});
  const std::vector<LayoutBox> more(4, {100, 40});
  with_leaf.push_back({2, 3, 25, 5, 1});  // now 2 can be made from 3
  layout = lay_out(more, with_leaf);
  CHECK(layout.backward == std::vector<char>{0, 1, 0, 1, 0});
  CHECK(layout.boxes[0].x < layout.boxes[1].x);
  CHECK(layout.boxes[1].x < layout.boxes[2].x);
  CHECK(layout.boxes[2].x < layout.boxes[3].x);
}

TEST_CASE("strong edges decide", "[layout]") {
  // 0 = f(1), 1 = g(2), 2 = h(3); a shortcut 0 = k(3) makes 0 shallower than 1: without strength f leads back
  const std::vector<LayoutBox> boxes(4, {100, 40});
  std::vector<LayoutEdge> edges{{0, 1, 5, 5, 0}, {0, 3, 15, 5, 1}, {1, 2, 5, 5, 0}, {2, 3, 5, 5, 0}};
  CHECK(lay_out(boxes, edges).backward == std::vector<char>{1, 0, 0, 0});
  for (LayoutEdge& edge : edges) edge.strong = true;
  CHECK(lay_out(boxes, edges).backward == std::vector<char>{0, 0, 0, 0});
  edges.push_back({2, 0, 25, 5, 1, true});  // one of a circle has to lead back
  const Layout layout = lay_out(boxes, edges);
  CHECK(std::count(layout.backward.begin(), layout.backward.end(), 1) == 1);
  check(boxes, edges, layout);
}

TEST_CASE("a chain of 20,000 boxes and a box with 20,000 operands are laid out", "[layout]") {
  std::vector<LayoutBox> boxes(20'000, {80, 30});
  std::vector<LayoutEdge> chain, star;
  for (uint32_t i = 0; i + 1 < boxes.size(); ++i) {
    chain.push_back({i, i + 1, 20, 10, 0});
    star.push_back({0, i + 1, 20, 10, 0});
  }
  chain.push_back({0, static_cast<uint32_t>(boxes.size() - 1), 20, 10, 1});
  CHECK(lay_out(boxes, chain).boxes.back().x > lay_out(boxes, chain).boxes.front().x);
  CHECK(lay_out(boxes, star).boxes.size() == boxes.size());
}
