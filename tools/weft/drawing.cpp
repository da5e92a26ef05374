#include "tools/weft/drawing.hpp"

#include <fmt/format.h>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/graphviz.hpp>
#include <sstream>
#include <unordered_map>

#include "ir/support/utf8.hpp"
#include "ir/text.hpp"

namespace weft::tools {
namespace {

struct VertexStyle {
  std::string label;  // already escaped
  std::string_view shape = "box", fill = "white";
};
using Picture = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, VertexStyle, std::string>;
using Vertex = Picture::vertex_descriptor;

constexpr std::string_view kInputFill = "#dbeafe", kParameterFill = "#e5e7eb", kOutputFill = "#dcfce7",
                           kMissingFill = "#fee2e2";

/// Adds up to a number of vertices; what is beyond is counted, and edges to it go to one node that says so.
class Sketch {
 public:
  explicit Sketch(size_t most) : most_(most) {}
  Vertex add(std::string label, std::string_view shape = "box", std::string_view fill = "white") {
    if (boost::num_vertices(picture_) - (missing_ ? 1 : 0) >= most_) {
      if (!missing_) missing_vertex_ = boost::add_vertex({"", "box", kMissingFill}, picture_);
      picture_[missing_vertex_].label = fmt::format("+{} more", ++missing_);
      return missing_vertex_;
    }
    return boost::add_vertex({std::move(label), shape, fill}, picture_);
  }
  void connect(Vertex from, Vertex to, std::string label) {
    if (missing_ && from == missing_vertex_ && to == missing_vertex_) return;
    boost::add_edge(from, to, std::move(label), picture_);
  }
  std::string write(std::string_view title) const {
    std::ostringstream out;
    auto vertex = [&](std::ostream& o, Vertex v) {
      const VertexStyle& s = picture_[v];
      o << fmt::format("[label=\"{}\", shape={}, style=\"filled,rounded\", fillcolor=\"{}\"]", s.label, s.shape,
                       s.fill);
    };
    auto edge = [&](std::ostream& o, Picture::edge_descriptor e) { o << fmt::format("[label=\"{}\"]", picture_[e]); };
    auto graph = [&](std::ostream& o) {
      o << fmt::format(
          "label=\"{}\";\nnode [fontname=\"sans-serif\", fontsize=11];\nedge [fontname=\"sans-serif\", fontsize=9];\n",
          dot_text(title));
    };
    boost::write_graphviz(out, picture_, vertex, edge, graph);
    return out.str();
  }

 private:
  size_t most_, missing_ = 0;
  Vertex missing_vertex_ = 0;
  Picture picture_;
};

/// "\n" in DOT is a line break of the label.
std::string lines(std::initializer_list<std::string> parts) {
  std::string text;
  for (const std::string& part : parts)
    if (!part.empty()) text += (text.empty() ? "" : "\\n") + part;
  return text;
}

}  // namespace

std::string dot_text(std::string_view text, size_t most) {
  std::string out;
  for (char c : printable(text, most)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string draw_graph(const ir::Graph& graph, const DrawOptions& options) {
  Sketch sketch(options.max_nodes);
  std::unordered_map<ir::NodeId, Vertex> vertices;
  for (ir::NodeId id : graph.live_nodes()) {
    const ir::Node& node = graph.node(id);
    std::string name = dot_text(node.name);
    switch (node.op) {
      case ir::Op::input:
        vertices[id] = sketch.add(lines({name, to_string(node.types[0])}), "ellipse", kInputFill);
        continue;
      case ir::Op::parameter:
        if (options.parameters)
          vertices[id] = sketch.add(lines({name, to_string(node.types[0])}), "ellipse", kParameterFill);
        continue;
      case ir::Op::constant:
        if (options.parameters)
          vertices[id] = sketch.add(dot_text(ir::print_tensor(node.tensor), 40), "ellipse", kParameterFill);
        continue;
      default:
        break;
    }
    Vertex v = vertices[id] = sketch.add(
        lines({std::string(to_string(node.op)), dot_text(ir::print_attributes(*node.attributes), 60), name}));
    for (ir::Value operand : node.operands)
      if (auto from = vertices.find(operand.node); from != vertices.end())
        sketch.connect(from->second, v, to_string(graph.type(operand)));
  }
  for (const ir::Output& output : graph.outputs()) {
    Vertex v = sketch.add(dot_text(output.name), "ellipse", kOutputFill);
    if (auto from = vertices.find(output.value.node); from != vertices.end())
      sketch.connect(from->second, v, to_string(graph.type(output.value)));
  }
  return sketch.write(graph.name());
}

std::string draw_plan(const ir::Plan& plan, const DrawOptions& options) {
  Sketch sketch(options.max_nodes);
  std::unordered_map<uint32_t, Vertex> writer;  // of each buffer, so far
  for (const ir::PlanValue& v : plan.inputs)
    if (v.buffer.valid())
      writer[v.buffer.value] = sketch.add(lines({dot_text(v.name), to_string(v.type)}), "ellipse", kInputFill);
  if (options.parameters)
    for (const ir::PlanValue& v : plan.parameters)
      if (v.buffer.valid())
        writer[v.buffer.value] = sketch.add(lines({dot_text(v.name), to_string(v.type)}), "ellipse", kParameterFill);
  auto connect = [&](ir::BufferId from, Vertex to) {
    auto found = writer.find(from.value);
    if (found != writer.end()) sketch.connect(found->second, to, fmt::format("{} B", plan.buffers[from.value].bytes));
  };
  auto add_steps = [&](const std::vector<ir::Step>& steps, std::string_view fill) {
    for (const ir::Step& step : steps) {
      Vertex v = sketch.add(lines({dot_text(step.backend + "." + step.kernel), dot_text(step.source, 60),
                                   fmt::format("{} parts, {:.1f} us", step.resources.parts,
                                               static_cast<double>(step.nanoseconds) / 1e3)}),
                            "box", fill);
      for (ir::BufferId id : step.inputs) connect(id, v);
      for (ir::BufferId id : step.outputs) writer[id.value] = v;
    }
  };
  if (options.parameters) add_steps(plan.prologue, kParameterFill);
  add_steps(plan.steps, "white");
  for (auto [from, to] : plan.copies) {
    Vertex v = sketch.add("copy");
    connect(from, v);
    writer[to.value] = v;
  }
  for (const ir::PlanValue& v : plan.outputs)
    connect(v.buffer, sketch.add(lines({dot_text(v.name), to_string(v.type)}), "ellipse", kOutputFill));
  return sketch.write(plan.graph_name);
}

}  // namespace weft::tools
