// Gradient texts: they parse, use known names only, and those of elementwise ops agree with finite differences.
#include <set>

#include "ir/eval.hpp"
#include "ir/text.hpp"
#include "tests/ir/tensors.hpp"

namespace weft::ir {
namespace {

const std::set<std::string, std::less<>> kFunctions = {
    "if", "shape", "dtype", "dims", "size", "inverse", "neg", "sum_to", "spread", "slice_gradient", "logical_not"};

std::set<std::string, std::less<>> names_of(const OpInfo& op) {
  std::set<std::string, std::less<>> names = {"y", "dy", "dys", "_", "none", "true", "false"};
  for (const OperandSpec& operand : op.operands) names.emplace(operand.name);
  for (const AttributeSpec& attribute : op.attributes) names.emplace(attribute.name);
  return names;
}

void check_names(const Expr& expr, const std::set<std::string, std::less<>>& names) {
  INFO(expr.name);
  if (expr.kind == Expr::Kind::name || expr.kind == Expr::Kind::sequence) CHECK(names.count(expr.name));
  if (expr.kind == Expr::Kind::call) CHECK((kFunctions.count(expr.name) || op_from_string(expr.name)));
  for (const Expr& child : expr.children) check_names(child, names);
  for (const auto& [name, value] : expr.named) check_names(value, names);
}

TEST_CASE("gradient texts parse and use known names", "[ops]") {
  for (const OpInfo& op : all_ops()) {
    if (op.gradient.empty()) continue;
    INFO(op.name);
    std::vector<Expr> parts = parse_expressions(op.gradient);
    CHECK(parts.size() == op.operands.size());
    for (const Expr& part : parts) check_names(part, names_of(op));
  }
}

/// `if(attribute, value, a, b)` decided by the attributes.
Expr decided(const Expr& expr, const Attributes& attributes) {
  if (expr.name != "if") return expr;
  return decided(expr.children[attributes.text(expr.children[0].name) == expr.children[1].name ? 2 : 3], attributes);
}

Tensor evaluate_gradient(const OpInfo& op, const Expr& text, const std::vector<Tensor>& operands,
                         const Attributes& attributes) {
  Graph graph;
  std::vector<std::pair<std::string, Value>> names;
  for (size_t i = 0; i < operands.size(); ++i)
    names.emplace_back(op.operands[i].name, graph.constant(operands[i], op.operands[i].name));
  Tensor y = evaluate(op.op, operands, attributes)[0];
  names.emplace_back("y", graph.constant(y, "y"));
  names.emplace_back("dy", graph.constant(filled(y.type(), 1), "dy"));
  for (const auto& [name, value] : attributes.entries())
    if (const double* real = std::get_if<double>(&value))
      names.emplace_back(name, graph.constant(Tensor::scalar(*real)));
  graph.output("gradient", build_expression(graph, decided(text, attributes), names, DType::f64));
  return run_reference(graph, {})[0];
}

/// (f(x + h) - f(x - h)) / 2h in one operand.
Tensor finite_difference(const OpInfo& op, std::vector<Tensor> operands, size_t which, const Attributes& attributes) {
  constexpr double kStep = 1e-6;
  Tensor middle = operands[which], step = Tensor::scalar(kStep);
  operands[which] = run(Op::add, {middle, step});
  Tensor above = evaluate(op.op, operands, attributes)[0];
  operands[which] = run(Op::sub, {middle, step});
  Tensor below = evaluate(op.op, operands, attributes)[0];
  return run(Op::div, {run(Op::sub, {above, below}), Tensor::scalar(2 * kStep)});
}

/// Points away from the kinks of every op; all positive where an op is not differentiable elsewhere.
std::vector<Tensor> smooth_point(const OpInfo& op) {
  bool positive = op.op == Op::sqrt || op.op == Op::rsqrt || op.op == Op::log || op.op == Op::pow;
  std::vector<Tensor> operands;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    std::vector<double> values = {-3.7, -1.3, -0.45, 0.35, 1.2, 2.9};
    for (double& v : values) v = (positive ? std::fabs(v) : v) + (i == 1 ? 0.27 : i == 2 ? 1.61 : 0);
    operands.push_back(tensor<double>({6}, values));
  }
  if (op.op == Op::where) operands[0] = tensor<bool>({6}, {true, false, true, true, false, false});
  return operands;
}

TEST_CASE("gradients of elementwise ops agree with finite differences", "[ops]") {
  int checked = 0;
  for (const OpInfo& op : all_ops()) {
    if (!op.has(kElementwise) || op.gradient.empty() || op.op == Op::cast) continue;
    std::vector<Expr> texts = parse_expressions(op.gradient);
    std::vector<Attributes> variants = {complete(op.op, {})};
    for (const AttributeSpec& spec : op.attributes)
      for (std::string_view choice : spec.choices)
        variants.push_back(complete(op.op, {{std::string(spec.name), std::string(choice)}}));
    for (const Attributes& attributes : variants)
      for (size_t i = 0; i < texts.size(); ++i) {
        if (texts[i].name == "_") continue;
        INFO(op.name << " by " << op.operands[i].name << " " << print_attributes(attributes));
        std::vector<Tensor> operands = smooth_point(op);
        check_near(evaluate_gradient(op, texts[i], operands, attributes),
                   finite_difference(op, operands, i, attributes), 1e-7, 1e-7);
        ++checked;
      }
  }
  CHECK(checked > 30);
}

TEST_CASE("gradients at kinks and corners", "[ops]") {
  auto gradient = [](Op op, size_t operand, std::vector<Tensor> operands) {
    return evaluate_gradient(info(op), parse_expressions(info(op).gradient)[operand], operands, complete(op, {}));
  };
  Tensor x = tensor<double>({4}, {2, 3, 4, 0}), p = tensor<double>({4}, {3, 2, 0.5, 2});
  check_near(gradient(Op::pow, 0, {x, p}), tensor<double>({4}, {12, 6, 0.25, 0}), 1e-12, 0);
  check_near(gradient(Op::pow, 1, {x, p}),
             tensor<double>({4}, {5.545177444479562, 9.887510598012987, 2.772588722239781, 0}), 1e-9, 0);
  CHECK_SAME(gradient(Op::pow, 0, {tensor<double>({1}, {0}), tensor<double>({1}, {0})}), tensor<double>({1}, {0}));
  Tensor ties = tensor<double>({2}, {1, 3});
  CHECK_SAME(gradient(Op::max, 0, {ties, ties}), tensor<double>({2}, {0.5, 0.5}));
  CHECK_SAME(gradient(Op::relu, 0, {tensor<double>({3}, {-1, 0, NAN})}), tensor<double>({3}, {0, 0, 1}));
}

}  // namespace
}  // namespace weft::ir
