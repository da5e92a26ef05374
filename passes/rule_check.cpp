#include "passes/rule_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "egraph/runner.hpp"
#include "ir/eval.hpp"
#include "ir/support/error.hpp"
#include "passes/rule_compile.hpp"
#include "passes/rule_functions.hpp"

namespace weft::passes {
namespace {

using ir::Expr;
using Assignment = std::vector<std::pair<std::string, Expr>>;

/// The left side with operands as inputs (or parameters, where a condition asks for fixed ones).
class Instance {
 public:
  Instance(const RuleSource& rule, const Assignment& assignment, const ir::OpInfo* op)
      : rule_(rule), assignment_(assignment), op_(op), graph_("left") {
    for (const Expr& condition : rule.conditions)
      if (condition.is_call("is_fixed")) fixed_.insert(condition.children[0].name);
  }

  ir::Graph build() {
    for (const Expr& root : rule_.left) graph_.output(fmt::format("y{}", graph_.outputs().size()), value(root, {}));
    return std::move(graph_);
  }

 private:
  const Expr* assigned(const std::string& name) const {
    for (const auto& [n, e] : assignment_)
      if (n == name) return &e;
    return nullptr;
  }

  ir::Value value(const Expr& e, ir::TensorType like) {
    if (e.kind == Expr::Kind::number)
      return graph_.constant(ir::filled({like.dtype, ir::Shape(like.rank(), ir::Dim(1))}, e.number));
    if (e.kind == Expr::Kind::name) return operand(e.name);
    std::string text = ir::print_expression(e);  // equal parts are one value, as in the e-graph
    if (auto it = parts_.find(text); it != parts_.end()) return it->second;
    return parts_[text] = application(e);
  }

  ir::Value application(const Expr& e) {
    if (rule_.op_variable && e.name == rule_.op_variable->first) return call(e, *op_);
    return call(e, ir::info(*ir::op_from_string(e.name)));
  }

  ir::Value operand(const std::string& name) {
    if (auto it = operands_.find(name); it != operands_.end()) return it->second;
    ir::TensorType type{dtype_of(op_), {2, 3, 4, 5}};
    ir::Value v;
    const Expr* given = assigned(name);
    if (given && given->kind == Expr::Kind::number) {
      v = graph_.constant(ir::filled({ir::DType::f32, {}}, given->number));
    } else {
      if (given && given->kind == Expr::Kind::type) type = *given->tensor_type;
      if (op_) type.dtype = dtype_of(op_);
      if (given && given->kind == Expr::Kind::call)
        v = value(*given, type);  // an expression, for instance a broadcast constant
      else if (fixed_.count(name))
        v = graph_.parameter(name, type);
      else
        v = graph_.input(name, type);
    }
    return operands_[name] = v;
  }

  ir::Value call(const Expr& e, const ir::OpInfo& info) {
    std::vector<ir::Value> operands;
    ir::Attributes attributes;
    size_t next = 0;
    ir::TensorType like{ir::DType::f32, {}};
    for (const Expr& c : e.children)  // a number takes dtype and rank from its siblings
      if (c.kind == Expr::Kind::name || c.kind == Expr::Kind::call)
        if (operands.size() < info.operands.size()) {
          if (c.kind == Expr::Kind::name && !is_operand(e, c, info)) continue;
          like = graph_.type(value(c, like));
          break;
        }
    for (size_t i = 0; i < e.children.size(); ++i) {
      const Expr& c = e.children[i];
      if (c.kind == Expr::Kind::sequence) {
        if (i == 0 && !info.operands.empty())
          sequence(c.name, info, operands);
        else
          rest(c.name, info, attributes);
      } else if (is_operand(e, c, info)) {
        operands.push_back(value(c, like));
      } else {
        set(attributes, info.attributes[next++], c);
      }
    }
    for (const auto& [name, v] : e.named)
      for (const ir::AttributeSpec& spec : info.attributes)
        if (spec.name == name) set(attributes, spec, v);
    return graph_.value(info.op, operands, attributes);
  }

  /// A dtype that the op takes.
  static ir::DType dtype_of(const ir::OpInfo* info) {
    if (!info) return ir::DType::f32;
    if (info->name.starts_with("logical_")) return ir::DType::boolean;
    return info->name.starts_with("bit_") || info->name.starts_with("shift_") ? ir::DType::i32 : ir::DType::f32;
  }

  bool is_operand(const Expr& e, const Expr& c, const ir::OpInfo& info) const {
    size_t position = &c - e.children.data();
    if (!info.operands.empty() && info.operands.back().variadic)
      return c.kind == Expr::Kind::call || c.kind == Expr::Kind::name;
    return position < info.operands.size();
  }

  void sequence(const std::string& name, const ir::OpInfo& info, std::vector<ir::Value>& operands) {
    size_t count = info.operands[0].variadic ? 2 : info.operands.size();
    for (size_t i = 0; i < count; ++i) {
      std::string each = fmt::format("{}{}", name, i);
      ir::DType dtype = info.op == ir::Op::where && i == 0 ? ir::DType::boolean : dtype_of(&info);
      if (!operands_.count(each)) operands_[each] = graph_.input(each, {dtype, {2, 3, 4, 5}});
      operands.push_back(operands_[each]);
    }
  }

  /// a...: as `try a=with(name=value, ...)` says, else the defaults.
  void rest(const std::string& name, const ir::OpInfo& info, ir::Attributes& attributes) {
    const Expr* given = assigned(name);
    if (!given) return;
    for (const auto& [key, v] : given->named)
      for (const ir::AttributeSpec& spec : info.attributes)
        if (spec.name == key) set(attributes, spec, v);
  }

  void set(ir::Attributes& attributes, const ir::AttributeSpec& spec, const Expr& e) {
    const Expr* literal = e.kind == Expr::Kind::name ? assigned(e.name) : nullptr;
    if (e.kind == Expr::Kind::name && !literal && e.name != "true" && e.name != "false") {
      attributes.set(spec.name, fallback(spec, e.name));
      return;
    }
    attributes.set(spec.name, ir::attribute_from_expression(literal ? *literal : e, spec.kind, rule_.file));
  }

  ir::AttributeValue fallback(const ir::AttributeSpec& spec, const std::string& name) const {
    if (spec.name == "perm")
      return std::vector<int64_t>(name == "q" ? std::vector<int64_t>{0, 3, 1, 2} : std::vector<int64_t>{0, 2, 3, 1});
    if (spec.name == "axis") return int64_t{1};
    if (spec.name == "axes") return std::vector<int64_t>{2, 3};
    if (spec.name == "to") return ir::DType::f32;
    if (spec.fallback) return *spec.fallback;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("variable '{}' of attribute '{}' needs a value in a try clause", name, spec.name));
  }

  const RuleSource& rule_;
  const Assignment& assignment_;
  const ir::OpInfo* op_;
  ir::Graph graph_;
  std::map<std::string, ir::Value> operands_, parts_;
  std::set<std::string> fixed_;
};

/// `extreme`: also numbers near the ends of the range, on which a composite may keep what its parts lose to overflow.
ir::Tensor random_tensor(const ir::TensorType& type, std::mt19937& random, bool nasty, bool extreme) {
  static const double kNasty[] = {-0.0, 0.0, INFINITY, -INFINITY, NAN, 1, -1, 0.5, 1e-40, -1e-40, 3e38, -3e38};
  ir::Tensor t = ir::Tensor::allocate(type);
  std::normal_distribution<double> normal;
  for (int64_t i = 0, n = t.elements(); i < n; ++i) {
    if (type.dtype == ir::DType::boolean)
      t.mutable_as<bool>()[i] = random() & 1;
    else if (ir::is_float(type.dtype))
      ir::set_from_double(t, i, nasty && random() % 3 == 0 ? kNasty[random() % (extreme ? 12 : 8)] : normal(random));
    else
      ir::set_from_double(t, i, static_cast<double>(random() % 7) - (ir::is_signed(type.dtype) ? 3 : 0));
  }
  return t;
}

/// Both sides of a rule that fired, as graphs over the same leaves.
class Firing {
 public:
  explicit Firing(const ir::Graph& left)
      : left_(left), language_(left), facts_(language_), graph_(language_, &facts_), compiler_(language_, facts_) {
    inserted_ = insert(left, graph_, language_);
    graph_.rebuild();
  }

  /// One iteration of the rule. Returns why it did not fire, or an empty text.
  std::string fire(const RuleSource& rule) {
    size_t before = graph_.id_bound();
    std::vector<std::vector<egraph::NodeId>> members;
    for (egraph::ClassId root : inserted_.outputs) members.push_back(graph_.nodes(root));
    egraph::Runner runner(graph_, {compiler_.compile(rule)}, &compiler_);
    egraph::Phase phase{"check", {0}, {}, {}, {}};
    phase.limits.iterations = 1;
    egraph::PhaseReport report = runner.run(phase);
    const egraph::RuleReport& r = report.rules[0];
    if (r.matches == 0) return "does not match its own left side (or a condition fails)";
    if (r.applied == 0) return r.refusals.empty() ? "changes nothing" : "refused: " + r.refusals[0];
    graph_.check();
    before_ = before;
    return {};
  }

  /// The right side: members of the root classes that the rule made or merged in.
  ir::Graph right() {
    ir::Graph out("right");
    values_.clear();
    for (ir::NodeId id : left_.inputs()) leaves_[id.value] = out.input(left_.node(id).name, left_.node(id).types[0]);
    for (ir::NodeId id : left_.parameters())
      leaves_[id.value] = out.parameter(left_.node(id).name, left_.node(id).types[0], left_.node(id).tensor);
    for (size_t i = 0; i < inserted_.outputs.size(); ++i) {
      egraph::ClassId root = graph_.find(inserted_.outputs[i]);
      egraph::NodeId original(inserted_.outputs[i].value);
      out.output(fmt::format("y{}", i), take(out, root, original, 0));
    }
    return out;
  }

 private:
  /// A term of the class: at the root anything but the original node, below it the first that was there before the
  /// rule.
  ir::Value take(ir::Graph& out, egraph::ClassId id, egraph::NodeId avoid, int depth) {
    id = graph_.find(id);
    if (auto it = values_.find(id); it != values_.end()) return it->second;
    if (depth > 40) throw Error(ErrorCode::internal, "right side has no finite term");
    egraph::NodeId chosen;
    for (egraph::NodeId node : graph_.nodes(id)) {
      if (node == avoid) continue;
      if (!chosen.valid() || (avoid.valid() && node.value >= before_ && chosen.value < before_)) chosen = node;
    }
    if (!chosen.valid()) throw Error(ErrorCode::internal, "the rule left only the original node");
    std::vector<ir::Value> operands;
    std::vector<egraph::ClassId> children(graph_.children(chosen).begin(), graph_.children(chosen).end());
    for (egraph::ClassId child : children) operands.push_back(take(out, child, {}, depth + 1));
    egraph::SymbolId symbol = graph_.symbol(chosen);
    ir::Op op = language_.op_of(symbol);
    ir::Value v;
    if (op == ir::Op::input || op == ir::Op::parameter)
      v = leaves_[language_.attributes(symbol)];
    else if (op == ir::Op::constant)
      v = out.constant(language_.constant_of(symbol));
    else
      v = {out.add(op, operands, *language_.attributes_of(symbol)), 0};
    if (!avoid.valid()) values_[id] = v;
    return v;
  }

  const ir::Graph& left_;
  TensorLanguage language_;
  TensorAnalysis facts_;
  egraph::EGraph graph_;
  RuleCompiler compiler_;
  Inserted inserted_;
  size_t before_ = 0;
  std::map<uint32_t, ir::Value> leaves_;
  std::map<egraph::ClassId, ir::Value> values_;
};

bool accumulates(const ir::Graph& graph) {
  for (const ir::Node& node : graph.nodes())
    if (node.op == ir::Op::reduce_sum || node.op == ir::Op::reduce_mean || node.op == ir::Op::matmul ||
        node.op == ir::Op::conv || node.op == ir::Op::conv_transpose || node.op == ir::Op::avg_pool)
      return true;
  return false;
}

/// Error of b against a relative to what the tags allow; 0 = equal bits, above 1 = wrong.
/// Sums may be accumulated in another order without a tag (design: strict keeps all bits but those).
double error_of(const ir::Tensor& a, const ir::Tensor& b, const RuleSource& rule, bool nasty, bool accumulates) {
  const bool exact = rule.needs.empty() && !accumulates;
  double worst = 0;
  for (int64_t i = 0; i < a.elements(); ++i) {
    double x = a.at_double(i), y = b.at_double(i);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (x == y && (std::signbit(x) == std::signbit(y) || !exact)) continue;
    if (exact) return 1e9;
    if (nasty && (!std::isfinite(x) || !std::isfinite(y) || std::fabs(x) > 1e30))
      continue;  // a tag gives up overflow behaviour
    double scale = std::max({std::fabs(x), std::fabs(y), nasty ? 1e3 : 1e-1});
    worst = std::max(worst, std::fabs(x - y) / (1e-5 * scale));
  }
  return worst;
}

void compare_sides(const RuleSource& rule, ir::Graph& left, Firing& firing, std::mt19937& random,
                   RuleVerdict& verdict) {
  for (int round = 0; round < 4; ++round) {
    bool nasty = round >= 2, extreme = rule.needs.empty() && !accumulates(left);
    ir::NamedTensors inputs;
    for (ir::NodeId id : left.inputs())
      inputs[left.node(id).name] = random_tensor(left.node(id).types[0], random, nasty, extreme);
    for (ir::NodeId id : left.parameters())
      left.mutable_node(id).tensor = random_tensor(left.node(id).types[0], random, nasty, extreme);
    ir::Graph right = firing.right();
    std::vector<ir::Tensor> a = ir::run_reference(left, inputs), b = ir::run_reference(right, inputs);
    for (size_t o = 0; o < a.size(); ++o) {
      double error = error_of(a[o], b[o], rule, nasty, accumulates(left));
      verdict.worst = std::max(verdict.worst, error);
      if (error > 1) {
        verdict.problems.push_back(fmt::format("sides differ on {} operands: left\n{}right\n{}",
                                               nasty ? "nasty" : "random", ir::print_graph(left),
                                               ir::print_graph(right)));
        return;
      }
    }
  }
}

void check_instance(const RuleSource& rule, const Assignment& assignment, const ir::OpInfo* op, RuleVerdict& verdict) {
  std::mt19937 random(static_cast<uint32_t>(std::hash<std::string>{}(rule.name)));
  try {
    ir::Graph left = Instance(rule, assignment, op).build();
    Firing firing(left);
    std::string why = firing.fire(rule);
    if (!why.empty()) {
      verdict.problems.push_back(op ? fmt::format("with {}: {}", op->name, why) : why);
      return;
    }
    compare_sides(rule, left, firing, random, verdict);
    ++verdict.instances;
  } catch (const Error& e) {
    verdict.problems.push_back(op ? fmt::format("with {}: {}", op->name, e.what()) : e.what());
  }
}

}  // namespace

RuleVerdict check_rule(const RuleSource& rule) {
  RuleVerdict verdict{rule.name, rule.origin(), 0, 0, {}};
  try {
    ir::Graph empty;
    TensorLanguage language(empty);
    TensorAnalysis facts(language);
    RuleCompiler(language, facts).compile(rule);
  } catch (const Error& e) {
    verdict.problems.push_back(e.what());
    return verdict;
  }
  std::vector<Assignment> tries = rule.tries;
  if (tries.empty()) tries.push_back({});
  for (const Assignment& assignment : tries) {
    if (!rule.op_variable) {
      check_instance(rule, assignment, nullptr, verdict);
      continue;
    }
    const OpSet* set = find_op_set(rule.op_variable->second);
    if (!set) {
      verdict.problems.push_back("unknown set of ops " + rule.op_variable->second);
      continue;
    }
    for (const ir::OpInfo& info : ir::all_ops())
      if (set->contains(info) && info.op != ir::Op::cast) check_instance(rule, assignment, &info, verdict);
  }
  return verdict;
}

}  // namespace weft::passes
