// The graph part of the parser, see ir/text.hpp and ir/README.md for the grammar.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "ir/program.hpp"
#include "ir/text/builder.hpp"
#include "ir/text/parser.hpp"

namespace weft::ir {

struct Parser::Names {
  std::unordered_map<std::string, Value> values;
  NameLookup lookup{[this](std::string_view name) -> std::optional<Value> {
                      auto it = values.find(std::string(name));
                      return it == values.end() ? std::nullopt : std::optional(it->second);
                    },
                    [this] {
                      std::vector<std::string_view> all;
                      for (const auto& entry : values) all.push_back(entry.first);
                      return all;  // in no order: a suggestion does not depend on it
                    }};
};

namespace {

bool is_value_number(std::string_view name) { return name.starts_with('%'); }

/// The name of a node whose outputs are named so: `split` of split.0, split.1; nothing of %5.0, %5.1; else the first.
std::string node_name(const std::vector<Expr>& targets) {
  const std::string& first = targets[0].name;
  if (is_value_number(first)) return {};
  if (targets.size() == 1 || !first.ends_with(".0")) return first;
  std::string base = first.substr(0, first.size() - 2);
  for (size_t i = 0; i < targets.size(); ++i)
    if (targets[i].name != fmt::format("{}.{}", base, i)) return first;
  return base;
}

}  // namespace

std::string Parser::name_or_string(std::string_view what) {
  const Token& t = token();
  if (t.kind != TokenKind::identifier && t.kind != TokenKind::string) unexpected(what);
  ++next_;
  return t.kind == TokenKind::string ? unquote(spelling(t)) : std::string(spelling(t));
}

/// The name that a node keeps: of its string, with or without `as`, else the other.
std::string Parser::hint(const std::string& otherwise) {
  if (is_word("as") && continues()) {
    ++next_;
    if (token().kind != TokenKind::string) unexpected("a name in quotes after 'as'");
  }
  if (token().kind != TokenKind::string || !continues()) return otherwise;
  return unquote(spelling(tokens_[next_++]));
}

Expr Parser::target() {
  Expr e;
  if (is("%")) {
    value_name(e);
    return e;
  }
  if (token().kind != TokenKind::identifier) unexpected("a name");
  if (!is_identifier(spelling())) unexpected("a name that is not a word of the language");
  e.at = token().at;
  e.name = std::string(spelling());
  ++next_;
  return e;
}

void Parser::inputs(Graph& graph, Names& names) {
  std::set<std::string, std::less<>> seen;
  expect("(", "before the inputs");
  while (!is(")")) {
    Expr name = target();
    expect(":", "and the type of the input");
    TensorType type = type_literal();
    std::string kept = hint(is_value_number(name.name) ? "" : name.name);
    if (!names.values.emplace(name.name, Value{NodeId(graph.size()), 0}).second || !seen.insert(kept).second)
      source_.fail(name.at, fmt::format("two inputs are named {}", quote(kept.substr(0, 80))));
    graph.input(kept, std::move(type));
    if (!accept(",")) break;
  }
  expect(")", "or ',' after an input");
}

void Parser::leaf(Graph& graph, Names& names, const Expr& target) {
  bool constant = is_word("constant");
  TextPosition at = token().at;
  ++next_;
  std::string otherwise = is_value_number(target.name) ? "" : target.name;
  Value value;
  if (constant) {
    Expr literal;
    tensor_or_type(literal);
    if (literal.kind != Expr::Kind::tensor) source_.fail(at, "expected the elements of the constant: f32[2][1, 2]");
    Tensor tensor = tensor_of(literal, source_);
    value = graph.constant(std::move(tensor), hint(otherwise));
  } else {
    TensorType type = type_literal();
    value = graph.parameter(hint(otherwise), std::move(type));
  }
  names.values[target.name] = value;
}

void Parser::bind(Graph& graph, Names& names, const std::vector<Expr>& targets, const Expr& value) {
  Builder builder(graph, source_, names.lookup, std::nullopt);
  std::string name = hint(node_name(targets));
  if (targets.size() == 1 && value.kind != Expr::Kind::call) {
    names.values[targets[0].name] = builder.value(value, name);
    return;
  }
  if (value.kind != Expr::Kind::call)
    source_.fail(value.at, fmt::format("{} names stand before '=', but this is one value", targets.size()));
  NodeId node = builder.node(value, name);
  size_t outputs = graph.node(node).types.size();
  if (outputs != targets.size())
    source_.fail(value.at,
                 fmt::format("{} gives {} values, but {} names stand before '='", value.name, outputs, targets.size()));
  for (size_t i = 0; i < targets.size(); ++i) names.values[targets[i].name] = {node, static_cast<uint32_t>(i)};
}

void Parser::statement(Graph& graph, Names& names) {
  std::vector<Expr> targets;
  do {
    targets.push_back(target());
    if (names.values.count(targets.back().name))
      source_.fail(targets.back().at, fmt::format("'{}' is defined twice", targets.back().name.substr(0, 80)));
    for (size_t i = 0; i + 1 < targets.size(); ++i)
      if (targets[i].name == targets.back().name) source_.fail(targets.back().at, "a name stands twice before '='");
  } while (accept(","));
  expect("=", "or ',' after the name");
  lines_matter_ = true;
  bool keyword = (is_word("parameter") || is_word("constant")) && token(1).kind == TokenKind::identifier;
  if (keyword && targets.size() == 1) {
    leaf(graph, names, targets[0]);
  } else {
    Expr value = expression();
    bind(graph, names, targets, value);
  }
}

void Parser::returns(Graph& graph, Names& names, bool keep_names) {
  std::set<std::string, std::less<>> seen;
  Builder builder(graph, source_, names.lookup, std::nullopt);
  do {
    bool named = (token().kind == TokenKind::identifier || token().kind == TokenKind::string) && is(":", 1);
    TextPosition at = token().at;
    std::string name = named ? name_or_string("a name") : "";
    if (named) ++next_;
    Expr expr = expression();
    if (!named && expr.kind == Expr::Kind::name && !is_value_number(expr.name)) name = expr.name;
    if (keep_names && !name.empty() && !seen.insert(name).second)
      source_.fail(
          at, fmt::format("two outputs are named {}; name one of them: `other: value`", quote(name.substr(0, 80))));
    graph.output(name, builder.value(expr));
  } while (accept(","));
}

void Parser::body(Graph& graph, Names& names, bool keep_names) {
  bool before = lines_matter_;
  while (!is_word("return")) {
    if (at_end() || is("}")) unexpected("a statement or return");
    lines_matter_ = true;
    statement(graph, names);
    if (!accept(";") && !token().newline_before) unexpected("an operator, ';' or a new line after the statement");
  }
  ++next_;
  lines_matter_ = true;
  if (!is("}")) returns(graph, names, keep_names);
  lines_matter_ = before;
  expect("}", "after the outputs");
}

Graph Parser::graph() {
  if (!is_word("graph")) unexpected("'graph'");
  ++next_;
  Graph graph(is("(") ? std::string() : name_or_string("the name of the graph"));
  Names names;
  inputs(graph, names);
  expect("{", "before the statements of the graph");
  body(graph, names, true);
  return graph;
}

void Parser::program(Expr& out) {
  out.kind = Expr::Kind::program;
  out.at = token().at;
  expect("{", "before a program");
  auto graph = std::make_unique<Graph>("program");  // on the heap: programs nest
  auto names = std::make_unique<Names>();
  inputs(*graph, *names);
  body(*graph, *names, false);
  out.program = finish_program(*graph, out.at);
  height_ = 1;
}

ProgramRef Parser::finish_program(const Graph& graph, TextPosition at) const {
  try {
    return make_program(graph);
  } catch (const Error& error) {
    source_.rethrow(error, at);
  }
}

Graph parse_graph(std::string_view text, std::string_view origin) {
  Source source{text, origin, {}};
  Parser parser(source);
  Graph graph = parser.graph();
  parser.expect_end();
  return graph;
}

Expr parse_expression(std::string_view text, std::string_view origin, TextPosition start) {
  Source source{text, origin, start};
  Parser parser(source);
  Expr e = parser.expression();
  parser.expect_end();
  return e;
}

std::vector<Expr> parse_expressions(std::string_view text, std::string_view origin, TextPosition start) {
  Source source{text, origin, start};
  Parser parser(source);
  std::vector<Expr> out;
  do out.push_back(parser.expression());
  while (parser.accept(";"));
  parser.expect_end();
  return out;
}

}  // namespace weft::ir
