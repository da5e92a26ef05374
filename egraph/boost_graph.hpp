#pragma once
// A frozen e-graph as a Boost.Graph vertex-list and incidence graph, so that its algorithms run on it (components,
// orders, dominators). Vertices are canonical classes (their position in FrozenGraph::classes); an edge leads from a
// class to each child of each of its nodes.
#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>
#include <boost/iterator/counting_iterator.hpp>
#include <boost/property_map/property_map.hpp>
#include <utility>
#include <vector>

#include "egraph/frozen.hpp"

namespace weft::egraph {

/// Rows class -> children, by position. Cheap to build, holds no reference to the frozen graph.
class ClassGraph {
 public:
  explicit ClassGraph(const FrozenGraph& graph) {
    std::vector<uint32_t> position(graph.id_bound());
    for (uint32_t i = 0; i < graph.class_count(); ++i) position[graph.classes()[i].value] = i;
    begin_.push_back(0);
    for (ClassId id : graph.classes()) {
      for (NodeId node : graph.nodes(id))
        for (ClassId child : graph.children(node))
          target_.push_back(position[child.value]), source_.push_back(position[id.value]);
      begin_.push_back(static_cast<uint32_t>(target_.size()));
    }
  }
  uint32_t vertex_count() const { return static_cast<uint32_t>(begin_.size() - 1); }
  uint32_t begin(uint32_t vertex) const { return begin_[vertex]; }
  uint32_t source(uint32_t edge) const { return source_[edge]; }
  uint32_t target(uint32_t edge) const { return target_[edge]; }

 private:
  std::vector<uint32_t> begin_, source_, target_;
};

inline std::pair<boost::counting_iterator<uint32_t>, boost::counting_iterator<uint32_t>> vertices(const ClassGraph& g) {
  return {boost::counting_iterator<uint32_t>(0), boost::counting_iterator<uint32_t>(g.vertex_count())};
}
inline uint32_t num_vertices(const ClassGraph& g) { return g.vertex_count(); }
inline std::pair<boost::counting_iterator<uint32_t>, boost::counting_iterator<uint32_t>> out_edges(
    uint32_t v, const ClassGraph& g) {
  return {boost::counting_iterator<uint32_t>(g.begin(v)), boost::counting_iterator<uint32_t>(g.begin(v + 1))};
}
inline uint32_t out_degree(uint32_t v, const ClassGraph& g) { return g.begin(v + 1) - g.begin(v); }
inline uint32_t source(uint32_t edge, const ClassGraph& g) { return g.source(edge); }
inline uint32_t target(uint32_t edge, const ClassGraph& g) { return g.target(edge); }
inline boost::typed_identity_property_map<uint32_t> get(boost::vertex_index_t, const ClassGraph&) { return {}; }

}  // namespace weft::egraph

template <>
struct boost::graph_traits<weft::egraph::ClassGraph> {
  using vertex_descriptor = uint32_t;
  using edge_descriptor = uint32_t;
  using directed_category = boost::directed_tag;
  using edge_parallel_category = boost::allow_parallel_edge_tag;
  struct traversal_category : boost::incidence_graph_tag, boost::vertex_list_graph_tag {};
  using vertex_iterator = boost::counting_iterator<uint32_t>;
  using out_edge_iterator = boost::counting_iterator<uint32_t>;
  using vertices_size_type = uint32_t;
  using edges_size_type = uint32_t;
  using degree_size_type = uint32_t;
  static uint32_t null_vertex() { return 0xffffffffu; }
};
template <>
struct boost::property_map<weft::egraph::ClassGraph, boost::vertex_index_t> {
  using type = boost::typed_identity_property_map<uint32_t>;
  using const_type = type;
};
