// Explanations replayed: every step of explain() is derived again from its rule and from what was equal before it.
#include "egraph/explain.hpp"

#include <map>
#include <numeric>
#include <random>

#include "tests/catch.hpp"
#include "tests/egraph/workloads.hpp"

using namespace weft::egraph;
using test::Workload;

namespace {

/// What was equal when the first `count` merges had been made, and a matcher over it that shares nothing with the
/// engine's.
class Past {
 public:
  Past(const EGraph& graph, size_t count) : graph_(graph), parent_(graph.id_bound()), members_(graph.id_bound()) {
    std::iota(parent_.begin(), parent_.end(), 0);
    for (size_t i = 0; i < count; ++i) {
      const MergeRecord& record = graph.merge_records()[i];
      parent_[find(record.left)] = find(record.right);
    }
    for (uint32_t node = 0; node < parent_.size(); ++node) members_[find(ClassId(node))].push_back(NodeId(node));
  }

  uint32_t find(ClassId id) const {
    uint32_t at = id.value;
    while (parent_[at] != at) at = parent_[at];
    return at;
  }

  bool congruent(NodeId a, NodeId b) const {
    const auto left = graph_.original_children(a), right = graph_.original_children(b);
    return graph_.symbol(a) == graph_.symbol(b) && std::equal(left.begin(), left.end(), right.begin(), right.end(),
                                                              [&](ClassId x, ClassId y) { return find(x) == find(y); });
  }

  /// Does the rule make `made` of `matched`, or of a node that is equal to it where its left side is a bare variable?
  bool rewrites(const Rule& rule, NodeId matched, NodeId made) const {
    const Template& right = std::get<Template>(rule.applier);
    bool found = false;
    Binding binding(rule.pattern.variable_count(), kNone);
    match(rule.pattern, rule.pattern.roots()[0], matched, binding, [&](const Binding& bound) {
      found = found || builds(right, right.roots()[0], made, bound);
      return found;
    });
    return found;
  }

 private:
  using Binding = std::vector<uint32_t>;
  using Then = std::function<bool(const Binding&)>;  // true: enough

  bool match(const Pattern& pattern, uint32_t part, NodeId node, const Binding& binding, const Then& then) const {
    const Pattern::Node& p = pattern.parts()[part];
    if (p.kind == Pattern::Node::Kind::variable) return bind(p.number, ClassId(node.value), binding, then);
    const auto children = graph_.original_children(node);
    if (graph_.op(node) != p.op || children.size() != p.children.size()) return false;
    if (p.matcher != kNone && graph_.symbols().attributes(graph_.symbol(node)) != p.matcher) return false;
    return match_children(pattern, p, children, 0, binding, then);
  }

  bool match_children(const Pattern& pattern, const Pattern::Node& p, std::span<const ClassId> children, size_t at,
                      const Binding& binding, const Then& then) const {
    if (at == children.size()) return then(binding);
    const auto rest = [&](const Binding& bound) { return match_children(pattern, p, children, at + 1, bound, then); };
    const Pattern::Node& child = pattern.parts()[p.children[at]];
    if (child.kind == Pattern::Node::Kind::variable) return bind(child.number, children[at], binding, rest);
    for (NodeId node : members_[find(children[at])])
      if (match(pattern, p.children[at], node, binding, rest)) return true;
    return false;
  }

  bool bind(uint32_t variable, ClassId id, const Binding& binding, const Then& then) const {
    if (binding[variable] != kNone && binding[variable] != find(id)) return false;
    Binding bound = binding;
    bound[variable] = find(id);
    return then(bound);
  }

  /// Is `node` what the template makes, or is it in its class?
  bool builds(const Template& right, uint32_t part, NodeId node, const Binding& bound) const {
    const Template::Node& t = right.parts()[part];
    if (t.kind == Template::Node::Kind::variable) return find(ClassId(node.value)) == bound[t.number];
    const auto children = graph_.original_children(node);
    if (graph_.symbol(node).value != t.number || children.size() != t.children.size()) return false;
    for (size_t i = 0; i < children.size(); ++i) {
      const std::vector<NodeId>& members = members_[find(children[i])];
      if (std::none_of(members.begin(), members.end(),
                       [&](NodeId member) { return builds(right, t.children[i], member, bound); }))
        return false;
    }
    return true;
  }

  const EGraph& graph_;
  std::vector<uint32_t> parent_;
  std::vector<std::vector<NodeId>> members_;
};

size_t record_of(const EGraph& graph, const ExplainStep& step) {
  const std::vector<MergeRecord>& records = graph.merge_records();
  for (size_t i = 0; i < records.size(); ++i) {
    const std::pair<uint32_t, uint32_t> ends{records[i].left.value, records[i].right.value};
    if (records[i].reason.rule == step.reason.rule &&
        (ends == std::pair(step.left.value, step.right.value) || ends == std::pair(step.right.value, step.left.value)))
      return i;
  }
  FAIL("a step that no merge stands for");
  return 0;
}

struct Replayed {
  int by_rule = 0, by_congruence = 0, given = 0;
};

void replay(const Workload& work, const EGraph& graph, ClassId a, ClassId b, Replayed& tally) {
  const std::vector<ExplainStep> steps = explain(graph, a, b);
  INFO(explanation_text(graph, steps, work.rules));
  NodeId at(a.value);
  for (const ExplainStep& step : steps) {
    INFO(term_text(graph, step.left) << " = " << term_text(graph, step.right));
    if (step.depth == 0) {
      REQUIRE(step.left == at);
      at = step.right;
    }
    const Past past(graph, record_of(graph, step));
    if (step.reason.rule == Reason::kCongruence) {
      REQUIRE(past.congruent(step.left, step.right));
      ++tally.by_congruence;
    } else if (step.reason.rule == Reason::kGiven) {
      ++tally.given;
    } else {
      const Rule& rule = work.rules.at(step.reason.rule);
      REQUIRE((past.rewrites(rule, step.left, step.right) || past.rewrites(rule, step.right, step.left)));
      ++tally.by_rule;
    }
  }
  REQUIRE(at == NodeId(b.value));
}

/// From the first node of every class to all others that were ever made in it, also those that congruence buried.
void replay_all(const Workload& work, const EGraph& graph, Replayed& tally) {
  std::map<uint32_t, ClassId> first;
  for (uint32_t node = 0; node < graph.id_bound(); ++node) {
    const auto [at, fresh] = first.try_emplace(graph.find(ClassId(node)).value, ClassId(node));
    if (!fresh) replay(work, graph, at->second, ClassId(node), tally);
  }
}

}  // namespace

TEST_CASE("every step of an explanation follows from its rule and what was equal before", "[egraph][explain]") {
  Replayed tally;
  for (const auto& make : {+[] { return test::micro(); }, +[] { return test::ac(5); }, +[] { return test::mm(6); }}) {
    const auto work = make();
    // Terms are added anew: what explain() needs is recorded from the first node on.
    EGraph graph(work->terms);
    graph.record_merges();
    for (const char* term : test::kStartTerms) work->terms.add(graph, term);
    work->terms.add(graph, test::chain("+", 5, false));
    work->terms.add(graph, test::chain("@", 6, true));
    Runner(graph, work->rules, &work->terms).run(test::all_rules(work->rules.size(), 3));
    replay_all(*work, graph, tally);
  }
  CHECK(tally.by_rule > 100);
}

TEST_CASE("a step by another rule, or before its operands were equal, does not replay", "[egraph][explain]") {
  Workload w;
  w.graph.record_merges();
  w.rule("(id ?x) => ?x");
  w.rule("(neg (neg ?x)) => ?x");
  w.start("(f (id a))");
  const ClassId goal = w.terms.add(w.graph, "(f a)");
  w.run();
  const auto node = [&](const char* term) { return NodeId(w.terms.lookup(w.graph, term).value); };
  const std::vector<ExplainStep> steps = explain(w.graph, w.roots[0], goal);
  REQUIRE(steps.size() == 2);
  const Past before(w.graph, 0), after(w.graph, w.graph.merge_records().size());
  CHECK_FALSE(before.congruent(steps[0].left, steps[0].right));
  CHECK(after.congruent(steps[0].left, steps[0].right));
  CHECK(before.rewrites(w.rules[0], steps[1].left, steps[1].right) !=
        before.rewrites(w.rules[0], steps[1].right, steps[1].left));
  CHECK_FALSE(after.rewrites(w.rules[1], steps[1].left, steps[1].right));
  CHECK_FALSE(after.rewrites(w.rules[1], steps[1].right, steps[1].left));
  CHECK_FALSE(after.rewrites(w.rules[0], NodeId(goal.value), node("a")));
}

TEST_CASE("explanations of random merges and rules replay", "[egraph][explain][property]") {
  std::mt19937 random(41);
  const std::vector<std::string> pool = {"(a ?x ?y) => (a ?y ?x)",
                                         "(a ?x (a ?y ?z)) => (a (a ?x ?y) ?z)",
                                         "(b (a ?x ?y)) => (a (b ?x) (b ?y))",
                                         "(b (b ?x)) => ?x",
                                         "(a ?x ?x) => (b ?x)",
                                         "(a ?x c) => ?x",
                                         "(a (a ?x ?y) (a ?x ?z)) => (a ?x (a ?y ?z))",
                                         "(b c) => c"};
  Replayed tally;
  for (int round = 0; round < 40; ++round) {
    Workload w;
    w.graph.record_merges();
    for (size_t count = 2 + random() % 4; count > 0; --count) w.rule(pool[random() % pool.size()]);
    std::vector<std::string> terms = {"c", "d", "e"};
    for (int i = 0; i < 9; ++i) {
      const std::string x = terms[random() % terms.size()], y = terms[random() % terms.size()];
      terms.push_back(random() % 3 ? "(a " + x + " " + y + ")" : "(b " + x + ")");
      w.start(terms.back());
    }
    Phase phase = test::all_rules(w.rules.size(), 3);
    phase.limits.nodes = 250;
    Runner(w.graph, w.rules, &w.terms).run(phase);
    if (random() % 2) w.graph.merge(w.roots[random() % 9], w.roots[random() % 9]);
    w.graph.rebuild();
    w.graph.check();
    Runner(w.graph, w.rules, &w.terms).run(phase);
    w.graph.check();
    INFO("round " << round);
    replay_all(w, w.graph, tally);
  }
  CHECK(tally.by_rule > 100);
  CHECK(tally.by_congruence > 50);
  CHECK(tally.given > 5);
}
