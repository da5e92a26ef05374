#include "passes/rule_book.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "ir/support/error.hpp"
#include "passes/pipeline.hpp"

namespace weft::passes {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-'; }
std::string_view trim(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
  return s;
}

/// Calls visit(i) at every position of `text` that is outside brackets and quotes; stops where visit returns true.
template <typename Visit>
void scan_top_level(std::string_view text, Visit visit) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
      continue;
    }
    if (c == '"')
      quoted = true;
    else if (c == '(' || c == '[' || c == '{')
      ++depth;
    else if (c == ')' || c == ']' || c == '}')
      --depth;
    else if (depth == 0 && visit(i))
      return;
  }
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  scan_top_level(text, [&](size_t i) {
    if (text[i] == separator) {
      parts.push_back(trim(text.substr(begin, i - begin)));
      begin = i + 1;
    }
    return false;
  });
  parts.push_back(trim(text.substr(begin)));
  return parts;
}

/// One logical line: a rule with its clauses cut apart.
class RuleParser {
 public:
  RuleParser(const ir::RuleText& source, std::string_view line, int number, const std::vector<std::string>& phases)
      : source_(source), line_(line), number_(number) {
    rule_.phases = phases;
    rule_.file = source.file;
    rule_.line = number;
    rule_.text = std::string(trim(line));
  }

  std::vector<RuleSource> parse() {
    size_t name_end = line_.find_first_of(" \t\n");
    if (name_end == std::string_view::npos) error("expected a rule: NAME LEFT => RIGHT");
    rule_.name = line_.substr(0, name_end);
    cut_clauses(line_.substr(name_end));
    bool both = false;
    auto [left, right] = cut_arrow(clauses_[0].second, both);
    for (std::string_view part : split(left, ';')) rule_.left.push_back(expression(part));
    for (std::string_view part : split(right, ';')) rule_.right.push_back(expression(part));
    if (rule_.left.size() != rule_.right.size())
      error(fmt::format("{} patterns on the left, {} on the right", rule_.left.size(), rule_.right.size()));
    for (size_t i = 1; i < clauses_.size(); ++i) clause(clauses_[i].first, clauses_[i].second);
    std::vector<RuleSource> rules{rule_};
    if (both) {
      std::swap(rule_.left, rule_.right);
      rule_.name += "-back";
      rules.push_back(rule_);
    }
    return rules;
  }

 private:
  void cut_clauses(std::string_view text) {
    std::string_view keyword = "";
    size_t begin = 0;
    scan_top_level(text, [&](size_t i) {
      for (std::string_view word : {"let", "where", "needs", "for", "try"}) {
        bool starts =
            i > 0 && std::isspace(static_cast<unsigned char>(text[i - 1])) && text.substr(i, word.size()) == word;
        if (!starts || i + word.size() >= text.size() || is_word(text[i + word.size()])) continue;
        clauses_.emplace_back(keyword, trim(text.substr(begin, i - begin)));
        keyword = word;
        begin = i + word.size();
      }
      return false;
    });
    clauses_.emplace_back(keyword, trim(text.substr(begin)));
  }

  std::pair<std::string_view, std::string_view> cut_arrow(std::string_view text, bool& both) {
    size_t at = std::string_view::npos;
    scan_top_level(text, [&](size_t i) {
      if (text.substr(i, 2) != "=>") return false;
      at = i;
      return true;
    });
    if (at == std::string_view::npos) error("expected '=>' or '<=>' between the two sides");
    both = at > 0 && text[at - 1] == '<';
    return {trim(text.substr(0, at - both)), trim(text.substr(at + 2))};
  }

  void clause(std::string_view keyword, std::string_view text) {
    if (keyword == "where") {
      for (std::string_view part : split(text, ',')) rule_.conditions.push_back(expression(part));
    } else if (keyword == "let") {
      rule_.lets = assignments(text, keyword);
    } else if (keyword == "try") {
      rule_.tries.push_back(assignments(text, keyword));
    } else if (keyword == "needs") {
      for (std::string_view part : split(text, ' ')) {
        if (part.empty()) continue;
        if (std::find(std::begin(kPermissions), std::end(kPermissions), part) == std::end(kPermissions))
          error(fmt::format("unknown permission '{}'; known: {}", part, fmt::join(kPermissions, " ")));
        rule_.needs.emplace_back(part);
      }
    } else {
      std::vector<std::string_view> words = split(text, ' ');
      if (words.size() != 3 || words[1] != "in") error("expected 'for F in SET'");
      rule_.op_variable = {std::string(words[0]), std::string(words[2])};
    }
  }

  std::vector<std::pair<std::string, ir::Expr>> assignments(std::string_view text, std::string_view keyword) {
    std::vector<std::pair<std::string, ir::Expr>> out;
    for (std::string_view part : split(text, ',')) {
      size_t equals = part.find('=');
      if (equals == std::string_view::npos) error(fmt::format("expected NAME = EXPRESSION after '{}'", keyword));
      out.emplace_back(std::string(trim(part.substr(0, equals))), expression(trim(part.substr(equals + 1))));
    }
    return out;
  }
  ir::Expr expression(std::string_view text) {
    int line = number_, column = 1;
    for (const char* p = line_.data(); p < text.data(); ++p) *p == '\n' ? (++line, column = 1) : ++column;
    return ir::parse_expression(text, source_.file, {line, column});
  }
  [[noreturn]] void error(std::string message) const {
    throw Error(ErrorCode::parse, fmt::format("{} in rule: {}", message, trim(line_)),
                fmt::format("{}:{}", source_.file, number_));
  }

  const ir::RuleText& source_;
  std::string_view line_;
  int number_;
  RuleSource rule_;
  std::vector<std::pair<std::string_view, std::string_view>> clauses_;  // (keyword, text); the first is the rule itself
};

/// Blanks out comments, so that positions stay.
std::string without_comments(std::string text) {
  bool quoted = false, comment = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\n')
      quoted = comment = false;
    else if (comment)
      text[i] = ' ';
    else if (c == '"')
      quoted = !quoted;
    else if (c == '#' && !quoted)
      comment = true, text[i] = ' ';
  }
  return text;
}

}  // namespace

std::vector<RuleSource> parse_rules(const ir::RuleText& source) {
  std::string text = without_comments(source.text);
  std::vector<RuleSource> rules;
  std::vector<std::string> phases{std::string(kPhases[1])};
  int line = 1;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find('\n', begin);
    int lines = 1;
    while (end != std::string::npos && end + 1 < text.size() && (text[end + 1] == ' ' || text[end + 1] == '\t')) {
      end = text.find('\n', end + 1);
      ++lines;
    }
    if (end == std::string::npos) end = text.size();
    std::string_view logical(text.data() + begin, end - begin);
    if (logical.starts_with("phase ")) {
      phases.clear();
      for (std::string_view phase : split(trim(logical.substr(6)), ' ')) {
        if (std::find(std::begin(kPhases), std::end(kPhases), phase) == std::end(kPhases))
          throw Error(ErrorCode::parse, fmt::format("unknown phase '{}'; known: {}", phase, fmt::join(kPhases, " ")),
                      fmt::format("{}:{}", source.file, line));
        phases.emplace_back(phase);
      }
    } else if (!trim(logical).empty()) {
      for (RuleSource& rule : RuleParser(source, logical, line, phases).parse()) rules.push_back(std::move(rule));
    }
    line += lines;
    begin = end + 1;
  }
  return rules;
}

std::vector<ir::RuleText> rule_texts(std::span<const ir::Target* const> targets) {
  std::vector<ir::RuleText> texts = embedded_rules();
  for (const ir::Target* target : targets)
    for (ir::RuleText& text : target->rules()) texts.push_back(std::move(text));
  return texts;
}

std::vector<RuleSource> all_rules(std::span<const ir::Target* const> targets) {
  std::vector<RuleSource> rules;
  std::set<std::string> names;
  for (const ir::RuleText& text : rule_texts(targets)) {
    for (RuleSource& rule : parse_rules(text)) {
      if (!names.insert(rule.name).second)
        throw Error(ErrorCode::parse, fmt::format("a second rule is named '{}'", rule.name), rule.origin());
      rules.push_back(std::move(rule));
    }
  }
  return rules;
}

bool allowed(const RuleSource& rule, Precision precision) {
  if (precision == Precision::fast) return true;
  for (const std::string& tag : rule.needs)
    if (precision == Precision::strict || (tag != "contract" && tag != "fold" && tag != "kernel")) return false;
  return true;
}

std::string_view optimizer_hash();  // generated: of the sources of ir, egraph and passes

Hash128 rule_set_hash(std::span<const ir::Target* const> targets, const Options& options) {
  Hasher hasher;
  hasher.text(to_string(options.precision)).u64(static_cast<uint64_t>(options.level)).text(optimizer_hash());
  for (const ir::RuleText& text : rule_texts(targets)) hasher.text(text.file).text(text.text);
  return hasher.finish();
}

}  // namespace weft::passes
