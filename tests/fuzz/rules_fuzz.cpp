// Any bytes as a rule file: an Error that is not our own, or rules; each rule compiles to an e-graph's rule or is
// refused.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "ir/support/error.hpp"
#include "passes/rule_compile.hpp"

namespace {

using namespace weft;

template <typename F>
void answers(F&& step) {
  try {
    step();
  } catch (const Error& e) {
    if (e.code() != ErrorCode::internal) return;
    std::fprintf(stderr, "%s\n", e.what());
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  answers([&] {
    const std::string text(reinterpret_cast<const char*>(data), size);
    for (const passes::RuleSource& rule : passes::parse_rules({"fuzz.rules", text})) {
      answers([&] {
        ir::Graph empty;
        passes::TensorLanguage language(empty);
        passes::TensorAnalysis facts(language);
        passes::RuleCompiler(language, facts).compile(rule);
      });
    }
  });
  return 0;
}
