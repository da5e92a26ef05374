#include "tools/weft/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "ir/support/error.hpp"
#include "ir/support/utf8.hpp"
#include "ir/target.hpp"
#include "ir/text.hpp"
#include "tools/weft/layout.hpp"

namespace weft::tools {

std::vector<ir::RuleText> page_texts();  // generated from html/

namespace {

using nlohmann::json;
using passes::EGraphPicture;
using passes::PictureClass;
using passes::PictureNode;

// Sizes in CSS pixels at zoom 1; a monospaced letter of 11 px is 6.63 wide in most fonts.
constexpr double kHeader = 19, kRow = 18, kLetter = 6.7;
constexpr size_t kLongestRow = 56, kLongestHead = 72, kLongestName = 40;

size_t letters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

/// As the page prints it, to leave room for it.
std::string time_text(uint64_t ns) {
  if (ns < 1000) return fmt::format("{} ns", ns);
  return ns < 1'000'000 ? fmt::format("{:.1f} us", static_cast<double>(ns) / 1e3)
                        : fmt::format("{:.2f} ms", static_cast<double>(ns) / 1e6);
}

class PageWriter {
 public:
  PageWriter(const std::string& title, std::string_view kind, const EGraphPicture& picture)
      : title_(title), kind_(kind), picture_(picture) {
    for (uint32_t i = 0; i < picture.classes.size(); ++i) position_[picture.classes[i].id] = i;
  }

  std::string run() {
    for (const PictureClass& c : picture_.classes) add_class(c);
    place();
    json data{{"title", printable(title_)},
              {"kind", kind_},
              {"header", kHeader},
              {"row", kRow},
              {"cost", picture_.cost},
              {"lowerBound", picture_.lower_bound},
              {"proven", picture_.proven},
              {"hiddenClasses", picture_.hidden_classes},
              {"rolled", picture_.rolled},
              {"rules", rules_},
              {"classes", std::move(classes_)},
              {"width", std::max(1.0, layout_.width)},
              {"height", std::max(1.0, layout_.height)}};
    data["stages"] = json::array();
    for (const passes::Stage& s : picture_.stages)
      data["stages"].push_back({{"name", s.name}, {"nodes", s.nodes}, {"classes", s.classes}});
    return fill({{"title", escape_markup(title_, 80)}, {"data", inside_script(data)}});
  }

 private:
  /// ASCII, and nothing in it can end or open an element: a "<" only stands inside of strings.
  static std::string inside_script(const json& data) {
    std::string out;
    for (char c : data.dump(-1, ' ', true, json::error_handler_t::replace)) {
      if (c == '<')
        out += "\\u003c";
      else
        out += c;
    }
    return out;
  }

  static std::string text(std::string_view name) {
    for (const ir::RuleText& file : page_texts())
      if (std::string_view(file.file).ends_with(name)) return file.text;
    throw Error(ErrorCode::internal, fmt::format("no {} is built in", name));
  }

  /// page.html, where {{NAME}} stands for a value, else for the file of that name.
  static std::string fill(const std::map<std::string, std::string, std::less<>>& values) {
    const std::string page = text("page.html");
    std::string out;
    size_t at = 0;
    for (size_t open = page.find("{{"); open != std::string::npos; open = page.find("{{", at)) {
      const size_t close = page.find("}}", open);
      out.append(page, at, open - at);
      const std::string name = page.substr(open + 2, close - open - 2);
      const auto value = values.find(name);
      out += value == values.end() ? text(name) : value->second;
      at = close + 2;
    }
    return out.append(page, at);
  }

  uint32_t rule(const passes::Birth& birth) {
    const auto [it, fresh] = rule_ids_.try_emplace({birth.rule, birth.origin}, static_cast<uint32_t>(rule_ids_.size()));
    if (fresh) rules_.push_back({birth.rule, birth.origin});
    return it->second;
  }

  void add_class(const PictureClass& c) {
    std::string head = kind_ == "egraph" ? fmt::format("c{}", c.id) : "";
    if (!c.names.empty()) head += (head.empty() ? "" : " ") + shortened(c.names[0], kLongestName);
    head = printable(head + (head.empty() || c.facts.empty() ? "" : "  ") + c.facts, kLongestHead);
    size_t widest = letters(head);
    std::vector<const PictureNode*> nodes;
    for (const PictureNode& node : c.nodes) nodes.push_back(&node);
    std::stable_sort(nodes.begin(), nodes.end(), [](auto* a, auto* b) { return a->id < b->id; });
    std::vector<uint32_t> row_of(c.nodes.size());
    json rows = json::array();
    for (const PictureNode* node : nodes) {
      row_of[static_cast<size_t>(node - c.nodes.data())] = static_cast<uint32_t>(rows.size());
      rows.push_back(row(*node, widest));
    }
    json merges = json::array();
    for (const passes::PictureMerge& m : c.merges)
      merges.push_back({row_of[m.a], row_of[m.b], m.why.stage, rule(m.why)});
    const double width = 22 + kLetter * static_cast<double>(widest);
    const double height = kHeader + kRow * static_cast<double>(c.nodes.size() + (c.hidden > 0));
    json names = json::array();
    for (const std::string& name : c.names) names.push_back(printable(name, 200));
    boxes_.push_back({width, height});
    classes_.push_back({{"id", c.id},
                        {"head", head},
                        {"facts", printable(c.facts, 400)},
                        {"names", std::move(names)},
                        {"output", c.output},
                        {"hidden", c.hidden},
                        {"w", width},
                        {"h", height},
                        {"nodes", std::move(rows)},
                        {"merges", std::move(merges)}});
    add_edges(nodes);
  }

  json row(const PictureNode& node, size_t& widest) {
    const std::string label = printable(node.label, 400), shown = printable(node.label, kLongestRow);
    widest = std::max(widest, letters(shown) + (node.cost && *node.cost ? 2 + time_text(*node.cost).size() : 0));
    const bool leaf = node.operands.empty();
    return {{"id", node.id},
            {"label", label},
            {"short", shown},
            {"text", printable(node.text, 20'000)},
            {"kind", leaf          ? "leaf"
                     : node.kernel ? "kernel"
                                   : "op"},
            {"cost", node.cost ? json(*node.cost) : json(nullptr)},
            {"chosen", node.chosen},
            {"stage", node.made.stage},
            {"rule", rule(node.made)},
            {"computes", printable(node.computes, 2000)},
            {"operands", node.operands},
            {"paths", json::array()},
            {"backward", json::array()}};
  }

  void add_edges(const std::vector<const PictureNode*>& nodes) {
    const auto box = static_cast<uint32_t>(boxes_.size() - 1);
    for (uint32_t r = 0; r < nodes.size(); ++r)
      for (uint32_t id : nodes[r]->operands)
        if (auto to = position_.find(id); to != position_.end())
          edges_.push_back({box, to->second, kHeader + kRow * (r + 0.5), kHeader / 2, r,
                            nodes[r]->chosen || nodes[r]->made.stage == 0});
  }

  /// Paths stand beside operands; of an operand that is not shown it is empty.
  void place() {
    layout_ = lay_out(boxes_, edges_);
    const auto number = [](double value) { return std::round(value * 10) / 10; };
    size_t e = 0;
    for (size_t i = 0; i < classes_.size(); ++i) {
      classes_[i]["x"] = number(layout_.boxes[i].x), classes_[i]["y"] = number(layout_.boxes[i].y);
      for (json& node : classes_[i]["nodes"])
        for (const json& operand : node["operands"]) {
          json path = json::array();
          int backward = 0;
          if (position_.count(operand.get<uint32_t>())) {
            for (const Point& p : layout_.points[e]) path.push_back(number(p.x)), path.push_back(number(p.y));
            backward = layout_.backward[e++];
          }
          node["paths"].push_back(std::move(path)), node["backward"].push_back(backward);
        }
    }
  }

  const std::string& title_;
  std::string kind_;
  const EGraphPicture& picture_;
  std::unordered_map<uint32_t, uint32_t> position_;  // of a class
  std::map<std::pair<std::string, std::string>, uint32_t> rule_ids_;
  json rules_ = json::array(), classes_ = json::array();
  std::vector<LayoutBox> boxes_;
  std::vector<LayoutEdge> edges_;
  Layout layout_;
};

/// A graph or a plan as classes of one form each; outputs come first, since the layout starts there.
class Flat {
 public:
  explicit Flat(const DrawOptions& options) : options_(options) { picture_.stages.push_back({}); }

  /// Returns its number; kNone where there is no room.
  uint32_t add(const std::string& name, const std::string& facts, const std::string& label, const std::string& text) {
    if (picture_.classes.size() >= options_.max_nodes) return ++picture_.hidden_classes, ir::NodeId::kNone;
    PictureClass c;
    c.id = static_cast<uint32_t>(picture_.classes.size());
    c.facts = facts;
    if (!name.empty()) c.names.push_back(name);
    PictureNode node;
    node.id = c.id, node.label = label, node.text = text, node.cost = 0;
    c.nodes.push_back(std::move(node));
    picture_.classes.push_back(std::move(c));
    return picture_.classes.back().id;
  }
  void connect(uint32_t from, uint32_t to) {
    if (from != ir::NodeId::kNone && to != ir::NodeId::kNone) picture_.classes[from].nodes[0].operands.push_back(to);
  }
  PictureClass& operator[](uint32_t id) { return picture_.classes[id]; }
  EGraphPicture finish() {
    std::reverse(picture_.classes.begin(), picture_.classes.end());
    return std::move(picture_);
  }

 private:
  const DrawOptions& options_;
  EGraphPicture picture_;
};

}  // namespace

std::string egraph_page(const std::string& title, const EGraphPicture& picture) {
  return PageWriter(title, "egraph", picture).run();
}

std::string graph_page(const ir::Graph& graph, const DrawOptions& options) {
  Flat flat(options);
  std::vector<uint32_t> number(graph.size(), ir::NodeId::kNone);
  for (ir::NodeId id : graph.live_nodes()) {
    const ir::Node& node = graph.node(id);
    const bool input = node.op == ir::Op::input;
    if (!input && ir::info(node.op).has(ir::kLeaf) && !options.parameters) continue;
    const std::string attributes = ir::info(node.op).has(ir::kLeaf) ? "" : ir::print_attributes(*node.attributes);
    const std::string op(to_string(node.op));
    number[id.value] = flat.add(node.name, to_string(node.types[0]), op, ir::print_node(graph, id));
    if (number[id.value] == ir::NodeId::kNone) continue;
    for (ir::Value operand : node.operands) flat.connect(number[id.value], number[operand.node.value]);
  }
  for (const ir::Output& output : graph.outputs()) {
    const uint32_t n = flat.add(output.name, to_string(graph.type(output.value)), "output " + output.name, "");
    if (n == ir::NodeId::kNone) continue;
    flat.connect(n, number[output.value.node.value]);
    flat[n].output = true;
  }
  const EGraphPicture picture = flat.finish();
  return PageWriter(graph.name(), "graph", picture).run();
}

std::string plan_page(const ir::Plan& plan, const DrawOptions& options) {
  Flat flat(options);
  std::unordered_map<uint32_t, uint32_t> writer;  // of each buffer, so far
  const auto leaves = [&](const std::vector<ir::PlanValue>& values, const char* what) {
    for (const ir::PlanValue& v : values)
      if (v.buffer.valid()) writer[v.buffer.value] = flat.add(v.name, to_string(v.type), what, "");
  };
  leaves(plan.inputs, "input");
  if (options.parameters) leaves(plan.parameters, "parameter");
  const auto read = [&](uint32_t n, ir::BufferId buffer) {
    if (auto from = writer.find(buffer.value); from != writer.end()) flat.connect(n, from->second);
  };
  const auto add_steps = [&](const std::vector<ir::Step>& steps, const char* what) {
    for (size_t i = 0; i < steps.size(); ++i) {
      const ir::Step& step = steps[i];
      const uint32_t n = flat.add(step.source, fmt::format("{} {}, {} parts", what, i, step.resources.parts),
                                  step.backend + "." + step.kernel, step.program->text());
      if (n != ir::NodeId::kNone) {
        flat[n].nodes[0].cost = step.nanoseconds, flat[n].nodes[0].kernel = true;
        for (ir::BufferId id : step.inputs) read(n, id);
      }
      for (ir::BufferId id : step.outputs) writer[id.value] = n;
    }
  };
  if (options.parameters) add_steps(plan.prologue, "prologue");
  add_steps(plan.steps, "step");
  for (auto [from, to] : plan.copies) {
    const uint32_t n = flat.add("", "", "copy", "");
    if (n != ir::NodeId::kNone) read(n, from);
    writer[to.value] = n;
  }
  for (const ir::PlanValue& v : plan.outputs) {
    const uint32_t n = flat.add(v.name, to_string(v.type), "output", "");
    if (n == ir::NodeId::kNone) continue;
    read(n, v.buffer);
    flat[n].output = true;
  }
  const EGraphPicture picture = flat.finish();
  return PageWriter(plan.graph_name, "plan", picture).run();
}

}  // namespace weft::tools
