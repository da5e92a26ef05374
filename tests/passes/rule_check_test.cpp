#include "passes/rule_check.hpp"

#include "backends/registry.hpp"
#include "ir/support/error.hpp"
#include "passes/rule_book.hpp"
#include "tests/catch.hpp"

using namespace weft;

namespace {

std::vector<passes::RuleSource> rules_of(const std::string& text) { return passes::parse_rules({"test.rules", text}); }

std::vector<const ir::Target*> targets() {
  std::vector<const ir::Target*> all;
  for (const backends::Backend* b : backends::registry()) all.push_back(b);
  return all;
}

}  // namespace

TEST_CASE("every rule holds on random and nasty operands, as far as its tags say", "[rules]") {
  std::vector<passes::RuleSource> rules = passes::all_rules(targets());
  REQUIRE(rules.size() >= 60);
  for (const passes::RuleSource& rule : rules) {
    passes::RuleVerdict verdict = passes::check_rule(rule);
    INFO(rule.name << " at " << rule.origin());
    for (const std::string& problem : verdict.problems) UNSCOPED_INFO(problem);
    CHECK(verdict.problems.empty());
    CHECK(verdict.instances > 0);
  }
}

TEST_CASE("the check catches rules that are wrong on floats", "[rules]") {
  auto [text, why] =
      GENERATE(table<const char*, const char*>({{"wrong  x * 0 => x - x", "x*0 with infinities"},
                                                {"wrong  x - x => 0", "x-x with NaN"},
                                                {"wrong  x + 0 => x", "loses the sign of zero without nsz"},
                                                {"wrong  exp(x) * exp(y) => exp(x + y)", "overflow of one factor"},
                                                {"wrong  pow(x, 0.5) => sqrt(x)", "-inf and -0"},
                                                {"wrong  (x + y) + z => x + (y + z)", "reassociation without a tag"},
                                                {"wrong  x / y => x * (1 / y)", "reciprocal is not exact"},
                                                {"wrong  max(x, y) => max(y, neg(x))", "simply wrong"}}));
  INFO(why);
  passes::RuleVerdict verdict = passes::check_rule(rules_of(text)[0]);
  CHECK_FALSE(verdict.problems.empty());
}

TEST_CASE("malformed rules are refused with their place", "[rules]") {
  auto [text, part] =
      GENERATE(table<const char*, const char*>({{"r  relu(x)", "=>"},
                                                {"r  relu(x) => y", "nothing binds 'y'"},
                                                {"r  frobnicate(x) => x", "unknown op 'frobnicate'"},
                                                {"r  relu(x) => x where unknown(x)", "unknown function 'unknown'"},
                                                {"r  relu(x) => x needs magic", "unknown permission 'magic'"},
                                                {"r  f(x) => x for f in nothing", "unknown set of ops 'nothing'"},
                                                {"r  cast(x) => x", "needs its attribute 'to'"},
                                                {"phase nonsense\nr  relu(x) => x", "unknown phase 'nonsense'"}}));
  std::string message;
  try {
    for (const passes::RuleSource& rule : rules_of(text))
      for (const std::string& problem : passes::check_rule(rule).problems) message += problem;
  } catch (const Error& e) {
    message = e.what();
  }
  INFO(text);
  CHECK(message.find(part) != std::string::npos);
  CHECK(message.find("test.rules:") != std::string::npos);
}

TEST_CASE("levels load what their tags allow", "[rules]") {
  passes::RuleSource plain = rules_of("r  neg(neg(x)) => x")[0],
                     contract = rules_of("r  neg(neg(x)) => x needs contract")[0],
                     nsz = rules_of("r  x + 0 => x needs nsz")[0];
  using passes::Precision;
  CHECK(passes::allowed(plain, Precision::strict));
  CHECK_FALSE(passes::allowed(contract, Precision::strict));
  CHECK(passes::allowed(contract, Precision::standard));
  CHECK_FALSE(passes::allowed(nsz, Precision::standard));
  CHECK(passes::allowed(nsz, Precision::fast));
}
