#pragma once
// The rules as text: passes/rules/*.rules and what the targets ship, parsed and filtered, before they meet an e-graph.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/target.hpp"
#include "ir/text.hpp"
#include "passes/options.hpp"

namespace weft::passes {

/// One rule as written, one direction. Grammar of a rule file (comments with #; a line that begins with white space
/// continues the one before):
///   phase NAME [NAME ...]               the rules that follow belong to these phases of the search
///   NAME  LEFT [; LEFT]... => RIGHT [; RIGHT]...  [let V = EXPR, ...] [where COND, ...] [needs TAG ...] [for F in SET]
///         [try V = TYPE or VALUE, ... ]...   an instance to verify the rule on; may be given several times
///   `<=>` makes two rules, NAME and NAME-back.
/// In a pattern: names are class variables; in attribute position attribute variables; `xs...` all operands of a
/// variadic or schema op; `a...` after the operands all attributes not named; a number is a value whose every element
/// is that number.
struct RuleSource {
  std::string name, file, text;
  std::vector<std::string> phases;
  int line = 0;
  std::vector<ir::Expr> left, right;                   ///< equal in number
  std::vector<std::pair<std::string, ir::Expr>> lets;  ///< evaluated in order, before the right side
  std::vector<ir::Expr> conditions;
  std::vector<std::string> needs;                                    ///< permissions, see kPermissions
  std::vector<std::vector<std::pair<std::string, ir::Expr>>> tries;  ///< instances for verification
  std::optional<std::pair<std::string, std::string>> op_variable;    ///< (name, set): `for f in elementwise`
  std::string origin() const { return file + ":" + std::to_string(line); }
};

/// LLVM's fast-math words and two of ours (design: a rule without a tag keeps every bit).
inline constexpr std::string_view kPermissions[] = {"nsz", "nnan",     "ninf", "reassoc", "arcp",
                                                    "afn", "contract", "fold", "kernel"};

/// Phases in the order in which they run.
inline constexpr std::string_view kPhases[] = {"canonicalise", "algebra", "recognise"};

/// Parses one rule file. Throws Error(parse) with file:line:column.
std::vector<RuleSource> parse_rules(const ir::RuleText& text);

/// The texts embedded in this build, sorted by file name.
std::vector<ir::RuleText> embedded_rules();
/// All texts that a compile for these targets reads: the embedded ones, then each target's.
std::vector<ir::RuleText> rule_texts(std::span<const ir::Target* const> targets);
/// All rules of these targets, in order; throws where two share a name.
std::vector<RuleSource> all_rules(std::span<const ir::Target* const> targets);
/// Whether a precision level loads a rule with these tags.
bool allowed(const RuleSource& rule, Precision precision);

}  // namespace weft::passes
