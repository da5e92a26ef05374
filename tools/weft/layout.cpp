#include "tools/weft/layout.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>

namespace weft::tools {
namespace {

constexpr uint32_t kNone = 0xffffffffu;
constexpr double kColumnGap = 70, kBoxGap = 14, kBendGap = 8;
constexpr size_t kMostBends = 60'000;  // beyond, long edges are straight
constexpr int kOrderSweeps = 12, kPlaceSweeps = 16;

/// A box, or a bend of the long edges to one box.
struct Item {
  uint32_t box = kNone;
  double height = 0;
  double place = 0;  // of its top
  std::vector<uint32_t> left, right;
  double middle() const { return place + height / 2; }
};

class Layouter {
 public:
  Layouter(std::span<const LayoutBox> boxes, std::span<const LayoutEdge> edges) : boxes_(boxes), edges_(edges) {}

  Layout run() {
    if (boxes_.empty()) return {};
    find_heights();
    cut_cycles();
    choose_columns();
    make_items();
    for (int sweep = 0; sweep < kOrderSweeps; ++sweep) order(sweep % 2 == 0);
    for (int sweep = 0; sweep < kPlaceSweeps; ++sweep) place(sweep % 2 == 0);
    return finish();
  }

 private:
  /// Boxes with strong edges: the longest path along these (but those that close a circle, as a depth first search
  /// finds them). Others: 0 without edges, else 1 + the largest height in the best of their groups.
  void find_heights() {
    height_.assign(boxes_.size(), kNone);
    find_strong_heights();
    struct Group {
      uint32_t box, missing, height;
    };
    std::vector<Group> groups;
    std::vector<std::vector<uint32_t>> users(boxes_.size());  // groups, by the box that they need
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> known;
    std::vector<char> has_edges(boxes_.size());
    for (const LayoutEdge& edge : edges_) {
      auto [it, fresh] = known.try_emplace({edge.from, edge.group}, static_cast<uint32_t>(groups.size()));
      if (fresh) groups.push_back({edge.from, 0, 0});
      ++groups[it->second].missing;
      users[edge.to].push_back(it->second);
      has_edges[edge.from] = 1;
    }
    using Entry = std::pair<uint32_t, uint32_t>;  // height, box
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    for (uint32_t b = 0; b < boxes_.size(); ++b) {
      if (!has_edges[b]) height_[b] = 0;
      if (height_[b] != kNone) queue.emplace(height_[b], b);
    }
    while (!queue.empty()) {
      const auto [height, box] = queue.top();
      queue.pop();
      for (uint32_t g : users[box]) {
        groups[g].height = std::max(groups[g].height, height);
        if (--groups[g].missing || height_[groups[g].box] != kNone) continue;
        height_[groups[g].box] = groups[g].height + 1;
        queue.emplace(groups[g].height + 1, groups[g].box);
      }
    }
  }

  void find_strong_heights() {
    std::vector<std::vector<uint32_t>> targets(boxes_.size());
    for (const LayoutEdge& edge : edges_)
      if (edge.strong) targets[edge.from].push_back(edge.to);
    std::vector<uint32_t> next(boxes_.size()), stack;
    std::vector<char> open(boxes_.size());
    for (uint32_t start = 0; start < boxes_.size(); ++start) {
      if (height_[start] != kNone || targets[start].empty()) continue;
      stack.push_back(start), open[start] = 1;
      while (!stack.empty()) {
        const uint32_t box = stack.back();
        if (next[box] < targets[box].size()) {
          const uint32_t to = targets[box][next[box]++];
          if (height_[to] == kNone && !open[to]) stack.push_back(to), open[to] = 1;
          continue;
        }
        uint32_t height = 0;
        for (uint32_t to : targets[box])
          if (height_[to] != kNone) height = std::max(height, height_[to] + 1);  // else it closes a circle
        height_[box] = height, open[box] = 0;
        stack.pop_back();
      }
    }
  }

  void cut_cycles() {
    result_.backward.resize(edges_.size());
    for (size_t e = 0; e < edges_.size(); ++e)
      result_.backward[e] = height_[edges_[e].from] == kNone ? edges_[e].from >= edges_[e].to
                                                             : height_[edges_[e].to] >= height_[edges_[e].from];
  }

  /// Longest path from the left; then boxes that the first one does not need go as far right as their operands let
  /// them.
  void choose_columns() {
    std::vector<std::vector<uint32_t>> targets(boxes_.size());
    std::vector<uint32_t> waiting(boxes_.size());
    for (size_t e = 0; e < edges_.size(); ++e)
      if (!result_.backward[e]) targets[edges_[e].from].push_back(edges_[e].to), ++waiting[edges_[e].to];
    std::vector<char> needed(boxes_.size());
    needed[0] = 1;
    std::vector<uint32_t> queue;
    for (uint32_t b = 0; b < boxes_.size(); ++b)
      if (!waiting[b]) queue.push_back(b);
    column_.assign(boxes_.size(), 0);
    for (size_t i = 0; i < queue.size(); ++i)
      for (uint32_t to : targets[queue[i]]) {
        column_[to] = std::max(column_[to], column_[queue[i]] + 1);
        needed[to] |= needed[queue[i]];
        if (--waiting[to] == 0) queue.push_back(to);
      }
    std::vector<char> anchored = needed;
    for (size_t i = queue.size(); i-- > 0;) {
      const uint32_t box = queue[i];
      uint32_t nearest = kNone;
      for (uint32_t to : targets[box])
        if (anchored[to]) nearest = std::min(nearest, column_[to]);
      if (!anchored[box] && nearest != kNone) column_[box] = nearest - 1, anchored[box] = 1;
    }
    for (uint32_t box : queue)  // leaves of what was moved go with it
      for (uint32_t to : targets[box])
        if (!anchored[to]) column_[to] = std::max(column_[to], column_[box] + 1);
    std::vector<char> placed(boxes_.size());
    for (uint32_t b = 0; b < boxes_.size(); ++b) placed[b] = needed[b] || !targets[b].empty();
    for (const std::vector<uint32_t>& list : targets)
      for (uint32_t to : list) placed[to] = 1;
    for (const LayoutEdge& edge : edges_)  // what only edges backward lead to or from stands beside its neighbour
      for (const auto& [box, other] : {std::pair(edge.from, edge.to), std::pair(edge.to, edge.from)})
        if (!placed[box] && placed[other]) placed[box] = 1, column_[box] = column_[other];
  }

  void make_items() {
    const uint32_t last = *std::max_element(column_.begin(), column_.end());
    columns_.resize(last + 1);
    items_.resize(boxes_.size());
    for (uint32_t b = 0; b < boxes_.size(); ++b) {
      items_[b].box = b, items_[b].height = boxes_[b].height;
      columns_[column_[b]].push_back(b);
    }
    std::vector<uint32_t> first(boxes_.size(), kNone);  // column of the leftmost user
    size_t bends = 0;
    for (size_t e = 0; e < edges_.size(); ++e)
      if (!result_.backward[e]) first[edges_[e].to] = std::min(first[edges_[e].to], column_[edges_[e].from]);
    for (uint32_t b = 0; b < boxes_.size(); ++b)
      if (first[b] != kNone) bends += column_[b] - first[b] - 1;
    bends_.resize(boxes_.size());
    for (uint32_t b = 0; b < boxes_.size() && bends <= kMostBends; ++b)
      for (uint32_t c = first[b] == kNone ? column_[b] : first[b] + 1; c < column_[b]; ++c) {
        const auto id = static_cast<uint32_t>(items_.size());
        items_.push_back({});
        if (!bends_[b].empty()) join(bends_[b].back(), id);
        bends_[b].push_back(id);
        columns_[c].push_back(id);
      }
    for (uint32_t b = 0; b < boxes_.size(); ++b)
      if (!bends_[b].empty()) join(bends_[b].back(), b);
    for (size_t e = 0; e < edges_.size(); ++e)
      if (!result_.backward[e]) join(edges_[e].from, next_item(edges_[e]));
  }

  void join(uint32_t left, uint32_t right) {
    items_[left].right.push_back(right);
    items_[right].left.push_back(left);
  }

  /// The item right of the start of an edge: a bend or the target itself.
  uint32_t next_item(const LayoutEdge& edge) const {
    const std::vector<uint32_t>& bends = bends_[edge.to];
    const uint32_t distance = column_[edge.to] - column_[edge.from];
    return distance <= 1 || bends.size() < distance - 1 ? edge.to : bends[bends.size() - (distance - 1)];
  }

  void order(bool rightwards) {
    std::vector<double> position(items_.size());
    for (const std::vector<uint32_t>& column : columns_)
      for (size_t i = 0; i < column.size(); ++i)
        position[column[i]] = (static_cast<double>(i) + 0.5) / static_cast<double>(column.size());
    for (size_t k = 0; k < columns_.size(); ++k) {
      std::vector<uint32_t>& column = columns_[rightwards ? k : columns_.size() - 1 - k];
      std::vector<std::pair<double, uint32_t>> keys;
      for (uint32_t id : column) {
        const std::vector<uint32_t>& near = rightwards ? items_[id].left : items_[id].right;
        double sum = 0;
        for (uint32_t other : near) sum += position[other];
        keys.emplace_back(near.empty() ? position[id] : sum / static_cast<double>(near.size()), id);
      }
      std::stable_sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      for (size_t i = 0; i < keys.size(); ++i) {
        column[i] = keys[i].second;
        position[column[i]] = (static_cast<double>(i) + 0.5) / static_cast<double>(keys.size());
      }
    }
  }

  double gap(uint32_t a, uint32_t b) const {
    return items_[a].box == kNone && items_[b].box == kNone ? kBendGap : kBoxGap;
  }

  /// Every item as near to the mean of its neighbours as the order allows: least squares under y[i+1] >= y[i] + room,
  /// which is isotonic regression, solved by pooling adjacent violators.
  void place(bool rightwards) {
    for (size_t k = 0; k < columns_.size(); ++k) {
      const std::vector<uint32_t>& column = columns_[rightwards ? k : columns_.size() - 1 - k];
      struct Block {
        double sum, weight;
        size_t count;
        double mean() const { return sum / weight; }
      };
      std::vector<Block> blocks;
      std::vector<double> offset(column.size());
      for (size_t i = 1; i < column.size(); ++i)
        offset[i] = offset[i - 1] + items_[column[i - 1]].height + gap(column[i - 1], column[i]);
      for (size_t i = 0; i < column.size(); ++i) {
        const auto [wanted, weight] = wanted_place(column[i]);
        blocks.push_back({(wanted - offset[i]) * weight, weight, 1});
        while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
          const Block top = blocks.back();
          blocks.pop_back();
          blocks.back().sum += top.sum, blocks.back().weight += top.weight, blocks.back().count += top.count;
        }
      }
      size_t i = 0;
      for (const Block& block : blocks)
        for (size_t n = 0; n < block.count; ++n, ++i) items_[column[i]].place = block.mean() + offset[i];
    }
  }

  std::pair<double, double> wanted_place(uint32_t id) const {
    const Item& item = items_[id];
    double sum = 0, weight = 0;
    for (const std::vector<uint32_t>* near : {&item.left, &item.right})
      for (uint32_t other : *near) {
        const double w = (item.box == kNone && items_[other].box == kNone) ? 8 : 1;  // long edges are straight
        sum += w * items_[other].middle(), weight += w;
      }
    if (weight == 0) return {item.place, 0.1};
    return {sum / weight - item.height / 2, weight};
  }

  Layout finish() {
    std::vector<double> left(columns_.size()), width(columns_.size());
    double top = items_[0].place, bottom = top;
    for (const Item& item : items_)
      top = std::min(top, item.place), bottom = std::max(bottom, item.place + item.height);
    for (uint32_t b = 0; b < boxes_.size(); ++b) width[column_[b]] = std::max(width[column_[b]], boxes_[b].width);
    for (size_t c = 1; c < columns_.size(); ++c) left[c] = left[c - 1] + width[c - 1] + kColumnGap;
    for (uint32_t b = 0; b < boxes_.size(); ++b) result_.boxes.push_back({left[column_[b]], items_[b].place - top});
    for (const LayoutEdge& edge : edges_) {
      std::vector<Point> path{
          {result_.boxes[edge.from].x + boxes_[edge.from].width, result_.boxes[edge.from].y + edge.port}};
      if (!result_.backward[static_cast<size_t>(&edge - edges_.data())])
        for (uint32_t at = next_item(edge), c = column_[edge.from] + 1; at != edge.to; at = items_[at].right[0], ++c) {
          path.push_back({left[c], items_[at].place - top});
          path.push_back({left[c] + width[c], items_[at].place - top});
        }
      path.push_back({result_.boxes[edge.to].x, result_.boxes[edge.to].y + edge.entry});
      result_.points.push_back(std::move(path));
    }
    result_.width = left.back() + width.back(), result_.height = bottom - top;
    return std::move(result_);
  }

  std::span<const LayoutBox> boxes_;
  std::span<const LayoutEdge> edges_;
  std::vector<uint32_t> height_, column_;       // by box
  std::vector<Item> items_;                     // boxes, then bends
  std::vector<std::vector<uint32_t>> columns_;  // items from top to bottom
  std::vector<std::vector<uint32_t>> bends_;    // by box that the edges lead to, from left to right
  Layout result_;
};

}  // namespace

Layout lay_out(std::span<const LayoutBox> boxes, std::span<const LayoutEdge> edges) {
  return Layouter(boxes, edges).run();
}

}  // namespace weft::tools
