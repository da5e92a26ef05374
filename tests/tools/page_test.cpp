#include "tools/weft/page.hpp"

#include <nlohmann/json.hpp>

#include "ir/support/utf8.hpp"
#include "ir/text.hpp"
#include "passes/pipeline.hpp"
#include "tests/catch.hpp"
#include "tests/plans/paper_machine.hpp"

using namespace weft;

namespace {

const std::string kEnd = "</script>";

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

nlohmann::json data_of(const std::string& page) {
  const std::string open = "id=\"data\">";
  const size_t begin = page.find(open) + open.size();
  return nlohmann::json::parse(page.substr(begin, page.find(kEnd, begin) - begin));
}

const std::string kHostile = "</script><script>alert(1)</script><!--{{data}}'\"\\\n\xe2\x80\xa8\xff\x01<b>&amp;";

ir::Graph hostile_graph() {
  ir::Graph graph(kHostile);
  const ir::Value x = graph.input("x" + kHostile, ir::parse_type("f32[2,3]"));
  const ir::Value y = graph.value(ir::Op::relu, {x}, {}, "y" + kHostile);
  graph.output("out" + kHostile, graph.value(ir::Op::neg, {y}, {}, kHostile));
  return graph;
}

void check_safe(const std::string& page) {
  CHECK(count(page, "<script") == 2);
  CHECK(count(page, kEnd) == 2);
  CHECK(count(page, "<!--") == 0);
  CHECK(count(page, "<b>") == 0);
  CHECK(count(page, "\xe2\x80\xa8") == count(page.substr(0, page.find("</title>")), "\xe2\x80\xa8"));
  CHECK(count(page, "http") == 0);  // it needs nothing from anywhere
  for (size_t at = 0; at < page.size();) {
    const size_t length = utf8_length(std::string_view(page).substr(at, 4));
    REQUIRE(length > 0);
    at += length;
  }
  const nlohmann::json data = data_of(page);
  CHECK(data["title"].get<std::string>().find("</script>") == 0);
  CHECK(data["classes"].size() >= 3);
}

}  // namespace

TEST_CASE("hostile names are only text on a page", "[page]") {
  const ir::Graph graph = hostile_graph();
  check_safe(tools::graph_page(graph, {}));
  const PaperMachine machine;
  const ir::Target* targets[] = {&machine};
  passes::Options options;
  options.threads = 1;
  check_safe(tools::plan_page(passes::compile(graph, targets, options).plan, {}));
  const passes::RecordedSearch search(graph, targets, options);
  check_safe(tools::egraph_page(graph.name(), passes::egraph_picture(search)));
}

TEST_CASE("a page holds what the picture holds", "[page]") {
  const ir::Graph graph = ir::parse_graph("graph g(x: f32[2,3]) { t = neg(x)\n y = neg(t)\n z = relu(y)\n return z }");
  const PaperMachine machine;
  const ir::Target* targets[] = {&machine};
  passes::Options options;
  options.threads = 1;
  const passes::RecordedSearch search(graph, targets, options);
  const passes::EGraphPicture picture = passes::egraph_picture(search);
  const std::string page = tools::egraph_page("g", picture);
  CHECK(page == tools::egraph_page("g", picture));
  const nlohmann::json data = data_of(page);
  REQUIRE(data["classes"].size() == picture.classes.size());
  CHECK(data["stages"].size() == picture.stages.size());
  for (size_t i = 0; i < picture.classes.size(); ++i) {
    const nlohmann::json& c = data["classes"][i];
    CHECK(c["id"] == picture.classes[i].id);
    REQUIRE(c["nodes"].size() == picture.classes[i].nodes.size());
    CHECK(c["merges"].size() == picture.classes[i].merges.size());
    for (const nlohmann::json& n : c["nodes"]) {
      REQUIRE(n["paths"].size() == n["operands"].size());
      for (const nlohmann::json& path : n["paths"]) CHECK(path.size() >= 4);
      CHECK(data["rules"][n["rule"].get<size_t>()].size() == 2);
    }
  }
  bool named = false;
  for (const nlohmann::json& rule : data["rules"])
    named |= rule[0] == "neg-neg" && rule[1].get<std::string>().find("algebra.rules:") != std::string::npos;
  CHECK(named);
}

TEST_CASE("text of files becomes text for people", "[page]") {
  CHECK(printable("a\tb\x7f\xff\xed\xa0\x80") == "a b \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  CHECK(printable("äöü", 2) == "äö…");
  CHECK(printable("äö", 2) == "äö");
  CHECK(printable("\xc3") == "\xef\xbf\xbd");
  CHECK(printable("\xef\xbf\xbf") == "\xef\xbf\xbd");
  CHECK(escape_markup("<a href='x'>&\"") == "&lt;a href=&#39;x&#39;&gt;&amp;&quot;");
}
