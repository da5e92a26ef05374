#include "egraph/rule.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "egraph/search/program.hpp"
#include "ir/support/error.hpp"

namespace weft::egraph {

using Kind = Template::Node::Kind;

Template::Part Template::push(Node node) {
  for (Part child : node.children) {
    if (child >= parts_.size()) fail(ErrorCode::invalid_argument, "template part {} does not exist yet", child);
    node.varies |= parts_[child].varies;
  }
  parts_.push_back(std::move(node));
  return static_cast<Part>(parts_.size() - 1);
}

Template::Part Template::variable(uint32_t variable) { return push({Kind::variable, variable, {}}); }
Template::Part Template::apply(SymbolId symbol, std::vector<Part> children) {
  return push({Kind::apply, symbol.value, std::move(children)});
}
Template::Part Template::build(uint32_t builder, std::vector<Part> children) {
  return push({Kind::build, builder, std::move(children)});
}
Template::Part Template::splice(uint32_t sequence) { return push({Kind::splice, sequence, {}}); }
Template::Part Template::map(uint32_t sequence, Part body) {
  const Part part = push({Kind::map, sequence, {body}});
  parts_[part].varies = false;
  return part;
}
Template::Part Template::element() { return push({Kind::element, 0, {}, true}); }
void Template::root(Part part) {
  if (part >= parts_.size()) fail(ErrorCode::invalid_argument, "template part {} does not exist", part);
  roots_.push_back(part);
}

namespace {

bool is_list(Kind kind) { return kind == Kind::splice || kind == Kind::map; }

void validate_template(const Template& source, const Program& program) {
  const std::vector<Template::Node>& parts = source.parts();
  for (const Template::Node& node : parts) {
    if (node.kind == Kind::variable && node.number >= program.variables)
      fail(ErrorCode::invalid_argument, "the right side uses variable {}, which the left side does not bind",
           node.number);
    if (is_list(node.kind) && node.number >= program.sequence_application.size())
      fail(ErrorCode::invalid_argument, "the right side uses sequence {}, which the left side does not bind",
           node.number);
    if (node.kind == Kind::map && is_list(parts[node.children[0]].kind))
      fail(ErrorCode::invalid_argument, "the body of a map is one term, not a sequence");
  }
  for (Template::Part root : source.roots()) {
    if (is_list(parts[root].kind)) fail(ErrorCode::invalid_argument, "a root of the right side is a sequence");
    if (parts[root].varies) fail(ErrorCode::invalid_argument, "a root of the right side uses the element of a map");
  }
  if (source.roots().size() != program.root_register.size())
    fail(ErrorCode::invalid_argument, "{} left roots but {} right roots", program.root_register.size(),
         source.roots().size());
}

}  // namespace

void validate(const Rule& rule) {
  try {
    if (std::holds_alternative<NativeFunction>(rule.applier)) {
      if (!rule.pattern.parts().empty() || rule.guard)
        fail(ErrorCode::invalid_argument, "a native rule has neither pattern nor guard");
      return;
    }
    const Program program = compile(rule.pattern);
    if (const Template* source = std::get_if<Template>(&rule.applier)) validate_template(*source, program);
  } catch (const Error& error) {
    throw error.within(fmt::format("rule {} ({})", rule.name, rule.origin));
  }
}

}  // namespace weft::egraph
