#include "egraph/dot.hpp"

#include <fmt/format.h>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/graphviz.hpp>
#include <iterator>
#include <sstream>

#include "ir/support/utf8.hpp"

namespace weft::egraph {

namespace {

/// Properties are attribute lists as they stand in the text.
using Picture = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, std::string, std::string>;
using Vertex = Picture::vertex_descriptor;

constexpr size_t kLongestLabel = 60;  // code points
/// Tables in columns, outputs on the left. Where there are many edges they are lines, and Graphviz is told to stop
/// early: the last percent of beauty takes minutes.
constexpr std::string_view kHeader =
    "rankdir=LR; ranksep=0.7; nodesep=0.15;\n"
    "node [shape=plain, fontname=\"sans-serif\", fontsize=10];\n"
    "edge [fontname=\"sans-serif\", fontsize=8, color=\"#64748b\", arrowsize=0.6];\n";
constexpr size_t kMostSplines = 600;  // edges
constexpr std::string_view kChosenFill = "#fde68a", kChosenEdge = "#b45309", kClassFill = "#e2e8f0",
                           kMissingFill = "#fee2e2";

class DotWriter {
 public:
  DotWriter(const FrozenGraph& graph, const DotOptions& options)
      : graph_(graph), options_(options), selection_(select(graph, options)), vertex_(graph.id_bound()) {}

  std::string run() {
    for (size_t i = 0; i < selection_.classes.size(); ++i)
      vertex_[selection_.classes[i].value] = boost::add_vertex(table(i), picture_);
    if (selection_.hidden_classes)
      more_ = boost::add_vertex(fmt::format("[label=<{}>]", missing(selection_.hidden_classes, " classes")), picture_);
    for (const std::vector<NodeId>& nodes : selection_.nodes)
      for (NodeId node : nodes) add_edges(node);
    return text();
  }

 private:
  bool chosen(NodeId node) const {
    return options_.extraction && (*options_.extraction)[graph_.class_of(node)] == node;
  }

  static std::string missing(size_t count, std::string_view what) {
    return fmt::format(
        "<TABLE BORDER=\"0\" CELLBORDER=\"1\" CELLSPACING=\"0\"><TR><TD BGCOLOR=\"{}\">+{} more{}</TD></TR></TABLE>",
        kMissingFill, count, what);
  }

  std::string table(size_t position) const {
    const ClassId id = selection_.classes[position];
    std::string facts = options_.facts ? options_.facts(id) : std::string();
    std::string out = fmt::format(
        "[label=<<TABLE BORDER=\"0\" CELLBORDER=\"1\" CELLSPACING=\"0\" CELLPADDING=\"2\"><TR><TD PORT=\"c\" "
        "BGCOLOR=\"{}\"><FONT POINT-SIZE=\"8\">c{}{}{}</FONT></TD></TR>",
        kClassFill, id.value, facts.empty() ? "" : " ", escape_markup(shortened(facts, kLongestLabel)));
    for (NodeId node : selection_.nodes[position]) out += row(node);
    if (selection_.hidden[position])
      out += fmt::format("<TR><TD BGCOLOR=\"{}\">+{} more</TD></TR>", kMissingFill, selection_.hidden[position]);
    return out + "</TABLE>>]";
  }

  std::string row(NodeId node) const {
    const std::string name = options_.label ? options_.label(node) : graph_.symbols().name(graph_.symbol(node));
    std::string label = escape_markup(name, kLongestLabel);
    if (label.empty()) label = " ";
    if (options_.cost) {
      const std::optional<uint64_t> cost = options_.cost(node);
      label += fmt::format(" <FONT COLOR=\"#64748b\">[{}]</FONT>", cost ? fmt::format("{}", *cost) : "-");
    }
    return fmt::format("<TR><TD PORT=\"n{}\" ALIGN=\"LEFT\"{}>{}</TD></TR>", node.value,
                       chosen(node) ? fmt::format(" BGCOLOR=\"{}\"", kChosenFill) : "", label);
  }

  /// Where there are several operands, each edge says which it is.
  void add_edges(NodeId node) {
    const std::span<const ClassId> children = graph_.children(node);
    const Vertex from = vertex_[graph_.class_of(node).value];
    for (size_t i = 0; i < children.size(); ++i) {
      const bool shown = selection_.shown[children[i].value];
      if (!shown && !selection_.hidden_classes) continue;  // its only members may not be shown: no class of the picture
      std::string attributes = fmt::format("tailport=\"n{}:e\"", node.value);
      if (shown) attributes += ", headport=\"c:w\"";
      if (children.size() > 1) attributes += fmt::format(", taillabel=\"{}\"", i);
      if (!shown)
        attributes += ", style=dashed";
      else if (chosen(node))
        attributes += fmt::format(", color=\"{}\", penwidth=1.6", kChosenEdge);
      boost::add_edge(from, shown ? vertex_[children[i].value] : more_, fmt::format("[{}]", attributes), picture_);
    }
  }

  std::string text() const {
    std::ostringstream out;
    const auto vertex = [&](std::ostream& o, Vertex v) { o << picture_[v]; };
    const auto edge = [&](std::ostream& o, Picture::edge_descriptor e) { o << picture_[e]; };
    const auto graph = [&](std::ostream& o) {
      o << kHeader << (boost::num_edges(picture_) > kMostSplines ? "splines=line; nslimit=1;\n" : "");
    };
    boost::write_graphviz(out, picture_, vertex, edge, graph);
    return out.str();
  }

  const FrozenGraph& graph_;
  const DotOptions& options_;
  Selection selection_;
  std::vector<Vertex> vertex_;  // by class
  Vertex more_ = 0;
  Picture picture_;
};

}  // namespace

std::string write_dot(const FrozenGraph& graph, const DotOptions& options) { return DotWriter(graph, options).run(); }

}  // namespace weft::egraph
