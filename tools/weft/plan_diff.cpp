#include "tools/weft/plan_diff.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

namespace weft::tools {
namespace {

std::string key_of(const ir::Step& step) { return step.backend + "." + step.kernel + " " + step.program->text(); }

/// The names in a provenance, "a + b' + c", without primes.
std::vector<std::string> names_of(const std::string& source) {
  std::vector<std::string> names;
  for (size_t at = 0; at < source.size();) {
    const size_t end = std::min(source.find(" + ", at), source.size());
    if (end > at) names.push_back(source.substr(at, end - at - (source[end - 1] == '\'')));
    at = end + 3;
  }
  return names;
}

class Differ {
 public:
  Differ(const ir::Plan& before, const ir::Plan& after) : plans_{&before, &after} {
    for (int side : {0, 1}) partner_[side].assign(plans_[side]->steps.size(), SIZE_MAX);
  }

  PlanDiff run() {
    match(true);
    match(false);
    for (int side : {0, 1})
      for (size_t i = 0; i < partner_[side].size(); ++i) {
        const uint64_t ns = plans_[side]->steps[i].nanoseconds;
        (side ? out_.after_nanoseconds : out_.before_nanoseconds) += ns;
        if (side || partner_[0][i] == SIZE_MAX) continue;
        ++out_.equal_steps;
        const auto change = static_cast<int64_t>(plans_[1]->steps[partner_[0][i]].nanoseconds - ns);
        out_.price_change += change, out_.price_changes += change != 0;
      }
    out_.before_steps = partner_[0].size(), out_.after_steps = partner_[1].size();
    group();
    return std::move(out_);
  }

 private:
  /// Pairs equal steps in order, first those that also have equal names.
  void match(bool with_names) {
    std::unordered_map<std::string, std::vector<size_t>> waiting;
    const auto key = [&](const ir::Step& step) { return key_of(step) + (with_names ? "\n" + step.source : ""); };
    for (size_t i = partner_[1].size(); i-- > 0;)
      if (partner_[1][i] == SIZE_MAX) waiting[key(plans_[1]->steps[i])].push_back(i);
    for (size_t i = 0; i < partner_[0].size(); ++i) {
      if (partner_[0][i] != SIZE_MAX) continue;
      const auto found = waiting.find(key(plans_[0]->steps[i]));
      if (found == waiting.end() || found->second.empty()) continue;
      partner_[0][i] = found->second.back(), partner_[1][found->second.back()] = i;
      found->second.pop_back();
    }
  }

  DiffStep describe(int side, size_t i) const {
    const ir::Step& step = plans_[side]->steps[i];
    return {i,
            step.backend + "." + step.kernel,
            ops_of(*step.program),
            step.program->text(),
            step.source,
            step.nanoseconds};
  }

  /// What one plan computes apart and the other inside of a larger step has no name there: it goes with its reader.
  template <typename Find>
  void join_readers(const std::vector<std::pair<int, size_t>>& steps, std::vector<size_t>& parent,
                    const Find& find) const {
    std::vector<char> sides(steps.size());
    for (size_t i = 0; i < steps.size(); ++i) sides[find(i)] |= static_cast<char>(1 << steps[i].first);
    std::map<std::pair<int, uint32_t>, size_t> readers;  // of a buffer, the first
    for (size_t i = 0; i < steps.size(); ++i)
      for (ir::BufferId id : plans_[steps[i].first]->steps[steps[i].second].inputs)
        readers.try_emplace({steps[i].first, id.value}, i);
    for (size_t i = 0; i < steps.size(); ++i) {
      if (sides[find(i)] == 3) continue;
      for (ir::BufferId id : plans_[steps[i].first]->steps[steps[i].second].outputs)
        if (const auto reader = readers.find({steps[i].first, id.value}); reader != readers.end()) {
          const size_t a = find(reader->second), b = find(i);
          sides[std::min(a, b)] = static_cast<char>(sides[a] | sides[b]);
          parent[std::max(a, b)] = std::min(a, b);
        }
    }
  }

  /// Steps with a name in common belong together; alike groups are told once.
  void group() {
    std::vector<std::pair<int, size_t>> steps;
    for (int side : {0, 1})
      for (size_t i = 0; i < partner_[side].size(); ++i)
        if (partner_[side][i] == SIZE_MAX) steps.emplace_back(side, i);
    std::vector<size_t> parent(steps.size());
    std::iota(parent.begin(), parent.end(), size_t{0});
    const auto find = [&](size_t i) {
      while (parent[i] != i) i = parent[i] = parent[parent[i]];
      return i;
    };
    std::unordered_map<std::string, size_t> owner;
    for (size_t i = 0; i < steps.size(); ++i)
      for (const std::string& name : names_of(plans_[steps[i].first]->steps[steps[i].second].source)) {
        const size_t a = find(owner.try_emplace(name, i).first->second), b = find(i);
        parent[std::max(a, b)] = std::min(a, b);
      }
    join_readers(steps, parent, find);
    std::map<size_t, DiffGroup> groups;
    for (size_t i = 0; i < steps.size(); ++i) {
      DiffGroup& group = groups[find(i)];
      DiffStep step = describe(steps[i].first, steps[i].second);
      group.change += (steps[i].first ? 1 : -1) * static_cast<int64_t>(step.nanoseconds);
      (steps[i].first ? group.after : group.before).push_back(std::move(step));
    }
    std::unordered_map<std::string, size_t> alike;
    for (auto& [first, group] : groups) {
      std::string key;
      for (const std::vector<DiffStep>* side : {&group.before, &group.after}) {
        for (const DiffStep& step : *side)
          key += step.kernel + " " + step.program + " " + std::to_string(step.nanoseconds) + "\n";
        key += "=>\n";
      }
      const auto [it, fresh] = alike.try_emplace(key, out_.groups.size());
      if (fresh)
        out_.groups.push_back(std::move(group));
      else
        ++out_.groups[it->second].count;
    }
    const auto weight = [](const DiffGroup& g) { return std::abs(g.change) * static_cast<int64_t>(g.count); };
    std::stable_sort(out_.groups.begin(), out_.groups.end(),
                     [&](const DiffGroup& a, const DiffGroup& b) { return weight(a) > weight(b); });
  }

  const ir::Plan* plans_[2];
  std::vector<size_t> partner_[2];  // by step: the equal one of the other plan
  PlanDiff out_;
};

}  // namespace

std::string ops_of(const ir::Program& program) {
  std::string text;
  for (const ir::Node& node : program.graph().nodes())
    if (!ir::info(node.op).has(ir::kLeaf)) text += (text.empty() ? "" : "+") + std::string(to_string(node.op));
  return text.empty() ? "nothing" : text;
}

PlanDiff diff_plans(const ir::Plan& before, const ir::Plan& after) { return Differ(before, after).run(); }

}  // namespace weft::tools
