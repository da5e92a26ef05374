#include "egraph/search/program.hpp"

#include <algorithm>

#include "ir/support/error.hpp"

namespace weft::egraph {

namespace {

using Part = Pattern::Part;
using Kind = Pattern::Node::Kind;

class Compiler {
 public:
  explicit Compiler(const Pattern& pattern) : pattern_(pattern), part_register_(pattern.parts().size(), kNone) {
    program_.variables = pattern.variable_count();
    program_.applications = pattern.application_count();
    program_.slots = pattern.attribute_slots;
    program_.registers = program_.variables;
    program_.sequence_application.assign(pattern.sequence_count(), kNone);
    register_step_.assign(program_.variables, kNone);
    matched_.assign(pattern.parts().size(), false);
  }

  Program run() {
    if (pattern_.roots().empty()) fail(ErrorCode::invalid_argument, "a pattern without roots");
    for (Part root : pattern_.roots()) {
      if (program_.steps.empty())
        first_root(root);
      else
        later_root(root);
      const Pattern::Node& node = pattern_.parts()[root];
      program_.root_register.push_back(node.kind == Kind::variable ? node.number : kNone);
      program_.root_application.push_back(node.application);
    }
    check_all_bound();
    look_ahead();
    return std::move(program_);
  }

 private:
  const Pattern::Node& node(Part part) const { return pattern_.parts()[part]; }
  bool bound(uint32_t reg) const { return register_step_[reg] != kNone; }
  uint32_t fresh_register() {
    register_step_.push_back(kNone);
    return program_.registers++;
  }
  /// The register that holds the class of a part.
  uint32_t register_of(Part part) {
    if (node(part).kind == Kind::variable) return node(part).number;
    if (part_register_[part] == kNone) part_register_[part] = fresh_register();
    return part_register_[part];
  }
  bool is_bound(Part part) const {
    if (node(part).kind == Kind::variable) return bound(node(part).number);
    return part_register_[part] != kNone && bound(part_register_[part]);
  }

  void first_root(Part root) {
    if (node(root).kind == Kind::variable) {
      Step step;
      step.kind = Step::Kind::every_class;
      step.own = register_of(root);
      register_step_[step.own] = 0;
      program_.steps.push_back(step);
      return;
    }
    emit(root, Step::Kind::root, kNone, 0);
    descend(root);
  }

  void later_root(Part root) {
    if (matched(root)) return;
    std::vector<std::pair<Part, uint32_t>> path;  // from the root down to a bound part: (part, child position)
    std::vector<char> tried(pattern_.parts().size());
    if (!find_bound(root, path, tried))
      fail(ErrorCode::invalid_argument, "root {} of the pattern shares no variable with those before it",
           program_.root_register.size());
    std::vector<Part> climbed;
    for (; !path.empty(); path.pop_back()) {
      const auto [part, position] = path.back();
      emit(part, Step::Kind::up, register_of(node(part).children[position]), position);
      climbed.push_back(part);
    }
    for (Part part : climbed) descend(part);
  }

  bool matched(Part part) const { return node(part).kind == Kind::variable ? is_bound(part) : matched_[part]; }

  bool find_bound(Part part, std::vector<std::pair<Part, uint32_t>>& path, std::vector<char>& tried) {
    if (tried[part]) return false;
    tried[part] = 1;
    for (uint32_t i = 0; i < node(part).children.size(); ++i)
      if (is_bound(node(part).children[i])) {
        path.push_back({part, i});
        return true;
      }
    for (uint32_t i = 0; i < node(part).children.size(); ++i) {
      path.push_back({part, i});
      if (find_bound(node(part).children[i], path, tried)) return true;
      path.pop_back();
    }
    return false;
  }

  /// One step that finds a node for the part and binds or compares the classes of its children.
  void emit(Part part, Step::Kind kind, uint32_t from, uint32_t position) {
    const auto index = static_cast<uint32_t>(program_.steps.size());
    const Pattern::Node& n = node(part);
    Step step;
    step.kind = kind, step.op = n.op, step.matcher = n.matcher, step.application = n.application;
    step.from = from, step.position = position;
    matched_[part] = true;
    if (kind != Step::Kind::down) {
      step.own = register_of(part);
      register_step_[step.own] = index;
    }
    if (n.kind == Kind::sequence) {
      step.any_children = true;
      uint32_t& first = program_.sequence_application[n.number];
      if (first == kNone)
        first = n.application;
      else
        step.equal_to = first;
    }
    step.asks = step.matcher != kNone || step.equal_to != kNone;
    for (Part child : n.children) {
      const uint32_t reg = register_of(child);
      step.children.push_back({bound(reg), reg});
      if (!bound(reg)) register_step_[reg] = index;
    }
    step.binary = !step.any_children && step.children.size() == 2;
    if (step.binary) std::copy(step.children.begin(), step.children.end(), step.pair);
    step.free_pair = step.binary && !step.asks && !step.pair[0].compare && !step.pair[1].compare;
    program_.steps.push_back(std::move(step));
  }

  /// Steps for all application children that are not matched yet, one after another.
  void descend(Part part) {
    std::vector<Part> stack(1, part);
    while (!stack.empty()) {
      const Part at = stack.back();
      stack.pop_back();
      if (!matched_[at]) emit(at, Step::Kind::down, register_of(at), 0);
      const std::vector<Part>& children = node(at).children;
      for (size_t i = children.size(); i-- > 0;)
        if (node(children[i]).kind != Kind::variable && !matched_[children[i]]) stack.push_back(children[i]);
    }
  }

  void check_all_bound() const {
    for (uint32_t v = 0; v < program_.variables; ++v)
      if (!bound(v)) fail(ErrorCode::invalid_argument, "the pattern does not bind variable {}", v);
    for (uint32_t s = 0; s < program_.sequence_application.size(); ++s)
      if (program_.sequence_application[s] == kNone)
        fail(ErrorCode::invalid_argument, "the pattern does not bind sequence variable {}", s);
    for (size_t part = 0; part < matched_.size(); ++part)
      if (!matched(static_cast<Part>(part)))
        fail(ErrorCode::invalid_argument, "part {} of the pattern is below none of its roots", part);
  }

  void look_ahead() {
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      Step& step = program_.steps[i];
      for (size_t later = i + 1; later < program_.steps.size(); ++later) {
        const Step& other = program_.steps[later];
        if (other.kind == Step::Kind::down && register_step_[other.from] < i)
          step.later_known.push_back(other.from);
        else
          step.later_unknown = true;
      }
      step.ends_at_old = step.kind == Step::Kind::down && !step.later_unknown && step.later_known.empty();
    }
    const Step& first = program_.steps.front();
    program_.root_may_move = first.kind == Step::Kind::root &&
                             std::none_of(program_.steps.begin(), program_.steps.end(), [&](const Step& step) {
                               return std::any_of(step.children.begin(), step.children.end(),
                                                  [&](const Step::Child& child) { return child.reg == first.own; });
                             });
  }

  const Pattern& pattern_;
  Program program_;
  std::vector<uint32_t> part_register_, register_step_;
  std::vector<char> matched_;
};

}  // namespace

bool Program::climbs() const {
  return std::any_of(steps.begin(), steps.end(), [](const Step& step) { return step.kind == Step::Kind::up; });
}

Program compile(const Pattern& pattern) { return Compiler(pattern).run(); }

}  // namespace weft::egraph
