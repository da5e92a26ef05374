#pragma once
// The e-graph of a search as a picture: text for Graphviz, or all of it as data for a page that can be explored.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "passes/recorded_search.hpp"

namespace weft::passes {

/// What is shown; see egraph/selection.hpp.
struct PictureOptions {
  size_t max_nodes = 500;
  bool only_extracted = false;
  bool costs = false, facts = false;     ///< in Graphviz's text
  std::vector<ir::NodeId> roots;         ///< nodes of the given graph to start from; empty: its outputs
  uint32_t depth = egraph::kNone;        ///< how far from them
  std::vector<egraph::ClassId> classes;  ///< only these; empty: all
};

/// Throws Error(invalid_argument) for a root that is no longer part of the graph, Error(out_of_range) for a class that
/// does not exist.
std::string egraph_dot(const RecordedSearch& search, const PictureOptions& options = {});

struct PictureNode {
  uint32_t id = 0;
  std::string label, text;       ///< one line; in full
  std::optional<uint64_t> cost;  ///< nanoseconds of its own
  bool chosen = false;
  bool kernel = false;
  Birth made;
  std::string computes;            ///< names of the user's nodes, of a chosen kernel
  std::vector<uint32_t> operands;  ///< classes
};
/// At `stage`, the classes of rows `a` and `b` became one.
struct PictureMerge {
  uint32_t a = 0, b = 0;
  Birth why;
};
struct PictureClass {
  uint32_t id = 0;
  std::string facts;
  std::vector<std::string> names;  ///< of the user's nodes that have this value
  std::vector<PictureNode> nodes;
  std::vector<PictureMerge> merges;  ///< in order of time; fewer than nodes
  size_t hidden = 0;                 ///< members not shown
  bool output = false;
};
struct EGraphPicture {
  std::vector<Stage> stages;
  std::vector<PictureClass> classes;  ///< breadth first from the roots
  size_t hidden_classes = 0;
  uint64_t cost = 0, lower_bound = 0;
  bool proven = false;
  std::string rolled;  ///< what was left out of the search because it repeats; empty where nothing was
};
EGraphPicture egraph_picture(const RecordedSearch& search, const PictureOptions& options = {});

}  // namespace weft::passes
