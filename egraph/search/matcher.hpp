#pragma once
// Runs compiled patterns over a frozen graph, in blocks of candidate roots.
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "egraph/frozen.hpp"
#include "egraph/rule.hpp"
#include "egraph/search/instantiate.hpp"
#include "egraph/search/program.hpp"

namespace weft::egraph {

/// Reads the matches of one program back from the numbers that they were written as.
class MatchReader {
 public:
  MatchReader(const Program& program, const FrozenGraph& frozen);
  /// The spans of the result hold until the next call and as long as `match`.
  const Substitution& read(std::span<const uint32_t> match);
  /// Only the matched root nodes (of a bare variable: its class, as an alias).
  void roots(std::span<const uint32_t> match, std::vector<NodeId>& roots) const;

 private:
  const Program& program_;
  const FrozenGraph& frozen_;
  std::vector<ClassId> classes_, root_classes_;
  std::vector<NodeId> nodes_, root_nodes_, sequence_nodes_;
  Substitution substitution_;
};

/// What a search may ask while it runs.
struct SearchContext {
  const FrozenGraph* frozen = nullptr;
  const EGraph* graph = nullptr;
  const RuleHost* host = nullptr;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  bool late() const {
    return deadline != std::chrono::steady_clock::time_point::max() && std::chrono::steady_clock::now() > deadline;
  }
};

/// The matches of one block of candidates.
struct MatchBlock {
  std::vector<uint32_t> matches;  ///< Program::width numbers each
  uint64_t count = 0;             ///< matches in the list
  uint64_t found = 0;             ///< also those dropped because their right side already stands
  uint64_t bindings = 0;          ///< candidates tried
  bool cut = false;               ///< a bound stopped it: the list is not complete
};

class Matcher {
 public:
  /// Only matches with a node changed after epoch `since` are reported. `right`, where given, drops matches whose
  /// right side already stands.
  Matcher(const Program& program, const SearchContext& context, const Rule& rule, const TemplateProgram* right,
          uint32_t since);

  static size_t candidate_count(const Program& program, const FrozenGraph& frozen);
  /// Searches candidates [begin, end); stops after max_bindings bindings or max_matches matches.
  MatchBlock run(size_t begin, size_t end, uint64_t max_bindings, uint64_t max_matches);

 private:
  void next(size_t step);
  void scan(size_t step);
  template <bool kUp>
  void scan_list(size_t step, std::span<const NodeId> candidates, bool only_new);
  bool must_be_new(const Step& step) const;
  void try_node(size_t step, NodeId node);
  bool bind_children(const Step& step, std::span<const ClassId> children);
  void yield();
  bool stands();
  void write(uint32_t* at) const;
  bool stopped();

  const Program& program_;
  const FrozenGraph& frozen_;
  const SearchContext& context_;
  const Rule& rule_;
  const uint32_t since_;
  const TemplateProgram* const right_;
  std::vector<ClassId> registers_, roots_;
  std::vector<NodeId> nodes_;
  AttributeBindings slots_;
  MatchReader reader_;
  std::vector<uint32_t> match_;
  uint32_t fresh_ = 0;  // nodes bound so far that are new
  uint64_t max_bindings_ = 0, max_matches_ = 0;
  MatchBlock block_;
};

}  // namespace weft::egraph
