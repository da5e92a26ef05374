#include "passes/fuse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "egraph/frozen.hpp"
#include "ir/support/error.hpp"

namespace weft::passes {

using egraph::ClassId;
using egraph::NodeId;

namespace {

/// What an op may be to a kernel. Only a backend decides what it takes; this keeps hopeless groups from being asked
/// for.
enum class Role : uint8_t {
  none,  ///< leaves, projections, kernels
  elementwise,
  view,         ///< reshape: no kernel of its own
  movement,     ///< transpose, slice, pad ...: a strided view of the operand or the result
  reduction,    ///< takes elementwise ops before and after it
  contraction,  ///< conv, matmul, attention: takes views before it, elementwise ops and views after it
  other         ///< takes elementwise ops after it
};

Role role_of(ir::Op op) {
  const ir::OpInfo& info = ir::info(op);
  if (info.has(ir::kLeaf) || op == ir::Op::kernel) return Role::none;
  if (info.has(ir::kElementwise)) return Role::elementwise;
  switch (op) {
    case ir::Op::reshape:
      return Role::view;
    case ir::Op::transpose:
    case ir::Op::slice:
    case ir::Op::pad:
    case ir::Op::concat:
    case ir::Op::broadcast:
      return Role::movement;
    case ir::Op::softmax:
    case ir::Op::log_softmax:
    case ir::Op::layer_norm:
    case ir::Op::rms_norm:
    case ir::Op::max_pool:
    case ir::Op::avg_pool:
      return Role::reduction;
    case ir::Op::conv:
    case ir::Op::conv_transpose:
    case ir::Op::matmul:
    case ir::Op::attention:
      return Role::contraction;
    default:
      return info.has(ir::kReduction) ? Role::reduction : Role::other;
  }
}

/// A group of e-nodes that may become one kernel; members stand in evaluation order, the result last.
struct Candidate {
  std::vector<NodeId> members;
  std::vector<ClassId> classes;     ///< of the members
  Role anchor = Role::elementwise;  ///< the one member that is neither elementwise nor moves data; else elementwise
  bool views = false;               ///< holds a view or movement
  bool computes = false;            ///< holds an elementwise op or an anchor
  bool kernel = false;              ///< some target took it

  bool has(ClassId id) const { return std::find(classes.begin(), classes.end(), id) != classes.end(); }
};

bool is_anchor(Role role) { return role == Role::reduction || role == Role::contraction || role == Role::other; }

class Fuser {
 public:
  Fuser(egraph::EGraph& graph, TensorLanguage& language, const TensorAnalysis& facts,
        std::span<const ir::Target* const> targets, int threads, const FusionLimits& limits, bool record)
      : graph_(graph),
        frozen_(graph),
        language_(language),
        facts_(facts),
        targets_(targets),
        threads_(threads),
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
          if (d < depth[id.value]) depth[id.value] = d, changed = true;
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
        if (r != Role::none && r != Role::view && r != Role::movement) computed_[id.value] = true;
      }
  }

  void grow(ClassId id, NodeId node) {
    const Role r = role(node);
    if (r == Role::none) return;
    if (frozen_.op(node) == op_number(ir::Op::concat) && !frozen_.nodes(id, op_number(ir::Op::pad)).empty())
      return;  // a pad reads less
    const bool moves = r == Role::view || r == Role::movement;
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
    if (list.size() >= limits_.per_class) return;
    Candidate kept = candidate;
    kept.kernel = ask(id, kept);
    if (!kept.kernel && !kept.views && !waits_for_more(kept)) return;
    list.push_back(std::move(kept));
    changed_ = true;
  }

  /// A refused prefix of a chain that a target may take whole; bounded, so that refusals do not breed.
  static bool waits_for_more(const Candidate& c) { return is_anchor(c.anchor) && c.members.size() <= 3; }

  bool ask(ClassId id, const Candidate& candidate) {
    std::vector<ClassId> inputs;
    std::optional<ir::KernelRequest> asked = request_for(candidate, {}, inputs);
    if (!asked) return false;
    const ir::KernelRequest& request = *asked;
    bool taken = false;
    std::string reason;
    for (const Estimate& e : estimates(request, candidate.members.size() == 1)) {
      if (!e.accepted) {
        if (reason.empty()) reason = fmt::format("{}: {}", e.backend, e.text);
        if (record_) result_.refused.push_back({id, e.backend, e.text, request.program});
        continue;
      }
      taken = true;
      NodeId node = graph_.add_node(
          language_.symbol(ir::Op::kernel, {{"backend", e.backend}, {"kernel", e.text}, {"program", request.program}}),
          inputs);
      graph_.merge(id, egraph::EGraph::class_alias(node));
      result_.kernels.try_emplace(node, KernelInfo{e.nanoseconds, candidate.classes, candidate.members});
    }
    if (taken)
      ++result_.accepted;
    else
      ++result_.refusals[reason];
    return taken;
  }

  /// What a target is asked; the value of a member class `also` is an output beside the result where it is valid.
  std::optional<ir::KernelRequest> request_for(const Candidate& candidate, ClassId also, std::vector<ClassId>& inputs) {
    ir::ProgramRef program = program_of(candidate, also, true, inputs);
    if (!program) program = program_of(candidate, also, false, inputs);
    if (!program) return std::nullopt;
    ++result_.candidates;
    ir::KernelRequest request{program, {}, threads_, limits_.contract};
    for (ClassId input : inputs)
      request.operands.push_back(facts_[input].fixed ? ir::OperandKind::parameter : ir::OperandKind::value);
    return request;
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
        if (r == Role::none || r == Role::view || r == Role::movement) continue;
        for (ClassId raw : frozen_.children(node)) {
          std::vector<ClassId>& list = users[frozen_.find(raw).value];
          if (list.empty() || list.back() != id) list.push_back(id);
        }
      }
    return users;
  }

  void ask_tuple(ClassId id, ClassId value, const Candidate& candidate) {
    std::vector<ClassId> inputs;
    std::optional<ir::KernelRequest> request = request_for(candidate, value, inputs);
    if (!request) return;
    for (const Estimate& e : estimates(*request, false)) {
      if (!e.accepted) continue;
      NodeId node = graph_.add_node(
          language_.symbol(ir::Op::kernel, {{"backend", e.backend}, {"kernel", e.text}, {"program", request->program}}),
          inputs);
      const ClassId both = egraph::EGraph::class_alias(node);
      graph_.merge(id, graph_.add(language_.get(0), std::span(&both, 1)));
      graph_.merge(value, graph_.add(language_.get(1), std::span(&both, 1)));
      result_.kernels.try_emplace(node, KernelInfo{e.nanoseconds, candidate.classes, candidate.members});
      ++result_.accepted;
      ++result_.tuples;
    }
  }

  struct Estimate {
    bool accepted;
    std::string backend, text;  ///< text: the kernel, or why not
    uint64_t nanoseconds = 0;
  };
  const std::vector<Estimate>& estimates(const ir::KernelRequest& request, bool single) {
    std::string key(single ? "1" : "n");
    for (ir::OperandKind kind : request.operands) key += kind == ir::OperandKind::parameter ? 'p' : 'v';
    key += request.program->text();
    auto [it, fresh] = estimates_.try_emplace(std::move(key));
    if (!fresh) return it->second;
    for (const ir::Target* target : targets_) {
      if (!single && target == targets_.back() && targets_.size() > 1)
        continue;  // it takes anything: only for single ops
      auto answer = target->estimate(request);
      if (auto* ok = std::get_if<ir::KernelEstimate>(&answer))
        it->second.push_back({true, std::string(target->name()), ok->kernel, ok->nanoseconds});
      else
        it->second.push_back({false, std::string(target->name()), std::get<ir::Refusal>(answer).reason});
    }
    return it->second;
  }

  /// The program of a candidate; its operands are the classes that members read and do not compute. Known values are
  /// written into it as immediates; null where that loses their shape (then `immediates` must be false).
  ir::ProgramRef program_of(const Candidate& candidate, ClassId also, bool immediates, std::vector<ClassId>& inputs) {
    inputs.clear();
    ir::Graph program("program");
    std::unordered_map<ClassId, ir::Value> values;
    std::vector<ir::Value> operands;
    std::vector<size_t> order = evaluation_order(candidate);
    if (order.empty()) return nullptr;
    for (size_t m : order) {  // inputs first, so that they are numbered by first use
      NodeId node = candidate.members[m];
      for (ClassId raw : frozen_.children(node)) {
        ClassId child = frozen_.find(raw);
        if (candidate.has(child) || values.count(child) ||
            (immediates && immediate(child, static_cast<ir::Op>(frozen_.op(node)))))
          continue;
        values[child] = program.input(fmt::format("a{}", inputs.size()), facts_[child].type());
        inputs.push_back(child);
      }
    }
    ir::NodeId last;
    for (size_t m : order) {
      NodeId node = candidate.members[m];
      ir::Op op = static_cast<ir::Op>(frozen_.op(node));
      operands.clear();
      for (ClassId raw : frozen_.children(node)) {
        ClassId child = frozen_.find(raw);
        auto known = values.find(child);
        operands.push_back(known != values.end() ? known->second : program.constant(immediate_value(child, op)));
      }
      last = program.add(op, operands, *language_.attributes_of(frozen_.symbol(node)));
      if (program.node(last).types != facts_[candidate.classes[m]].types) return nullptr;
      values[candidate.classes[m]] = {last, 0};
    }
    for (uint32_t o = 0; o < program.node(last).types.size(); ++o) program.output(fmt::format("y{}", o), {last, o});
    if (also.valid()) program.output("also", values.at(also));
    return ir::make_program(program);
  }

  /// Members so that each stands after the members it reads; empty where they depend on each other in a circle.
  std::vector<size_t> evaluation_order(const Candidate& candidate) const {
    std::vector<size_t> order;
    std::vector<bool> placed(candidate.members.size(), false);
    while (order.size() < candidate.members.size()) {
      size_t before = order.size();
      for (size_t m = 0; m < candidate.members.size(); ++m) {
        if (placed[m]) continue;
        bool ready = true;
        for (ClassId raw : frozen_.children(candidate.members[m])) {
          auto at = std::find(candidate.classes.begin(), candidate.classes.end(), frozen_.find(raw));
          ready = ready && (at == candidate.classes.end() || placed[at - candidate.classes.begin()]);
        }
        if (ready) placed[m] = true, order.push_back(m);
      }
      if (order.size() == before) return {};
    }
    if (order.back() != candidate.members.size() - 1) {  // the result must come last: nothing may read it
      if (std::find(order.begin(), order.end(), candidate.members.size() - 1) + 1 != order.end()) return {};
    }
    return order;
  }

  /// Whether an operand is written into the program: structure as it is, a number throughout as a scalar where it may
  /// broadcast.
  bool immediate(ClassId id, ir::Op user) const {
    return facts_[id].constant.defined() || (facts_[id].splat.defined() && ir::info(user).has(ir::kElementwise));
  }
  const ir::Tensor& immediate_value(ClassId id, ir::Op user) const {
    const Facts& f = facts_[id];
    return f.splat.defined() && ir::info(user).has(ir::kElementwise) ? f.splat : f.constant;
  }

  egraph::EGraph& graph_;
  egraph::FrozenGraph frozen_;
  TensorLanguage& language_;
  const TensorAnalysis& facts_;
  std::span<const ir::Target* const> targets_;
  int threads_;
  FusionLimits limits_;
  bool record_;
  std::vector<std::vector<Candidate>> candidates_;  // by class
  std::vector<ClassId> order_;
  std::vector<bool> computed_;  // by class
  std::set<std::vector<NodeId>> known_;
  std::unordered_map<std::string, std::vector<Estimate>> estimates_;
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
