#include "egraph/dot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "ir/support/error.hpp"

namespace weft::egraph {

std::string escape_dot_label(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (std::string_view("\\\"{}|<> ").find(c) != std::string_view::npos)
      (out += '\\') += c;
    else if (static_cast<unsigned char>(c) < 32 || c == 127)
      out += fmt::format("\\\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out;
}

namespace {

class DotWriter {
 public:
  DotWriter(const FrozenGraph& graph, const DotOptions& options)
      : graph_(graph), options_(options), shown_(graph.id_bound()), hidden_(graph.id_bound()) {}

  std::string run() {
    choose_classes();
    choose_nodes();
    out_ = "digraph egraph {\n  compound=true; clusterrank=local; rankdir=TB;\n  node [shape=record, fontsize=10];\n";
    for (ClassId id : classes_) write_class(id);
    if (left_out_) fmt::format_to(to(), "  more [shape=plaintext, label=\"+{} more classes\"];\n", left_out_);
    for (ClassId id : classes_)
      for (NodeId node : shown_[id.value]) write_edges(node);
    return out_ + "}\n";
  }

 private:
  std::back_insert_iterator<std::string> to() { return std::back_inserter(out_); }

  bool wanted(NodeId node) const {
    return !options_.only_extracted || (options_.extraction && (*options_.extraction)[graph_.class_of(node)] == node);
  }

  /// Breadth first from the roots, or all.
  void choose_classes() {
    const auto canonical = [&](ClassId id) {
      if (id.value >= graph_.id_bound()) fail(ErrorCode::out_of_range, "class {} does not exist", id.value);
      return graph_.find(id);
    };
    std::vector<char> allowed(graph_.id_bound(), options_.only.empty()), seen(graph_.id_bound());
    for (ClassId id : options_.only) allowed[canonical(id).value] = 1;
    const auto reach = [&](ClassId id) {
      if (!std::exchange(seen[id.value], 1)) (allowed[id.value] ? classes_.push_back(id) : void(++left_out_));
    };
    if (options_.roots.empty()) {
      for (ClassId id : graph_.classes()) reach(id);
      return;
    }
    for (ClassId root : options_.roots) reach(canonical(root));
    size_t begin = 0;
    for (uint32_t level = 0; begin < classes_.size(); ++level) {
      const size_t end = classes_.size();
      for (; begin < end; ++begin)
        for (NodeId node : graph_.nodes(classes_[begin])) {
          if (!wanted(node)) continue;
          for (ClassId child : graph_.children(node)) {
            if (level < options_.depth)
              reach(child);
            else if (!std::exchange(seen[child.value], 1))
              ++left_out_;
          }
        }
    }
  }

  void choose_nodes() {
    size_t room = options_.max_nodes;
    std::vector<ClassId> kept;
    for (ClassId id : classes_) {
      std::vector<NodeId>& shown = shown_[id.value];
      for (NodeId node : graph_.nodes(id)) {
        if (!wanted(node)) continue;
        if (room == 0)
          ++hidden_[id.value];
        else
          shown.push_back(node), --room;
      }
      if (shown.empty())
        left_out_ += hidden_[id.value] > 0;
      else
        kept.push_back(id);
    }
    classes_ = std::move(kept);
  }

  void write_class(ClassId id) {
    const std::string facts = options_.facts ? "\\n" + escape_dot_label(options_.facts(id)) : "";
    fmt::format_to(to(), "  subgraph cluster_{0} {{\n    style=dotted; label=\"c{0}{1}\";\n", id.value, facts);
    for (NodeId node : shown_[id.value]) write_node(node);
    if (hidden_[id.value])
      fmt::format_to(to(), "    more{} [shape=plaintext, label=\"+{} more\"];\n", id.value, hidden_[id.value]);
    out_ += "  }\n";
  }

  void write_node(NodeId node) {
    std::string label = escape_dot_label(graph_.symbols().name(graph_.symbol(node)));
    if (options_.cost) {
      const std::optional<uint64_t> cost = options_.cost(node);
      label += cost ? fmt::format("\\ [{}]", *cost) : "\\ [-]";
    }
    const size_t arity = graph_.children(node).size();
    std::string ports;
    for (size_t i = 0; i < arity; ++i) ports += fmt::format("{}<p{}> {}", i ? "|" : "", i, i);
    const bool chosen = options_.extraction && (*options_.extraction)[graph_.class_of(node)] == node;
    fmt::format_to(to(), "    n{} [label=\"{{{}{}}}\"{}];\n", node.value, label, arity ? "|{" + ports + "}" : "",
                   chosen ? ", style=bold, color=red" : "");
  }

  void write_edges(NodeId node) {
    const std::span<const ClassId> children = graph_.children(node);
    for (size_t i = 0; i < children.size(); ++i) {
      const std::vector<NodeId>& target = shown_[children[i].value];
      if (target.empty()) {
        if (left_out_) fmt::format_to(to(), "  n{}:p{} -> more [label=\"{}\", style=dashed];\n", node.value, i, i);
      } else if (children[i] == graph_.class_of(node)) {  // an edge into its own cluster has no lhead
        fmt::format_to(to(), "  n{}:p{} -> n{}:n [label=\"{}\"];\n", node.value, i, target[0].value, i);
      } else {
        fmt::format_to(to(), "  n{}:p{} -> n{} [lhead=cluster_{}, label=\"{}\"];\n", node.value, i, target[0].value,
                       children[i].value, i);
      }
    }
  }

  const FrozenGraph& graph_;
  const DotOptions& options_;
  std::vector<ClassId> classes_;
  std::vector<std::vector<NodeId>> shown_;  // by class
  std::vector<size_t> hidden_;              // by class
  size_t left_out_ = 0;                     // classes
  std::string out_;
};

}  // namespace

std::string write_dot(const FrozenGraph& graph, const DotOptions& options) { return DotWriter(graph, options).run(); }

}  // namespace weft::egraph
