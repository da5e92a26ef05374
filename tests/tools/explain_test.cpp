// What weft explain and weft dot say, compared with files; and that it is true.
#include "passes/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <regex>
#include <set>

#include "egraph/frozen.hpp"
#include "ir/text.hpp"
#include "passes/egraph_picture.hpp"
#include "passes/pipeline.hpp"
#include "tests/golden.hpp"
#include "tests/plans/deep_networks.hpp"
#include "tests/plans/paper_machine.hpp"
#include "tools/weft/explanation.hpp"
#include "tools/weft/find_node.hpp"
#include "tools/weft/plan_diff.hpp"

using namespace weft;

namespace {

const ir::Target& paper_machine() {
  static const PaperMachine machine;
  return machine;
}

struct Searched {
  explicit Searched(const std::string& text, passes::Options options_ = {})
      : graph(ir::parse_graph(text)),
        options(one_thread(options_)),
        targets{&paper_machine()},
        search(graph, targets, options) {}
  static passes::Options one_thread(passes::Options options) {
    options.threads = 1;
    return options;
  }
  passes::Explanation explain(const std::string& node) const {
    return passes::explain(search, search.plan(), graph, tools::find_node(graph, node));
  }
  ir::Graph graph;
  passes::Options options;
  std::vector<const ir::Target*> targets;
  passes::RecordedSearch search;
};

/// Rule files grow: which line a rule is on is not what is tested.
std::string without_lines(const std::string& text) {
  return std::regex_replace(text, std::regex("(\\.rules):[0-9]+"), "$1:N");
}

constexpr const char* kHardSwish = R"(graph g(x: f32[1,8,6,6]) {
  t = clip(x + 3.0, 0.0, 6.0)
  y = x * t / 6.0
  return y
})";

}  // namespace

TEST_CASE("pictures of small e-graphs", "[dot][golden]") {
  for (const auto& file : test::files_in("tests/golden/pictures", ".graph"))
    test::check_golden(file, [](const std::string& text) {
      const Searched s(text);
      passes::PictureOptions all;
      all.costs = all.facts = true;
      return passes::egraph_dot(s.search, all);
    });
}

TEST_CASE("explanations of small graphs", "[explain][golden]") {
  for (const auto& file : test::files_in("tests/golden/explain", ".graph"))
    test::check_golden(file, [](const std::string& text) {
      const Searched s(text.substr(text.find('\n') + 1));
      return without_lines(tools::explanation_text(s.explain(text.substr(2, text.find('\n') - 2)), 160));
    });
}

namespace {

/// The layers that names like w1_4 and y_12 in a text belong to.
std::set<int> layers_in(const std::string& text) {
  static const std::regex name("[a-z][a-z0-9]*_([0-9]+)\\b");
  std::set<int> layers;
  for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at)
    layers.insert(std::stoi((*at)[1]));
  return layers;
}

}  // namespace

TEST_CASE("what is told of a layer that was not searched goes by its own names", "[explain]") {
  const int layers = 8;  // of which seven are equal: three are searched
  const Searched s(encoder_text({layers}));
  const passes::RecordedPlan plan = s.search.plan();
  REQUIRE(!s.search.rolled().empty());
  size_t left_out = 0;
  for (const char* of : {"q_{}", "r_{}", "g_{}"}) {
    size_t step_before = 0;
    for (int layer = 0; layer < layers; ++layer) {
      const std::string node = fmt::format(fmt::runtime(of), layer);
      INFO(node);
      const passes::ValueStory told =
          passes::explain(s.search, plan, s.graph, tools::find_node(s.graph, node), {100, 10, 4, 1000}).values.at(0);
      left_out += s.search.left_out(tools::find_node(s.graph, node)) > 0;
      std::set<int> neighbours;
      for (const passes::Rewrite& rewrite : told.rewrites) neighbours.merge(layers_in(rewrite.from + rewrite.to));
      for (const passes::RejectedKernel& kernel : told.rejected) neighbours.merge(layers_in(kernel.computes));
      REQUIRE(told.runs.size() == 1);
      CHECK(layers_in(told.runs[0].computes) == std::set<int>{layer});
      for (int other : neighbours) CHECK(std::abs(other - layer) <= 1);
      REQUIRE(told.runs[0].steps.size() == 1);
      CHECK(told.runs[0].steps[0] >= step_before + (layer ? 1 : 0));
      step_before = told.runs[0].steps[0];
    }
  }
  CHECK(left_out == 3 * 4);
}

TEST_CASE("an explanation leads from what was written to what runs", "[explain]") {
  const Searched s(kHardSwish);
  const passes::Explanation y = s.explain("y");
  REQUIRE(y.values.size() == 1);
  const passes::ValueStory& story = y.values[0];
  REQUIRE(story.rewrites.size() >= 1);
  CHECK(story.rewrites.front().from.find("div(") == 0);
  bool named = false;
  for (const passes::Rewrite& r : story.rewrites)
    named |= r.why.rule.starts_with("hard-swish") && r.why.origin.starts_with("passes/rules/recognise.rules:");
  CHECK(named);
  REQUIRE(story.runs.size() == 1);
  CHECK(story.runs[0].program.find("hard_swish") != std::string::npos);
  CHECK(story.runs[0].steps == std::vector<size_t>{0});
  const passes::Explanation t = s.explain("t");  // the clip is gone: what used it is told instead
  REQUIRE(t.values.size() == 2);
  CHECK(t.values[0].fate.find("not computed") == 0);
  CHECK(t.values[0].runs.empty());
  CHECK(t.values[1].runs[0].program == story.runs[0].program);
}

TEST_CASE("chains of an explanation hang together", "[explain]") {
  for (const char* text : {kHardSwish, R"(graph g(x: f32[2,3,4]) {
    a = transpose(x, perm=[2,0,1])
    b = neg(neg(a))
    c = transpose(b, perm=[1,2,0])
    y = relu(c) + c
    return y
  })"}) {
    const Searched s(text);
    for (ir::NodeId id : s.graph.live_nodes())
      for (const passes::ValueStory& story : s.explain(ir::printed_names(s.graph)[id.value]).values) {
        std::string at;
        for (const passes::Rewrite& r : story.rewrites) {
          if (r.depth) continue;
          INFO(tools::explanation_text(s.explain(ir::printed_names(s.graph)[id.value]), 1000));
          if (!at.empty()) CHECK(r.from == at);
          at = r.to;
          CHECK_FALSE(r.why.rule.empty());
        }
      }
  }
}

TEST_CASE("the plan with a rejected kernel is never faster than a proven one", "[explain]") {
  const Searched s(R"(graph g(x: f32[64,64]) {
    w = parameter f32[64,64] "w"
    m = matmul(x, w)
    r = relu(m)
    s = sigmoid(r)
    y = r * s
    return y
  })");
  size_t rejected = 0;
  for (const char* name : {"m", "r", "s", "y"}) {
    const passes::Explanation e = s.explain(name);
    REQUIRE(e.proven);
    for (const passes::ValueStory& story : e.values)
      for (const passes::RejectedKernel& kernel : story.rejected) {
        ++rejected;
        CHECK(kernel.more.value_or(0) >= 0);
        if (kernel.more) CHECK(kernel.at_least <= *kernel.more);
      }
  }
  CHECK(rejected >= 6);
}

TEST_CASE("remembering a search does not change it", "[explain]") {
  const Searched s(kHardSwish);
  const ir::Plan plan = passes::compile(s.graph, s.targets, s.options).plan, told = s.search.plan().plan;
  REQUIRE(plan.steps.size() == told.steps.size());
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    CHECK(plan.steps[i].program->text() == told.steps[i].program->text());
    CHECK(plan.steps[i].source == told.steps[i].source);
  }
}

TEST_CASE("what cannot be explained is an error", "[explain]") {
  const Searched s(kHardSwish);
  CHECK_THROWS_WITH(s.explain("nonsense"), Catch::Contains("nonsense"));
  CHECK_THROWS_WITH(s.explain("yy"), Catch::Contains("did you mean 'y'"));
  const ir::Graph graph = ir::parse_graph(kHardSwish);
  passes::Options direct;
  direct.level = 0;
  const ir::Target* targets[] = {&paper_machine()};
  CHECK_THROWS_WITH(passes::RecordedSearch(graph, targets, direct), Catch::Contains("level 0"));
  CHECK_THROWS_AS(passes::nodes_of_step(s.search, s.search.plan(), s.graph, 99), Error);
  CHECK(passes::nodes_of_step(s.search, s.search.plan(), s.graph, 0).size() >= 1);
}

TEST_CASE("a picture's stages grow and its merges join rows of a class", "[dot]") {
  const Searched s(kHardSwish);
  const passes::EGraphPicture picture = passes::egraph_picture(s.search);
  REQUIRE(picture.stages.size() >= 3);
  CHECK(picture.stages.front().name == "written");
  CHECK(picture.stages.back().name == "kernels");
  CHECK(picture.hidden_classes == 0);
  size_t nodes = 0, chosen = 0;
  for (const passes::PictureClass& c : picture.classes) {
    nodes += c.nodes.size();
    CHECK(c.hidden == 0);
    CHECK(c.merges.size() + 1 == c.nodes.size());  // all rows of a class became one
    uint32_t last = 0;
    for (const passes::PictureMerge& m : c.merges) {
      CHECK(m.a < c.nodes.size());
      CHECK(m.b < c.nodes.size());
      CHECK(m.why.stage >= last);
      last = m.why.stage;
    }
    for (const passes::PictureNode& n : c.nodes) {
      chosen += n.chosen;
      CHECK(n.made.stage < picture.stages.size());
      CHECK_FALSE(n.made.rule.empty());
    }
  }
  CHECK(nodes > 10);
  CHECK(chosen >= 2);
  passes::PictureOptions few;
  few.max_nodes = 3;
  const passes::EGraphPicture small = passes::egraph_picture(s.search, few);
  size_t shown = 0;
  for (const passes::PictureClass& c : small.classes) shown += c.nodes.size();
  CHECK(shown == 3);
}

namespace {

ir::Plan plan_of(const std::string& text, passes::Options options) {
  options.threads = 1;
  const ir::Target* targets[] = {&paper_machine()};
  return passes::compile(ir::parse_graph(text), targets, options).plan;
}

}  // namespace

TEST_CASE("plans are compared step by step", "[explain][diff]") {
  passes::Options direct, full;
  direct.level = 0;
  const ir::Plan before = plan_of(kHardSwish, direct), after = plan_of(kHardSwish, full);
  const tools::PlanDiff same = tools::diff_plans(after, after);
  CHECK(same.groups.empty());
  CHECK(same.equal_steps == after.steps.size());
  CHECK(same.before_nanoseconds == same.after_nanoseconds);
  const tools::PlanDiff diff = tools::diff_plans(before, after);
  int64_t change = diff.price_change;
  size_t steps = 0;
  for (const tools::DiffGroup& group : diff.groups) {
    change += group.change * static_cast<int64_t>(group.count);
    steps += (group.before.size() + group.after.size()) * group.count;
  }
  CHECK(change == static_cast<int64_t>(diff.after_nanoseconds - diff.before_nanoseconds));
  CHECK(change < 0);
  CHECK(steps + 2 * diff.equal_steps == before.steps.size() + after.steps.size());
  CHECK(tools::diff_text(diff, "a", "b", 80) == tools::diff_text(tools::diff_plans(before, after), "a", "b", 80));
  CHECK(tools::diff_json(diff).find("\"change_ns\"") != std::string::npos);
}
