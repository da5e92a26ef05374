// The hash-cons against a map: nodes of 0 to 5 children come and go.
#include "egraph/hash_cons.hpp"

#include <map>
#include <random>

#include "tests/catch.hpp"

using namespace weft::egraph;

TEST_CASE("the hash-cons finds what a map finds, through growth and removals", "[egraph][property]") {
  std::mt19937 random(5);
  for (const uint32_t ids : {3u, 40u, 1u << 29}) {
    HashCons table;
    std::map<std::pair<uint32_t, std::vector<ClassId>>, uint32_t> expected;
    std::vector<std::vector<ClassId>> children_of;
    for (int step = 0; step < 20'000; ++step) {
      const uint32_t symbol = random() % 4;
      std::vector<ClassId> children(random() % 6);
      for (ClassId& child : children) child = ClassId(uint32_t(random() % ids));
      const NodeKey key(SymbolId(symbol), children);
      REQUIRE(key.hashed() == (children.size() > 2));
      const HashCons::Place found = table.find(key, [&](uint32_t node) { return children_of[node] == children; });
      const auto at = expected.find({symbol, children});
      REQUIRE(found.node == (at == expected.end() ? HashCons::kEmpty : at->second));
      if (at == expected.end()) {
        const auto node = static_cast<uint32_t>(children_of.size());
        table.insert(key, node, found);
        expected[{symbol, children}] = node;
        children_of.push_back(children);
      } else if (random() % 3 == 0) {
        table.replace(found, at->second = static_cast<uint32_t>(children_of.size()));
        children_of.push_back(children);
      } else if (random() % 2) {
        REQUIRE(table.erase(key, at->second));
        REQUIRE_FALSE(table.erase(key, at->second));
        expected.erase(at);
      }
      REQUIRE(table.size() == expected.size());
    }
    for (const auto& [node, id] : expected) {
      const NodeKey key(SymbolId(node.first), node.second);
      REQUIRE(table.find(key, [&, &node = node](uint32_t other) { return children_of[other] == node.second; }).node ==
              id);
    }
  }
}
