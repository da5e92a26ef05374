#include "passes/rule_book.hpp"

#include "passes/pipeline.hpp"

namespace weft::passes {

std::vector<ir::RuleText> rule_texts(std::span<const ir::Target* const> targets) {
  std::vector<ir::RuleText> texts = embedded_rules();
  for (const ir::Target* target : targets)
    for (ir::RuleText& text : target->rules()) texts.push_back(std::move(text));
  return texts;
}

Hash128 rule_set_hash(std::span<const ir::Target* const> targets, const Options& options) {
  Hasher hasher;
  hasher.text(to_string(options.precision)).u64(static_cast<uint64_t>(options.level));
  for (const ir::RuleText& text : rule_texts(targets)) hasher.text(text.file).text(text.text);
  return hasher.finish();
}

}  // namespace weft::passes
