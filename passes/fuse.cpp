#include "passes/fuse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "egraph/frozen.hpp"
#include "passes/fusion_question.hpp"

namespace weft::passes {

using egraph::ClassId;
using egraph::NodeId;

namespace {

using Candidate = FusionCandidate;

class Fuser {
 public:
  Fuser(egraph::EGraph& graph, TensorLanguage& language, const TensorAnalysis& facts,
        std::span<const ir::Target* const> targets, int threads, const FusionLimits& limits, bool record)
      : graph_(graph),
        frozen_(graph),
        language_(language),
        facts_(facts),
        questions_(frozen_, language, facts, targets, threads, limits.contract),
        limits_(limits),
        record_(record),
        candidates_(frozen_.id_bound()) {}

  FusionResult run() {
    order_classes();
    find_computed();
    limits_.per_class = std::clamp<size_t>(limits_.total / std::max<size_t>(order_.size(), 1), 2, limits_.per_class);
    for (size_t round = 0; round < limits_.rounds; ++round) {
      changed_ = false;
      for (ClassId id : order_)
        for (NodeId node : frozen_.nodes(id)) grow(id, node);
      if (!changed_) break;
    }
    // Whatever the limits left out, every class can be computed from classes of less depth.
    for (const auto& [id, alone] : left_out_)
      if (alone.members[0] == shallowest_[id.value]) ask(id, alone);
    propose_tuples();
    graph_.rebuild();
    return std::move(result_);
  }

 private:
  Role role(NodeId node) const {
    uint32_t op = frozen_.op(node);
    return op >= ir::kOpCount ? Role::none : role_of(static_cast<ir::Op>(op));
  }

  /// Classes that need kernels, producers before users (by the depth of their shallowest term).
  void order_classes() {
    std::vector<uint32_t> depth(frozen_.id_bound(), egraph::kNone);
    shallowest_.resize(frozen_.id_bound());
    for (bool changed = true; changed;) {
      changed = false;
      for (ClassId id : frozen_.classes()) {
        for (NodeId node : frozen_.nodes(id)) {
          uint32_t d = 0;
          for (ClassId child : frozen_.children(node)) {
            uint32_t c = depth[frozen_.find(child).value];
            d = c == egraph::kNone ? c : std::max(d, c + 1);
            if (d == egraph::kNone) break;
          }
          if (d < depth[id.value]) depth[id.value] = d, shallowest_[id.value] = node, changed = true;
        }
      }
    }
    for (ClassId id : frozen_.classes())
      if (!facts_[id].fixed && depth[id.value] != egraph::kNone) order_.push_back(id);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](ClassId a, ClassId b) { return depth[a.value] < depth[b.value]; });
  }

  /// Which classes have a member that computes (and not only members that move another class's value).
  void find_computed() {
    computed_.resize(frozen_.id_bound(), false);
    for (ClassId id : order_)
      for (NodeId node : frozen_.nodes(id)) {
        Role r = role(node);
        if (r != Role::none && !moves_data(r)) computed_[id.value] = true;
      }
  }

  void grow(ClassId id, NodeId node) {
    const Role r = role(node);
    if (r == Role::none) return;
    if (frozen_.op(node) == op_number(ir::Op::concat) && !frozen_.nodes(id, op_number(ir::Op::pad)).empty())
      return;  // a pad reads less
    const bool moves = moves_data(r);
    Candidate base{{node}, {id}, is_anchor(r) ? r : Role::elementwise, moves, !moves, false};
    if (moves && computed_[id.value]) {  // what moves data here is one more kernel, but groups start from what computes
      if (known_.insert(base.members).second) ask(id, base);
      return;
    }
    offer(id, base);
    if (facts_[id].types.size() != 1) return;
    std::optional<Candidate> all;
    std::set<ClassId> seen;
    for (ClassId raw : frozen_.children(node)) {
      ClassId child = frozen_.find(raw);
      if (child == id || !seen.insert(child).second || candidates_[child.value].empty()) continue;
      const Candidate* largest = nullptr;
      for (size_t i = 0; i < candidates_[child.value].size(); ++i) {
        const Candidate& inner = candidates_[child.value][i];
        if (!may_join(r, id, child, inner)) continue;
        if (auto joined = join(inner, base)) offer(id, *joined);
        const Candidate& again = candidates_[child.value][i];
        if (!largest || again.members.size() > largest->members.size()) largest = &again;
      }
      if (!largest) continue;
      if (!all)
        all = *largest;
      else if (auto both = join(*all, *largest))
        all = both;
    }
    if (!all) return;
    if (auto joined = join(*all, base)) offer(id, *joined);
  }

  /// Whether an op may take the producer of one of its operands into its kernel.
  bool may_join(Role op, ClassId result, ClassId operand, const Candidate& inner) const {
    const bool loop = inner.anchor == Role::elementwise;
    switch (op) {
      case Role::elementwise:
        return loop || facts_[result].type().shape == facts_[operand].type().shape;
      case Role::reduction:
        return loop;
      case Role::contraction:
        return loop && !inner.computes;
      case Role::view:
      case Role::movement:
        return loop || inner.anchor == Role::contraction;
      case Role::other:
      case Role::none:
        return false;
    }
    return false;
  }

  /// Members of both, one e-node a class, at most one anchor.
  std::optional<Candidate> join(const Candidate& first, const Candidate& second) const {
    Candidate joined = first;
    joined.kernel = false;
    joined.views = first.views || second.views;
    joined.computes = first.computes || second.computes;
    for (size_t i = 0; i < second.members.size(); ++i) {
      auto at = std::find(joined.classes.begin(), joined.classes.end(), second.classes[i]);
      if (at != joined.classes.end()) {
        if (joined.members[at - joined.classes.begin()] != second.members[i]) return std::nullopt;
        continue;
      }
      joined.members.push_back(second.members[i]);
      joined.classes.push_back(second.classes[i]);
    }
    if (joined.members.size() > limits_.ops) return std::nullopt;
    if (is_anchor(second.anchor)) {
      if (is_anchor(first.anchor) && joined.members.size() == first.members.size() + second.members.size())
        return std::nullopt;
      joined.anchor = second.anchor;
    }
    int anchors = 0;
    for (NodeId member : joined.members) anchors += is_anchor(role(member));
    if (anchors > 1) return std::nullopt;
    return joined;
  }

  /// Keeps a candidate of a class where it is new and some target takes it (or it is a view, which others may take in).
  void offer(ClassId id, const Candidate& candidate) {
    std::vector<NodeId> key = candidate.members;
    std::sort(key.begin(), key.end());
    if (!known_.insert(std::move(key)).second) return;
    std::vector<Candidate>& list = candidates_[id.value];
    if (list.size() >= limits_.per_class) {
      if (candidate.members.size() == 1) left_out_.emplace_back(id, candidate);
      return;
    }
    Candidate kept = candidate;
    kept.kernel = ask(id, kept);
    if (!kept.kernel && !kept.views && !waits_for_more(kept)) return;
    list.push_back(std::move(kept));
    changed_ = true;
  }

  /// A refused prefix of a chain that a target may take whole; bounded, so that refusals do not breed.
  static bool waits_for_more(const Candidate& c) { return is_anchor(c.anchor) && c.members.size() <= 3; }

  bool ask(ClassId id, const Candidate& candidate) {
    const std::optional<FusionQuestions::Asked> asked = questions_.ask(candidate);
    if (!asked) return false;
    ++result_.candidates;
    bool taken = false;
    std::string reason;
    for (const FusionQuestions::Answer& answer : asked->answers) {
      if (!answer.accepted) {
        if (reason.empty()) reason = fmt::format("{}: {}", answer.backend, answer.text);
        if (record_) result_.refused.push_back({id, answer.backend, answer.text, asked->program});
        continue;
      }
      taken = true;
      graph_.merge(id, egraph::EGraph::class_alias(add_kernel(candidate, *asked, answer)));
    }
    if (taken)
      ++result_.accepted;
    else
      ++result_.refusals[reason];
    return taken;
  }

  /// Kernels with two outputs: a reduction's result and the elementwise value that it reads, where others read that too
  /// (a residual sum and its norm, an activation and its mean). Of the kernels that hold the value the smallest is
  /// asked for: what follows a reduction is small beside its operand.
  void propose_tuples() {
    const std::vector<std::vector<ClassId>> users = computing_users();
    for (ClassId id : order_) {
      std::map<ClassId, const Candidate*> holders;  // by the value
      for (const Candidate& c : candidates_[id.value]) {
        if (!c.kernel || c.anchor != Role::reduction) continue;
        for (size_t m = 0; m < c.members.size(); ++m) {
          const ClassId value = c.classes[m];
          if (value == id || role(c.members[m]) != Role::elementwise || !reduces(c, value)) continue;
          const std::vector<ClassId>& readers = users[value.value];
          if (std::all_of(readers.begin(), readers.end(), [&](ClassId reader) { return c.has(reader); })) continue;
          const Candidate*& least = holders[value];
          if (!least || c.members.size() < least->members.size()) least = &c;
        }
      }
      for (const auto& [value, candidate] : holders) ask_tuple(id, value, *candidate);
    }
  }

  /// Whether the candidate's reduction reads the value itself.
  bool reduces(const Candidate& c, ClassId value) const {
    for (NodeId member : c.members)
      if (role(member) == Role::reduction)
        for (ClassId child : frozen_.children(member))
          if (frozen_.find(child) == value) return true;
    return false;
  }

  /// By class: the classes of what reads it and computes.
  std::vector<std::vector<ClassId>> computing_users() const {
    std::vector<std::vector<ClassId>> users(frozen_.id_bound());
    for (ClassId id : order_)
      for (NodeId node : frozen_.nodes(id)) {
        const Role r = role(node);
        if (r == Role::none || moves_data(r)) continue;
        for (ClassId raw : frozen_.children(node)) {
          std::vector<ClassId>& list = users[frozen_.find(raw).value];
          if (list.empty() || list.back() != id) list.push_back(id);
        }
      }
    return users;
  }

  void ask_tuple(ClassId id, ClassId value, const Candidate& candidate) {
    const std::optional<FusionQuestions::Asked> asked = questions_.ask(candidate, value);
    if (!asked) return;
    ++result_.candidates;
    for (const FusionQuestions::Answer& answer : asked->answers) {
      if (!answer.accepted) continue;
      const ClassId both = egraph::EGraph::class_alias(add_kernel(candidate, *asked, answer));
      graph_.merge(id, graph_.add(language_.get(0), std::span(&both, 1)));
      graph_.merge(value, graph_.add(language_.get(1), std::span(&both, 1)));
      ++result_.accepted;
      ++result_.tuples;
    }
  }

  NodeId add_kernel(const Candidate& candidate, const FusionQuestions::Asked& asked,
                    const FusionQuestions::Answer& answer) {
    const NodeId node = graph_.add_node(
        language_.symbol(ir::Op::kernel,
                         {{"backend", answer.backend}, {"kernel", answer.text}, {"program", asked.program}}),
        asked.inputs);
    result_.kernels.try_emplace(node, KernelInfo{answer.nanoseconds, candidate.classes, candidate.members});
    return node;
  }

  egraph::EGraph& graph_;
  egraph::FrozenGraph frozen_;
  TensorLanguage& language_;
  const TensorAnalysis& facts_;
  FusionQuestions questions_;
  FusionLimits limits_;
  bool record_;
  std::vector<std::vector<Candidate>> candidates_;  // by class
  std::vector<ClassId> order_;
  std::vector<NodeId> shallowest_;  // by class: the node of its shallowest term
  std::vector<bool> computed_;      // by class
  std::set<std::vector<NodeId>> known_;
  std::vector<std::pair<ClassId, Candidate>> left_out_;  // nodes alone that the limits left out
  FusionResult result_;
  bool changed_ = false;
};

}  // namespace

FusionResult add_kernels(egraph::EGraph& graph, TensorLanguage& language, const TensorAnalysis& facts,
                         std::span<const ir::Target* const> targets, int threads, const FusionLimits& limits,
                         bool record) {
  return Fuser(graph, language, facts, targets, threads, limits, record).run();
}

}  // namespace weft::passes
