// Any bytes as an e-graph of egraph-serialize, read both ways: an Error, or a graph that keeps every invariant, whose
// extraction is acyclic and adds up, and that reads back from what is written with as many nodes.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "egraph/extract.hpp"
#include "egraph/json.hpp"
#include "ir/support/error.hpp"

namespace {

using namespace weft;
using namespace weft::egraph;

[[noreturn]] void broken(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void read(std::string_view text, bool congruent) {
  JsonGraph read;
  try {
    read = read_json(text, congruent);
  } catch (const Error& e) {
    if (e.code() == ErrorCode::internal) broken(e.what());
    return;
  }
  read.graph->check();
  FrozenGraph frozen(*read.graph);
  const NodeCost cost = [](NodeId) { return 1; };
  try {
    const ExtractResult best = extract(frozen, read.roots, cost, {.fuel = 20'000});
    if (best.lower_bound > best.cost || best.stats.repairs > 0) broken("an answer that had to be repaired");
  } catch (const Error& e) {
    if (e.code() == ErrorCode::internal) broken(e.what());
  }
  const std::string written = write_json(frozen, read.roots);
  const JsonGraph again = read_json(written);
  if (again.graph->node_count() < read.graph->node_count()) broken("nodes lost in writing");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read(text, false);
  read(text, true);
  return 0;
}
